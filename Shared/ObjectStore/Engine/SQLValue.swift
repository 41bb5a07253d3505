import Glibc

/// An SQL value, for the statements of a service's own tables.
public enum SQLValue: Sendable, Hashable {
    case null
    case int(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    /// The integer; nil for any other type.
    public var intValue: Int64? { if case .int(let value) = self { value } else { nil } }
    /// The text; nil for any other type.
    public var textValue: String? { if case .text(let value) = self { value } else { nil } }
    /// The bytes; nil for any other type.
    public var blobValue: [UInt8]? { if case .blob(let value) = self { value } else { nil } }
    /// Whether it is NULL.
    public var isNull: Bool { self == .null }

    /// The number, including an integer's; nil for any other type.
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
    /// A text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// A real number.
    public init(floatLiteral value: Double) { self = .real(value) }
    /// NULL.
    public init(nilLiteral: ()) { self = .null }
    /// 1 or 0: SQLite has no Boolean type.
    public init(booleanLiteral value: Bool) { self = .int(value ? 1 : 0) }
}

/// One row of a result. A missing column, NULL or another type is an error instead of 0: a misspelt name must not
/// become an amount of money.
public struct SQLRow: Sendable {
    let names: [String]
    let values: [SQLValue]

    /// The value in a column that may hold NULL.
    /// - Throws: `StoreError` for a column that the statement does not return.
    public subscript(index: Int) -> SQLValue {
        get throws {
            guard values.indices.contains(index) else { throw StoreError.noColumn("\(index)") }
            return values[index]
        }
    }

    /// The value in the column with this name.
    /// - Throws: `StoreError` for a column that the statement does not return.
    public subscript(name: String) -> SQLValue {
        get throws {
            // PostgreSQL returns unquoted names in lower case.
            guard let index = names.firstIndex(of: name) ?? names.firstIndex(of: name.lowercased()) else {
                throw StoreError.noColumn(name)
            }
            return values[index]
        }
    }

    /// The integer in a column.
    /// - Throws: `StoreError` when there is none.
    public func int(_ index: Int) throws -> Int64 { try self[index].intValue.orMismatch("\(index)") }
    /// The integer in the column with this name.
    /// - Throws: `StoreError` when there is none.
    public func int(_ name: String) throws -> Int64 { try self[name].intValue.orMismatch(name) }
    /// The text in a column.
    /// - Throws: `StoreError` when there is none.
    public func text(_ index: Int) throws -> String { try self[index].textValue.orMismatch("\(index)") }
    /// The text in the column with this name.
    /// - Throws: `StoreError` when there is none.
    public func text(_ name: String) throws -> String { try self[name].textValue.orMismatch(name) }
    /// The bytes in a column.
    /// - Throws: `StoreError` when there are none.
    public func blob(_ index: Int) throws -> [UInt8] { try self[index].blobValue.orMismatch("\(index)") }
    /// The bytes in the column with this name.
    /// - Throws: `StoreError` when there are none.
    public func blob(_ name: String) throws -> [UInt8] { try self[name].blobValue.orMismatch(name) }
}

extension Optional {
    fileprivate func orMismatch(_ column: String) throws -> Wrapped {
        guard let self else {
            throw StoreError(resultCode: 20, message: "column \(column) is NULL or has another type")
        }
        return self
    }
}

extension StoreError {
    // SQLITE_RANGE here and SQLITE_MISMATCH above: the codes that SQLite itself would use.
    fileprivate static func noColumn(_ column: String) -> StoreError {
        StoreError(resultCode: 25, message: "no column \(column)")
    }
}

/// A database failure that no client can cause. It belongs in the log and never in a response.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// SQLite's extended result code, https://www.sqlite.org/rescode.html; 0 for an error of PostgreSQL.
    public let resultCode: Int32
    /// PostgreSQL's code, https://www.postgresql.org/docs/15/errcodes-appendix.html; empty for an error of SQLite.
    public let sqlState: String
    /// The engine's or Satchel's message, for the log; may name tables and columns.
    public let message: String

    package init(resultCode: Int32, message: String) {
        self.resultCode = resultCode
        sqlState = ""
        self.message = message
    }

    /// A failed system call, with the result code that SQLite has for it; SQLITE_CANTOPEN for others.
    /// - Parameter code: the system's error number.
    init(systemError code: Int32, _ what: String) {
        self.init(resultCode: Self.resultCode(of: code) ?? 14, message: "\(what): \(String(cString: strerror(code)))")
    }

    /// SQLite's result code for a system's error number; nil when it has none of its own.
    static func resultCode(of systemError: Int32) -> Int32? {
        switch systemError {
        case ENOSPC, EDQUOT: 13
        case EROFS: 8
        case EACCES, EPERM: 3
        case EIO: 10
        default: nil
        }
    }

    package init(sqlState: String, message: String) {
        resultCode = 0
        self.sqlState = sqlState
        self.message = message
    }

    /// SQLITE_INTERRUPT
    var isInterruption: Bool { resultCode & 0xFF == 9 }
    /// A UNIQUE or PRIMARY KEY constraint was violated (SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY, _ROWID; 23505).
    public var isUniqueViolation: Bool { [2067, 1555, 2579].contains(resultCode) || sqlState == "23505" }
    /// Another PostgreSQL transaction conflicts with this one, which may succeed on a retry: serialization failure
    /// (40001), deadlock (40P01), or a row locked for too long (55P03).
    var isOvertaken: Bool { ["40001", "40P01", "55P03"].contains(sqlState) }
    /// A transaction must change a class while other processes may write.
    static let exclusiveWanted = StoreError(sqlState: "exclusive", message: "a class is to change")
    var wantsExclusive: Bool { sqlState == Self.exclusiveWanted.sqlState }
    /// Errors that PostgreSQL also reports because of a concurrent transaction that this one does not see. That
    /// transaction may have inserted a unique value, or changed or dropped a table: missing tables, columns and other
    /// objects, outdated prepared statements, and an internal error for a table that was dropped during a lock wait.
    var mayBeFromInvisible: Bool {
        ["23505", "42P01", "42703", "42704", "42P07", "42710", "0A000", "XX000"].contains(sqlState)
    }
    /// A value exceeds PostgreSQL's limit for an index entry, a third of a page (54000).
    var isTooLongForIndex: Bool { sqlState == "54000" }
    /// The code and the message.
    public var description: String {
        sqlState.isEmpty ? "SQLite \(resultCode): \(message)" : "PostgreSQL \(sqlState): \(message)"
    }
}
