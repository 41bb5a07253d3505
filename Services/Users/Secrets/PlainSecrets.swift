import ObjectStore
import ParseProtocol

/// Converts secrets that releases before 0.1.0 stored in plain text to their protected form.
enum PlainSecrets {
    /// Rows per page.
    private static let pageRows = 200

    /// Converts all remaining plain-text secrets.
    static func convert(_ key: AccountKey, in transaction: StoreTransaction) throws {
        if transaction.hasClass("_Session") {
            while try convertSessions(key, in: transaction) {}
        }
        while try convertSecondFactors(key, in: transaction) {}
        var last: String? = ""
        while let done = last { last = try convertAnonymousIds(after: done, key, in: transaction) }
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
            try transaction.execute(
                "UPDATE secondFactors SET secret = ? WHERE userId = ?", [.blob([]), .text(userId)])
        }
        return page.count == pageRows
    }

    /// - Returns: the last converted id, nil when there are no more.
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
