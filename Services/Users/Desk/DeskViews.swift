import ObjectStore
import ParseProtocol
import ServiceKit

/// The named views of the dashboard's lists. Only the operator who saved a view can read it; not even the master key
/// can. It is deleted with the account.
package enum DeskViews {
    /// A view: the query part of a list's address.
    package struct View: Sendable, Equatable {
        let list: String
        let name: String
        let query: String

        /// - Throws: `.validationError` (142) for a missing list or name, and for a value that is too long or not a
        ///   single line.
        package init(_ parameters: JSON) throws {
            list = try DeskViews.list(parameters)
            name = try DeskViews.name(parameters)
            query = try DeskViews.line(parameters, "query", bytesMax: DeskViews.queryBytesMax) ?? ""
        }
    }

    /// Limit of views per operator. The dashboard reads all of them at once.
    package static let countMax = 100
    private static let nameBytesMax = 200
    private static let listBytesMax = 60
    /// The length of an address that all software supports.
    private static let queryBytesMax = 2000

    static let tables = [
        """
        CREATE TABLE deskViews(userId TEXT NOT NULL, list TEXT NOT NULL, name TEXT NOT NULL, query TEXT NOT NULL,
        PRIMARY KEY(userId, list, name)) WITHOUT ROWID
        """
    ]

    /// An operator's views, by list and name: `[{list, name, query}]`.
    package static func all(of userId: String, in reader: ObjectReader) throws -> JSON {
        let rows = try reader.rows(
            "SELECT list, name, query FROM deskViews WHERE userId = ? ORDER BY list, name", [.text(userId)])
        return .array(
            try rows.map { row in
                try [
                    "list": .string(row.text("list")), "name": .string(row.text("name")),
                    "query": .string(row.text("query")),
                ]
            })
    }

    /// Stores a view, replacing one with the same name.
    /// - Throws: `.validationError` (142) when the operator has `countMax` others.
    package static func save(_ view: View, of userId: String, in transaction: StoreTransaction) throws {
        let others = try transaction.rows(
            "SELECT count(*) AS n FROM deskViews WHERE userId = ? AND NOT (list = ? AND name = ?)",
            [.text(userId), .text(view.list), .text(view.name)]
        ).first?.int("n")
        guard others ?? 0 < countMax else {
            throw ParseError(.validationError, "An operator has \(countMax) views at most.")
        }
        try transaction.execute(
            """
            INSERT INTO deskViews(userId, list, name, query) VALUES (?, ?, ?, ?)
            ON CONFLICT(userId, list, name) DO UPDATE SET query = excluded.query
            """,
            [.text(userId), .text(view.list), .text(view.name), .text(view.query)])
    }

    /// Removes the view given by `list` and `name`.
    /// - Throws: `.objectNotFound` (101) when there is none.
    package static func remove(_ parameters: JSON, of userId: String, in transaction: StoreTransaction) throws {
        let removed = try transaction.execute(
            "DELETE FROM deskViews WHERE userId = ? AND list = ? AND name = ?",
            [.text(userId), .text(list(parameters)), .text(name(parameters))])
        guard removed > 0 else { throw ParseError.objectNotFound }
    }

    /// Removes the views of a deleted account.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM deskViews WHERE userId = ?", [.text(userId)])
    }

    // MARK: Parameters

    private static func list(_ parameters: JSON) throws -> String {
        guard let list = try line(parameters, "list", bytesMax: listBytesMax) else {
            throw ParseError(.validationError, "list is needed.")
        }
        return list
    }

    private static func name(_ parameters: JSON) throws -> String {
        guard let name = try line(parameters, "name", bytesMax: nameBytesMax), !name.allSatisfy(\.isWhitespace) else {
            throw ParseError(.validationError, "name is needed.")
        }
        return name
    }

    private static func line(_ parameters: JSON, _ field: String, bytesMax: Int) throws -> String? {
        let text = try parameters.textParameter(field, bytesMax: bytesMax)
        guard text?.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) != true else {
            throw ParseError(.validationError, "\(field) contains control characters.")
        }
        return text
    }
}
