import Foundation
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The audit log: changes by operators and the master key in all services, in the order of arrival.
///
/// It is not a class, and no part of the suite changes an entry or removes one early, not even for the master key. A
/// trigger on the table enforces this for direct access to the file.
package enum AuditLog {
    /// The master key's name in entries.
    package static let masterKey = "master key"

    /// Entries removed per round, so that other writes are not delayed.
    private static let removedAtOnce = 1000

    /// The tables; entries are ordered by arrival.
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

    /// For the history of one object without a class name, which would otherwise scan all entries.
    static let objectIndex = ["CREATE INDEX auditEntriesByObjectId ON auditEntries(objectId, id)"]

    /// Adds the entries of one transaction of a service. The operator's name is looked up on arrival.
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

    /// Empty for a deleted account.
    private static func name(of userId: String, _ transaction: StoreTransaction) throws -> String {
        try transaction.documentIfFound("_User", userId, caller: .master)?["username"]?.stringValue ?? ""
    }

    /// Removes entries older than the retention period.
    /// - Returns: whether there may be more.
    package static func removeOld(days: Int, in transaction: StoreTransaction) throws -> Bool {
        let end = transaction.now.advanced(by: .zero - .seconds(Int64(days) * 86_400))
        let removed = try transaction.execute(
            "DELETE FROM auditEntries WHERE id IN (SELECT id FROM auditEntries WHERE at < ? ORDER BY at LIMIT ?)",
            [.int(end.milliseconds), .int(Int64(removedAtOnce))])
        return removed == removedAtOnce
    }
}
