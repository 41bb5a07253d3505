import ParseProtocol
import ProcessKit

/// The routes that a setting speaks of: a path below the mount, where `*` stands for any text, `functions/*`. It must
/// match the whole path.
///
/// `/classes/_User` and `/users` are one route, so that neither name gets around a rule for the other. Letters count as
/// they are written: the router knows no other case either.
package struct RoutePattern: Sendable {
    /// The texts between the stars.
    private let parts: [[UInt8]]

    /// - Throws: for a text that is no path.
    package init(_ text: String) throws {
        // Parse Server's settings hold regular expressions, of which `.*` is the one in use.
        let text = text.split(separator: ".*", omittingEmptySubsequences: false).joined(separator: "*")
        let path = text.split(separator: "/").map { $0 }
        guard !path.isEmpty, text.utf8.allSatisfy(Self.isAllowed) else {
            throw StartupProblem("\"\(text)\" is no route, such as users or functions/*.")
        }
        parts = Array(Self.route(path).utf8).split(
            separator: UInt8(ascii: "*"), omittingEmptySubsequences: false
        ).map { Array($0) }
    }

    /// A comma list of patterns.
    package static func list(_ text: String) throws -> [RoutePattern] {
        try text.split(separator: ",").map { try RoutePattern($0.drop { $0 == " " }.trimmingEnd) }
    }

    /// A path without its mount as the rules know it.
    package static func route(_ path: [Substring]) -> String {
        guard path.count > 1, path[0] == "classes", let name = synonyms[path[1]] else {
            return path.joined(separator: "/")
        }
        return ([name] + path.dropFirst(2)).joined(separator: "/")
    }

    /// In time proportional to the product of both lengths at most: what a star matched is extended, never tried again
    /// from the start.
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

    private static let synonyms: [Substring: Substring] = [
        "_User": "users", "_Role": "roles", "_Session": "sessions", "_Installation": "installations",
        "_Audience": "push_audiences",
    ]

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
