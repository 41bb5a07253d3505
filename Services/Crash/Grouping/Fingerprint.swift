import Cryptography
import Foundation
import ParseProtocol

/// The key by which events of the same crash are grouped. Equal components form one issue.
///
/// By default: the types of the exceptions and the app's frames, by module and function. Line numbers, addresses and
/// messages do not count, because they change from build to build. Without frames: the type, and the message without
/// its numbers and ids. A client may send its own fingerprint, in which `{{ default }}` stands for the default
/// components.
package struct Fingerprint: Hashable, Sendable {
    /// The compared components, for tests and people.
    package let components: [String]
    /// 32 hex digits.
    package let hash: String

    package init(_ event: CrashEvent) {
        let standard = Self.standard(event)
        components =
            event.clientFingerprint.isEmpty
            ? standard
            : event.clientFingerprint.flatMap { part in
                Self.isDefault(part) ? standard : ["client:\(part)"]
            }
        var hasher = SHA256()
        for component in components {
            // Each component is prefixed with its length, so that different lists never hash the same bytes.
            hasher.update(data: Data("\(component.utf8.count):\(component)".utf8))
        }
        hash = hasher.finalize().prefix(16).hex
    }

    private static func isDefault(_ part: String) -> Bool {
        part.hasPrefix("{{") && part.hasSuffix("}}") && part.count <= 20
            && part.dropFirst(2).dropLast(2).filter { $0 != " " } == "default"
    }

    private static func standard(_ event: CrashEvent) -> [String] {
        let types = event.thrown.map { "type:\($0.type)" }
        var frames: [String] = []
        for frame in event.frames {
            let text = "frame:\(frame.place)|\(frame.function)"
            // Infinite recursion overflows at a different depth each time.
            if frames.last != text { frames.append(text) }
        }
        return frames.isEmpty ? types + ["message:\(event.messagePattern)"] : types + frames
    }
}
