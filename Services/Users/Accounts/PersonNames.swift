import ObjectStore
import ParseProtocol
import ServiceKit

/// The names of persons, by which operators search for accounts: first name, last name, both together, and the full
/// name, in comparable form. They need not be unique and cannot be used to sign in.
package enum PersonNames {
    static let tables = [
        "CREATE TABLE personNames(value TEXT NOT NULL, userId TEXT NOT NULL, PRIMARY KEY(value, userId)) WITHOUT ROWID",
        "CREATE INDEX personNamesByUser ON personNames(userId)",
    ]

    private static let fields = ["firstName", "lastName", "name"]
    /// Values of a person: each field, and first and last name together.
    static var perUserMax: Int { fields.count + 1 }
    /// Compared characters of a name; operators type fewer.
    private static let charactersMax = 64
    /// Compared Unicode scalars, of which a character may have any number. An index of PostgreSQL takes 2704 bytes.
    private static let scalarsMax = 256
    /// Users per page of the migration.
    private static let pageRows = 500

    /// The comparable form of a text: case-insensitive, with single spaces between words.
    package static func compared(_ text: String) -> String {
        let words = text.prefix(charactersMax).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return String(AccountNames.folded(words).unicodeScalars.prefix(scalarsMax))
    }

    package static func values(of user: JSON) -> Set<String> {
        let named = fields.compactMap { user[$0]?.stringValue }
        let both = ["firstName", "lastName"].compactMap { user[$0]?.stringValue }.joined(separator: " ")
        return Set((named + [both]).map(compared)).subtracting([""])
    }

    /// Stores the user's current names.
    /// - Parameter before: the user before the change; nil for a new one.
    static func keep(
        _ user: JSON, of userId: String, before: JSON? = nil, in transaction: StoreTransaction
    ) throws {
        let values = values(of: user)
        if let before {
            guard self.values(of: before) != values else { return }
            try forget(userId, in: transaction)
        }
        for value in values.sorted() {
            _ = try transaction.execute(
                "INSERT INTO personNames(value, userId) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [.text(value), .text(userId)])
        }
    }

    static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM personNames WHERE userId = ?", [.text(userId)])
    }

    /// Creates the table and adds the names of existing users.
    package static func fill(in transaction: StoreTransaction) throws {
        for table in tables { _ = try transaction.execute(table) }
        guard transaction.hasClass("_User") else { return }
        var last = ""
        while true {
            let users = try transaction.documents(
                Query(
                    className: "_User", where: ["objectId": ["$gt": .string(last)]], order: ["objectId"],
                    limit: pageRows, keys: fields), caller: .master)
            for user in users {
                guard let userId = user["objectId"]?.stringValue else { continue }
                try keep(user, of: userId, in: transaction)
                last = userId
            }
            if users.count < pageRows { return }
        }
    }
}
