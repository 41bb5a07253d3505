/// A PostgreSQL value: a parameter or the content of a column.
package enum PostgreSQLValue: Sendable, Hashable {
    case null
    case int(Int64)
    case real(Double)
    case text(String)
    /// Text as UTF-8 bytes. Only for parameters: columns return `text`.
    case utf8([UInt8])
    case blob([UInt8])
    /// Only for parameters: columns return `int`. It is sent as 1 or 0, which both boolean and numeric columns accept.
    case bool(Bool)

    /// The integer; nil for any other type.
    package var intValue: Int64? { if case .int(let value) = self { value } else { nil } }
    /// The text; nil for any other type.
    package var textValue: String? { if case .text(let value) = self { value } else { nil } }
    /// The bytes; nil for any other type.
    package var blobValue: [UInt8]? { if case .blob(let value) = self { value } else { nil } }
    /// Whether it is NULL.
    package var isNull: Bool { self == .null }

    /// The number, for `real` and `int`; nil for any other type.
    package var realValue: Double? {
        switch self {
        case .int(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }
}
