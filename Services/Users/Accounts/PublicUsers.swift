import ObjectStore
import ParseProtocol
import ServiceKit

/// Users whom everybody may read while `SATCHEL_PUBLIC_USERS` is set, those of before it included.
///
/// A row's ACL is what every query looks at, in columns and an index of its own. So it is ACLs that change with the
/// setting, at the start of the writer: of users who have the ACL of a sign-up and did not choose it. Which were
/// changed is remembered, and they are changed back when the setting is gone.
package enum PublicUsers {
    /// Users in one transaction: some milliseconds, so that other writes get their turn.
    private static let pageRows = 200

    /// The ACL of a user who is shown.
    package static func acl(of userId: String) -> JSON {
        var acl = JSON.privateACL(userId)
        acl["*"] = ["read": true]
        return acl
    }

    // MARK: Users that sign up, change and go

    /// A user got the ACL of the setting.
    static func isShown(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "INSERT INTO shownUsers(userId) VALUES (?) ON CONFLICT DO NOTHING", [.text(userId)])
    }

    /// Somebody gave a user an ACL, which stays whatever the setting says.
    package static func isChosen(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM shownUsers WHERE userId = ?", [.text(userId)])
        _ = try transaction.execute(
            "INSERT INTO chosenACLs(userId) VALUES (?) ON CONFLICT DO NOTHING", [.text(userId)])
    }

    static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        for table in ["shownUsers", "chosenACLs"] {
            _ = try transaction.execute("DELETE FROM \(table) WHERE userId = ?", [.text(userId)])
        }
    }

    // MARK: The start

    /// Brings all users in line with the setting. Returns when they are; what was done already is not done again.
    /// - Throws: what the store throws; `CancellationError`.
    package static func apply(_ areShown: Bool, to store: ClassStore) async throws {
        guard areShown else {
            while try await store.write({ try hidePage(in: $0) }) { try Task.checkCancellation() }
            return
        }
        var last: String? = ""
        while let done = last {
            try Task.checkCancellation()
            last = try await showPage(after: done, in: store)
        }
    }

    /// Shows those of some users whose ACL is that of a sign-up.
    /// - Returns: the last user looked at; nil when there are no more.
    private static func showPage(after last: String, in store: ClassStore) async throws -> String? {
        let page = try await store.read { reader in
            try reader.documents(
                Query(
                    className: "_User", where: ["objectId": ["$gt": .string(last)]], order: ["objectId"],
                    limit: pageRows, keys: ["objectId"]), caller: .master)
        }
        let hidden = page.compactMap { user -> String? in
            guard let userId = user["objectId"]?.stringValue, user["ACL"] == JSON.privateACL(userId) else { return nil }
            return userId
        }
        if !hidden.isEmpty {
            try await store.write { transaction in
                for userId in hidden { try show(userId, in: transaction) }
            }
        }
        return page.count < pageRows ? nil : page.last?["objectId"]?.stringValue
    }

    private static func show(_ userId: String, in transaction: StoreTransaction) throws {
        guard try transaction.rows("SELECT 1 FROM chosenACLs WHERE userId = ?", [.text(userId)]).isEmpty,
            try change(userId, from: .privateACL(userId), to: acl(of: userId), in: transaction)
        else { return }
        try isShown(userId, in: transaction)
    }

    /// Takes back the ACLs of some users who were shown.
    /// - Returns: whether there may be more.
    private static func hidePage(in transaction: StoreTransaction) throws -> Bool {
        let page = try transaction.rows("SELECT userId FROM shownUsers LIMIT ?", [.int(Int64(pageRows))])
        for row in page {
            let userId = try row.text("userId")
            _ = try change(userId, from: acl(of: userId), to: .privateACL(userId), in: transaction)
            _ = try transaction.execute("DELETE FROM shownUsers WHERE userId = ?", [.text(userId)])
        }
        return page.count == pageRows
    }

    /// The user's times stay: nothing of what the user is changed.
    /// - Returns: false when the user is gone or has another ACL.
    private static func change(
        _ userId: String, from present: JSON, to new: JSON, in transaction: StoreTransaction
    ) throws -> Bool {
        guard let user = try transaction.documentIfFound("_User", userId, caller: .master), user["ACL"] == present
        else { return false }
        _ = try transaction.update(
            "_User", userId, ["ACL": new, "updatedAt": user["updatedAt"] ?? .null], keepsTimes: true, caller: .master)
        return true
    }
}
