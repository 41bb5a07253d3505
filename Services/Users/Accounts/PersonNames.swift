import ObjectStore
import ParseProtocol
import ServiceKit

/// The names of people, by which operators look for accounts: first name, last name, both together, and the whole name,
/// in the form in which names are compared. They are nobody's alone, and nobody signs in with one.
package enum PersonNames {
    static let tables = [
        "CREATE TABLE personNames(value TEXT NOT NULL, userId TEXT NOT NULL, PRIMARY KEY(value, userId)) WITHOUT ROWID",
        "CREATE INDEX personNamesByUser ON personNames(userId)",
    ]

    private static let fields = ["firstName", "lastName", "name"]
    /// Characters of a name that are compared; nobody types more.
    private static let charactersMax = 64
    /// Users that the migration reads at a time.
    private static let pageRows = 500

    /// A text as it is compared: without the case of letters, and with one blank between words.
    package static func compared(_ text: String) -> String {
        let words = text.prefix(charactersMax).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return AccountNames.folded(words)
    }

    package static func values(of user: JSON) -> Set<String> {
        let named = fields.compactMap { user[$0]?.stringValue }
        let both = ["firstName", "lastName"].compactMap { user[$0]?.stringValue }.joined(separator: " ")
        return Set((named + [both]).map(compared)).subtracting([""])
    }

    /// Keeps the names that a user has now.
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

    /// Makes the table, with the names of the users who are there already.
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
