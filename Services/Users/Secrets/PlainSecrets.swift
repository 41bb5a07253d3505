import Logging
import ObjectStore
import ParseProtocol
import ServiceKit

/// Brings what earlier releases kept in plain text into the form that needs the accounts' key. Until it is done, look-ups find both forms.
package struct PlainSecrets: Sendable {
    let store: ClassStore
    let key: AccountKey
    let logger: Logger

    package init(store: ClassStore, key: AccountKey, logger: Logger) {
        self.store = store
        self.key = key
        self.logger = logger
    }

    static let tables = [
        "CREATE TABLE IF NOT EXISTS accountKey(id INTEGER PRIMARY KEY CHECK(id = 1), digest TEXT NOT NULL)"
    ]

    /// Rows in one transaction: some milliseconds, so that other writes get their turn.
    private static let pageRows = 200

    /// Returns when nothing is left in plain text. What was done stays done when it is begun anew.
    /// - Throws: what the store throws; `CancellationError`.
    package func convert() async throws {
        try await checkKey()
        while try await store.write({ try Self.convertSessions(key, in: $0) }) { try Task.checkCancellation() }
        while try await store.write({ try Self.convertSecondFactors(key, in: $0) }) { try Task.checkCancellation() }
        var last: String? = ""
        while let done = last {
            try Task.checkCancellation()
            last = try await store.write { try Self.convertAnonymousIds(after: done, key, in: $0) }
        }
    }

    /// Tells the operator when the file was written with another key.
    private func checkKey() async throws {
        let digest = key.digest("users.sqlite", for: .keptReply)
        let known = try await store.write { transaction in
            let known = try transaction.rows("SELECT digest FROM accountKey").first?.text("digest")
            if known == nil {
                try transaction.execute("INSERT INTO accountKey(id, digest) VALUES (1, ?)", [.text(digest)])
            }
            return known ?? digest
        }
        guard known != digest else { return }
        logger.critical(
            """
            users.key is not the key that users.sqlite was written with: sessions, anonymous users and second factors of before cannot \
            be recognised. Put the right file back and restart.
            """)
    }

    /// - Returns: whether there may be more.
    private static func convertSessions(_ key: AccountKey, in transaction: StoreTransaction) throws -> Bool {
        let page = try transaction.documents(
            Query(className: "_Session", where: ["sessionToken": ["$exists": true]], limit: pageRows),
            caller: .master)
        for session in page {
            guard let id = session["objectId"]?.stringValue else { throw ParseError.internalError }
            if let token = session["sessionToken"]?.stringValue {
                try Sessions.keep(token, of: id, key, in: transaction)
                if let userId = session["user"]?.pointerTarget?.objectId,
                    let device = session["installationId"]?.stringValue
                {
                    try KnownDevices.remember(userId, installationId: device, key, in: transaction)
                }
            }
            _ = try transaction.update(
                "_Session", id,
                ["sessionToken": ["__op": "Delete"], "updatedAt": session["updatedAt"] ?? .null], keepsTimes: true,
                caller: .master)
        }
        return page.count == pageRows
    }

    /// - Returns: whether there may be more.
    private static func convertSecondFactors(_ key: AccountKey, in transaction: StoreTransaction) throws -> Bool {
        let page = try transaction.rows(
            "SELECT userId, secret FROM secondFactors WHERE length(secret) > 0 LIMIT ?", [.int(Int64(pageRows))])
        for row in page {
            let userId = try row.text("userId")
            try SecondFactors.keep(row.blob("secret"), of: userId, key, in: transaction)
            try transaction.execute("UPDATE secondFactors SET secret = x'' WHERE userId = ?", [.text(userId)])
        }
        return page.count == pageRows
    }

    /// - Returns: the last id looked at, nil when there are no more.
    private static func convertAnonymousIds(
        after last: String, _ key: AccountKey, in transaction: StoreTransaction
    ) throws -> String? {
        let page = try transaction.rows(
            """
            SELECT value, userId FROM identities WHERE kind = ?1 AND value > ?2 AND length(value) <> ?3
            ORDER BY value LIMIT ?4
            """,
            [
                .text(Identity.Kind.anonymous.text), .text(last), .int(Int64(Identity.hashedCharacters)),
                .int(Int64(pageRows)),
            ])
        for row in page {
            let (id, userId) = (try row.text("value"), try row.text("userId"))
            try Identities.take(.anonymous(id), for: userId, key, in: transaction)
            try AnonymousIds.keep(id, of: userId, key, in: transaction)
            guard let user = try transaction.documentIfFound("_User", userId, caller: .master),
                let authData = user["authData"]
            else { continue }
            _ = try transaction.update(
                "_User", userId,
                ["authData": AnonymousIds.marked(authData), "updatedAt": user["updatedAt"] ?? .null],
                keepsTimes: true, caller: .master)
        }
        return try page.last?.text("value")
    }
}
