import Cryptography
import Foundation
import ParseProtocol

/// The mark that events of the same crash share. Equal components make one issue.
///
/// By default: the types of the exceptions and the frames of the app, by module and function; line numbers, addresses
/// and messages do not count, since they change from build to build. Without frames: the type and the message without
/// its numbers and ids. A client may choose its own fingerprint, in which `{{ default }}` stands for all that.
package struct Fingerprint: Hashable, Sendable {
    /// For tests and for people: what was compared.
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
            // A length in front, so that components cannot be shifted into each other.
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
            // Recursion overflows at a different depth each time.
            if frames.last != text { frames.append(text) }
        }
        return frames.isEmpty ? types + ["message:\(event.messagePattern)"] : types + frames
    }
}
