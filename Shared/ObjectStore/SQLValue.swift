/// A value of SQLite, for the statements of a service's own tables.
public enum SQLValue: Sendable, Hashable {
    case null
    case int(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    public var intValue: Int64? { if case .int(let value) = self { value } else { nil } }
    public var textValue: String? { if case .text(let value) = self { value } else { nil } }
    public var blobValue: [UInt8]? { if case .blob(let value) = self { value } else { nil } }
    public var isNull: Bool { self == .null }

    public var realValue: Double? {
        switch self {
        case .int(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }
}

extension SQLValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByNilLiteral, ExpressibleByBooleanLiteral
{
    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .real(value) }
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .int(value ? 1 : 0) }
}

/// One row of a result. Asking for a column that is not there gives `.null`.
public struct SQLRow: Sendable {
    let names: [String]
    let values: [SQLValue]

    public subscript(index: Int) -> SQLValue { values.indices.contains(index) ? values[index] : .null }
    public subscript(name: String) -> SQLValue { names.firstIndex(of: name).map { values[$0] } ?? .null }

    /// The integer in a column, 0 when there is none.
    public func int(_ index: Int) -> Int64 { self[index].intValue ?? 0 }
    public func int(_ name: String) -> Int64 { self[name].intValue ?? 0 }
    /// The text in a column, empty when there is none.
    public func text(_ index: Int) -> String { self[index].textValue ?? "" }
    public func text(_ name: String) -> String { self[name].textValue ?? "" }
    /// The bytes in a column, empty when there are none.
    public func blob(_ index: Int) -> [UInt8] { self[index].blobValue ?? [] }
    public func blob(_ name: String) -> [UInt8] { self[name].blobValue ?? [] }
}

/// A failure of the database that no client can cause. It belongs in the log and never into an answer.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// SQLite's extended result code, https://www.sqlite.org/rescode.html.
    public let resultCode: Int32
    public let message: String

    /// A UNIQUE or PRIMARY KEY constraint was violated (SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY, _ROWID).
    public var isUniqueViolation: Bool { [2067, 1555, 2579].contains(resultCode) }
    public var description: String { "SQLite \(resultCode): \(message)" }
}
