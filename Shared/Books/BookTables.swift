/// The facts about a database that the SQL of the checks needs. The rules of docs/internals/sql.md apply.
package struct BookTables: Sendable {
    private let isPostgreSQL: Bool
    /// The tables of classes, by class name.
    private let classes: [String: String]
    /// The time of the check in milliseconds; for a backup, its own time.
    package let now: Int64

    /// A class that the check needs does not exist, so it has no rows.
    struct MissingClass: Error {}

    init(isPostgreSQL: Bool, classes: [String: String], now: Int64) {
        self.isPostgreSQL = isPostgreSQL
        self.classes = classes
        self.now = now
    }

    /// The table of a class.
    func table(_ className: String) throws -> String {
        guard let table = classes[className] else { throw MissingClass() }
        return table
    }

    /// The text at a path of a document (`customer.objectId`); NULL when it is missing.
    func text(_ path: String, _ alias: String) -> String {
        isPostgreSQL
            ? "(\(alias).data#>>'{\(path.replacing(".", with: ","))}')" : "json_extract(\(alias).doc,'$.\(path)')"
    }

    /// The number at a path of a document; NULL when it is missing.
    func number(_ path: String, _ alias: String) -> String {
        isPostgreSQL ? "\(text(path, alias))::numeric" : text(path, alias)
    }

    static let hour: Int64 = 3_600_000
    static let day: Int64 = 24 * hour

    /// The time before which something is too old.
    func before(_ age: Int64) -> Int64 { now - age }
}

/// A check of one database.
package struct BookCheck: Sendable {
    package typealias SQL = @Sendable (BookTables) throws -> String

    /// `<service>.<what>`.
    package let name: String
    /// The rule that every row meets.
    package let says: String
    /// What an operator does about a row that breaks it.
    package let remedy: String
    let counts: Counted
    /// The wrong rows, with the columns `name` and `found`, both texts.
    let finds: SQL

    package var service: String { String(decoding: name.utf8.prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self) }

    /// The rows that the check looks at.
    enum Counted {
        /// A table, with a condition or without.
        case rows(String)
        /// The objects of a class.
        case objects(String)

        /// Their number, in a column `rows`.
        func sql(_ tables: BookTables) throws -> String {
            switch self {
            case .rows(let table): "SELECT count(*) AS rows FROM \(table)"
            case .objects(let className): "SELECT count(*) AS rows FROM \(try tables.table(className))"
            }
        }
    }
}

/// Rows that checks across services read, one for each key, in the order of the keys' bytes.
package struct BookList: Sendable, Hashable {
    package let service: String
    package let name: String
    /// `key` first. All are texts or integers.
    let columns: [String]
    /// The parameters are the last key of the previous page and the number of rows.
    let sql: String
    /// The part of the service that is not checked without this list; nil for all of it.
    let part: String?

    init(_ service: String, _ name: String, _ columns: [String], _ sql: String, part: String? = nil) {
        self.service = service
        self.name = name
        self.part = part
        self.columns = ["key"] + columns
        self.sql = sql
    }

    package static func == (one: BookList, other: BookList) -> Bool { one.name == other.name }
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// A row of a list.
package struct BookRow: Sendable, Equatable {
    package let key: String
    private let values: [String: BookValue]

    package init(_ key: String, _ values: [String: BookValue] = [:]) {
        self.key = key
        self.values = values
    }

    /// Whether the column is not NULL.
    func has(_ column: String) -> Bool { values[column] != nil }
    func int(_ column: String) -> Int64 { if case .int(let value)? = values[column] { value } else { 0 } }
    func text(_ column: String) -> String { if case .text(let value)? = values[column] { value } else { "" } }
}

/// A value of a row.
package enum BookValue: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    case text(String)
    case int(Int64)

    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int64) { self = .int(value) }
}

/// A row that is wrong.
package struct BookFinding: Sendable, Hashable {
    package let check: String
    /// The row's key.
    package let row: String
    /// The values that it has, and those that it should have.
    package let found: String

    package init(_ check: String, _ row: String, _ found: String) {
        self.check = check
        self.row = row
        self.found = found
    }
}
