/// Counts the patterns (`$regex`) of one query, because each may run on every row.
///
/// The store counts while it compiles. The gateway counts before it forwards a condition, so that an excessive query
/// costs only its sender's connection.
public struct PatternBudget: Sendable {
    /// Maximum patterns of one query.
    public static let countMax = 40
    /// Maximum total bytes of a query's patterns.
    public static let bytesMax = 8_000

    private var count = 0
    private var bytes = 0

    /// The full allowance of a query.
    public init() {}

    /// - Throws: `.invalidQuery` (102) when the limits are exceeded.
    public mutating func take(_ pattern: String) throws(ParseError) {
        count += 1
        bytes += pattern.utf8.count
        guard count <= Self.countMax, bytes <= Self.bytesMax else {
            throw ParseError(
                .invalidQuery, "A query may have \(Self.countMax) patterns of \(Self.bytesMax) bytes at most.")
        }
    }

    /// Counts every pattern of a condition except in its sub-queries, which are counted separately.
    /// - Throws: `.invalidQuery` (102) when the limits are exceeded.
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
