/// The patterns (`$regex`) that one query may still hold: each may be run on every row.
///
/// The store counts as it compiles. The gateway counts before it sends a condition on, so that one of hundreds costs
/// nobody but its sender's connection.
public struct PatternAllowance: Sendable {
    /// Patterns of one query.
    public static let countMax = 40
    /// The bytes of all patterns of one query together.
    public static let bytesMax = 8_000

    private var count = 0
    private var bytes = 0

    /// What a query may hold in all.
    public init() {}

    /// - Throws: `.invalidQuery` (102) for more than a query may have.
    public mutating func take(_ pattern: String) throws(ParseError) {
        count += 1
        bytes += pattern.utf8.count
        guard count <= Self.countMax, bytes <= Self.bytesMax else {
            throw ParseError(
                .invalidQuery, "A query may have \(Self.countMax) patterns of \(Self.bytesMax) bytes at most.")
        }
    }

    /// Takes every pattern of a condition but those of its sub-queries, which are queries of their own.
    /// - Throws: `.invalidQuery` (102) for more than a query may have.
    public mutating func take(allOf condition: JSON) throws(ParseError) {
        switch condition {
        case .object(let members):
            for (name, value) in members {
                switch name {
                case "$inQuery", "$notInQuery", "$select", "$dontSelect": continue
                case "$regex":
                    if case .string(let pattern) = value { try take(pattern) }
                default: try take(allOf: value)
                }
            }
        case .array(let elements): for element in elements { try take(allOf: element) }
        default: break
        }
    }
}
