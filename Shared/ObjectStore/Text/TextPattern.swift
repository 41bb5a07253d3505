import ParseProtocol

/// A regular expression in an operator's setting, matched under the same limits as a client's `$regex`.
public struct TextPattern: Sendable, Hashable {
    private let pattern: String
    private static let timeMax = Duration.milliseconds(200)

    /// - Throws: `.invalidQuery` (102) for a pattern that is too long or invalid.
    public init(_ pattern: String) throws {
        _ = try Regex(pattern: pattern)
        self.pattern = pattern
    }

    /// Whether any part of the text matches. A match that reaches a limit counts as no match.
    public func matches(_ text: String) -> Bool {
        let limit = TimeLimit()
        _ = limit.start(Self.timeMax)
        // Compiled each time, in microseconds, because a compiled pattern belongs to one thread.
        return (try? Regex(pattern: pattern).matches(text, limit)) ?? false
    }
}
