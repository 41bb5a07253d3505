import Foundation
import TestSupport

/// Where the sources declare calls, and which lines send them.
///
/// This is a text search. A sender is a line of Services, Platform or the outbox that names a declaration:
/// `CatalogCalls.price`, or for a family `ObjectCalls(of: …).find`, `ServiceDirectory.calls(ofClass: …).find`,
/// `DeliveryCalls(to: …).deliver` and `NotificationCalls.orderMade`. Lines that begin with `routes.` register a
/// receiver.
struct CallSources {
    struct Declaration {
        /// `CatalogCalls`.
        let type: String
        /// `price`.
        let name: String
        /// The call's kind; for a family, the part after the service's name.
        let kind: String
        let isFamily: Bool
    }

    static let folder = "Shared/Messages/Calls"

    private(set) var declarations: [Declaration] = []
    /// Number of texts in the folder that look like kinds; each must belong to a declaration.
    private(set) var kindsInFolder = 0

    init() throws {
        for path in try Self.files(in: Self.folder) {
            let type = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
            let text = try String(contentsOfFile: path, encoding: .utf8)
            for match in text.matches(of: #/static let (\w+) = Call<\w+, \w+>\(\s*"([^"]+)"(?:, spreads: true)?\)/#) {
                declarations.append(
                    Declaration(type: type, name: String(match.1), kind: String(match.2), isFamily: false))
            }
            let family =
                #/
                var\ (\w+):\ Call<\w+,\ \w+>\ \{\s*
                Call\("\\\(service\)([^"]+)"(?:,\ spreads:\ [^)]+)?\)\s*\}
                /#
            for match in text.matches(of: family) {
                declarations.append(
                    Declaration(type: type, name: String(match.1), kind: String(match.2), isFamily: true))
            }
            kindsInFolder += text.matches(of: #/\.[A-Za-z]+\.v[0-9]+"/#).count
        }
    }

    /// Whether a line of `sendingLines` sends the call.
    func isSent(_ call: Declaration, by lines: [String]) -> Bool {
        lines.contains { line in
            if Self.names(line, "\(call.type).\(call.name)") { return true }
            guard Self.names(line, ").\(call.name)") else { return false }
            switch call.type {
            case "ObjectCalls":
                return line.contains("ObjectCalls(of: ") || line.contains("ServiceDirectory.calls(ofClass: ")
            case "DeliveryCalls": return line.contains("DeliveryCalls(to: ")
            default: return false
            }
        }
    }

    /// The lines of Services, Platform and the outbox that name calls, without comments and registrations of receivers.
    static func sendingLines() throws -> [String] {
        try ["Services", "Shared/Platform", "Shared/ServiceKit/Outbox"].flatMap(files(in:)).flatMap { path in
            try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
                .filter { $0.contains("Calls") || $0.contains("ServiceDirectory.calls") }
                .map { $0.trimmingCharacters(in: .whitespaces) }
                .filter { !$0.hasPrefix("//") && !$0.hasPrefix("routes.") }
        }
    }

    /// Lines of Services and Shared outside the folder with a text that looks like a kind.
    static func strayKinds() throws -> [String] {
        try (files(in: "Services") + files(in: "Shared")).filter { !$0.contains("/\(folder)/") }.flatMap { path in
            let text = try String(contentsOfFile: path, encoding: .utf8)
            guard text.contains(".v") else { return [String]() }
            return text.split(separator: "\n").filter { $0.contains(#/\.[A-Za-z]+\.v[0-9]+"/#) }
                .map { "\(path): \($0)" }
        }
    }

    /// Whether the line contains the name as a whole word.
    private static func names(_ line: String, _ name: String) -> Bool {
        line.ranges(of: name).contains { range in
            guard range.upperBound < line.endIndex else { return true }
            let next = line[range.upperBound]
            return !next.isLetter && !next.isNumber && next != "_"
        }
    }

    /// The Swift files below a folder of the checkout.
    private static func files(in folder: String) throws -> [String] {
        let root = "\(checkoutDirectory)/\(folder)"
        return try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".swift") }.sorted()
            .map { "\(root)/\($0)" }
    }
}
