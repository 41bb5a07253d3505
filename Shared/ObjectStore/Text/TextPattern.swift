import ParseProtocol

/// A regular expression of an operator's setting, matched under the same limits as a client's `$regex`.
public struct TextPattern: Sendable, Hashable {
    private let pattern: String

    /// - Throws: `.invalidQuery` (102) for a pattern that is too long or not valid.
    public init(_ pattern: String) throws {
        _ = try Regex(pattern: pattern)
        self.pattern = pattern
    }

    /// Whether the text has a part that matches. A match that reaches a limit is none.
    public func matches(_ text: String) -> Bool {
        // Compiled each time, in microseconds: a compiled pattern belongs to one thread.
        (try? Regex(pattern: pattern).matches(text)) ?? false
    }
}
