import ParseProtocol
import ProcessKit

/// A pattern for routes in a setting: a path below the mount, where `*` stands for any text, such as `functions/*`. The
/// pattern must match the whole path.
///
/// `/classes/_User` and `/users` count as one route, so that a client cannot avoid a rule by the other name. Letters
/// are case-sensitive, as in the router.
package struct RoutePattern: Sendable {
    /// The texts between the asterisks.
    private let parts: [[UInt8]]

    /// - Throws: for a text that is not a path.
    package init(_ text: String) throws {
        // Parse Server's settings hold regular expressions; `.*` is the only one in common use.
        let text = text.split(separator: ".*", omittingEmptySubsequences: false).joined(separator: "*")
        let path = text.split(separator: "/").map { $0 }
        guard !path.isEmpty, text.utf8.allSatisfy(Self.isAllowed) else {
            throw StartupProblem("\"\(text)\" is not a route, such as users or functions/*.")
        }
        parts = Array(Self.route(path).utf8).split(
            separator: UInt8(ascii: "*"), omittingEmptySubsequences: false
        ).map { Array($0) }
    }

    /// A comma-separated list of patterns.
    package static func list(_ text: String) throws -> [RoutePattern] {
        try text.split(separator: ",").map { try RoutePattern($0.drop { $0 == " " }.trimmingEnd) }
    }

    /// The route of a path without its mount, with synonyms replaced.
    package static func route(_ path: [Substring]) -> String {
        guard path.count > 1, path[0] == "classes", let name = synonyms[path[1]] else {
            return path.joined(separator: "/")
        }
        return ([name] + path.dropFirst(2)).joined(separator: "/")
    }

    /// Takes time proportional to the product of both lengths at most: an asterisk matches the shortest text; the
    /// search never goes back.
    package func matches(_ route: String) -> Bool {
        let text = Array(route.utf8)
        guard let first = parts.first, text.starts(with: first) else { return false }
        guard parts.count > 1, let last = parts.last else { return text.count == first.count }
        var position = first.count
        for part in parts[1..<(parts.count - 1)] {
            guard let found = Self.position(of: part, in: text, from: position) else { return false }
            position = found + part.count
        }
        return text.count - position >= last.count && text.suffix(last.count).elementsEqual(last)
    }

    private static func position(of part: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        guard text.count - start >= part.count else { return nil }
        return (start...(text.count - part.count)).first { text[$0..<($0 + part.count)].elementsEqual(part) }
    }

    private static let synonyms: [Substring: Substring] =
        OwnClasses.byPath.reduce(into: ["_Audience": "push_audiences"]) { $0[$1.value[...]] = $1.key }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "/*_-.".utf8.contains(byte)
        }
    }
}

extension Substring {
    fileprivate var trimmingEnd: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
