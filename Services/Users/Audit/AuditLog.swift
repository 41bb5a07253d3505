import Foundation
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The audit log: the changes that operators and the master key made in every service, as they were told.
///
/// It is no class, and nothing in the suite changes an entry or removes one before its time: not for the master key
/// either. A trigger of the table says the same to whoever has the file.
package enum AuditLog {
    /// The name of the master key in entries.
    package static let masterKey = "master key"

    /// Entries that one round removes, so that other writes get their turn.
    private static let removedAtOnce = 1000

    /// The tables: entries in the order in which they came.
    static let tables = [
        """
        CREATE TABLE auditEntries(id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, userId TEXT NOT NULL, \
        who TEXT NOT NULL, action TEXT NOT NULL, className TEXT NOT NULL, objectId TEXT NOT NULL, before TEXT, \
        after TEXT, requestId TEXT NOT NULL, address TEXT NOT NULL)
        """,
        "CREATE INDEX auditEntriesByTime ON auditEntries(at)",
        "CREATE INDEX auditEntriesByUser ON auditEntries(userId, id)",
        "CREATE INDEX auditEntriesByWho ON auditEntries(who, id)",
        "CREATE INDEX auditEntriesByObject ON auditEntries(className, objectId, id)",
        """
        CREATE TRIGGER auditEntriesStay BEFORE UPDATE ON auditEntries BEGIN
            SELECT RAISE(ABORT, 'An entry of the audit log is never changed.');
        END
        """,
    ]

    /// The history of one object, whoever does not name its class: without this index every entry would be looked at.
    static let objectIndex = ["CREATE INDEX auditEntriesByObjectId ON auditEntries(objectId, id)"]

    /// Adds the entries of one transaction elsewhere. The name is the one that the operator has now, a moment later.
    package static func add(_ message: AuditChanges, in transaction: StoreTransaction) throws {
        let who = try message.userID.isEmpty ? masterKey : name(of: message.userID, transaction)
        for change in message.changes {
            try transaction.execute(
                """
                INSERT INTO auditEntries(at, userId, who, action, className, objectId, before, after, requestId, \
                address) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    .int(message.at), .text(message.userID), .text(who), .text(change.action),
                    .text(change.className), .text(change.objectID), state(change.before), state(change.after),
                    .text(message.requestID), .text(message.address),
                ])
        }
    }

    private static func state(_ text: Data) -> SQLValue {
        text.isEmpty ? .null : .text(String(decoding: text, as: UTF8.self))
    }

    /// Empty for an account that is gone.
    private static func name(of userId: String, _ transaction: StoreTransaction) throws -> String {
        try transaction.documentIfFound("_User", userId, caller: .master)?["username"]?.stringValue ?? ""
    }

    /// Removes entries that are older than they are kept.
    /// - Returns: whether there may be more.
    package static func removeOld(days: Int, in transaction: StoreTransaction) throws -> Bool {
        let end = transaction.now.advanced(by: .zero - .seconds(Int64(days) * 86_400))
        let removed = try transaction.execute(
            "DELETE FROM auditEntries WHERE id IN (SELECT id FROM auditEntries WHERE at < ? ORDER BY at LIMIT ?)",
            [.int(end.milliseconds), .int(Int64(removedAtOnce))])
        return removed == removedAtOnce
    }
}
