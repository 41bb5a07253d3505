import ObjectStore
import ParseProtocol
import ServiceKit

/// Makes users publicly readable while `SATCHEL_PUBLIC_USERS` is set, including those created before.
///
/// Queries use the indexed ACL columns of each row, so the setting must change ACLs. The writer does that at startup,
/// for users whose ACL is the sign-up default and was not chosen. The changed users are recorded and reverted when the
/// setting is removed.
package enum PublicUsers {
    /// Users per transaction: a few milliseconds, so that other writes are not delayed.
    private static let pageRows = 200

    /// The ACL of a publicly readable user.
    package static func acl(of userId: String) -> JSON {
        var acl = JSON.privateACL(userId)
        acl["*"] = ["read": true]
        return acl
    }

    // MARK: Changes of users

    /// A user got the public ACL from the setting.
    static func isShown(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "INSERT INTO shownUsers(userId) VALUES (?) ON CONFLICT DO NOTHING", [.text(userId)])
    }

    /// A client chose a user's ACL, which the setting no longer changes.
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

    // MARK: Startup

    /// Applies the setting to all users, and returns when done. Continues earlier progress.
    /// - Throws: errors of the store; `CancellationError`.
    package static func apply(_ areShown: Bool, to store: ClassStore) async throws {
        guard areShown else {
            while try await store.write(for: nil, { try hidePage(in: $0) }) { try Task.checkCancellation() }
            return
        }
        var last: String? = ""
        while let done = last {
            try Task.checkCancellation()
            last = try await showPage(after: done, in: store)
        }
    }

    /// Makes some users public whose ACL is the sign-up default.
    /// - Returns: the last checked user; nil when there are no more.
    private static func showPage(after last: String, in store: ClassStore) async throws -> String? {
        let page = try await store.read(for: nil) { reader in
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
            try await store.write(for: nil) { transaction in
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

    /// Reverts the ACLs of some public users.
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

    /// Replaces an ACL and keeps the user's times, because the user's data do not change.
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
