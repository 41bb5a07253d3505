import Foundation
import ObjectStore
import ParseProtocol

/// Pushes from their request to the slices of deliveries they become.
package enum Pushes {
    package static let statusClass = "_PushStatus"

    /// A quarter of an object; quotes count twice there.
    private static let conditionBytesMax = 32_768

    /// Stores a push and what people see of it. Its deliveries are made later, a slice at a time.
    /// - Parameter promotion: objectId of the Promotion that it announces.
    /// - Returns: its id.
    /// - Throws: `ParseError` for a condition that is no query.
    package static func add(
        _ draft: PushDraft, promotion: String? = nil, source: String, in transaction: StoreTransaction
    ) throws -> String {
        var condition: JSON
        switch draft.target {
        case .condition(let given): condition = given
        case .audience(let id): condition = try Audiences.condition(of: id, in: transaction)
        }
        if let id = draft.audienceId { try Audiences.count(id, in: transaction) }
        // It becomes a text inside the status, which has to have room for its counts as well.
        guard condition.serialized.count <= Self.conditionBytesMax else {
            throw ParseError(.objectTooLarge, "where has more than \(Self.conditionBytesMax) bytes.")
        }
        // Compiled now, so that a bad query is the sender's to correct.
        _ = try transaction.find(Query(className: "_Installation", where: condition, limit: 0), caller: .master)
        let now = transaction.now
        let dueAt = max(draft.moment?.earliest ?? now, now)
        let base = draft.moment.map { if case .absolute(let time) = $0 { max(time, now) } else { dueAt } } ?? now
        var expiresAt: Timestamp?
        var lifetime: Int64?
        switch draft.expiry {
        case .at(let end): expiresAt = end
        case .after(let seconds):
            lifetime = seconds * 1000
            expiresAt = base.advanced(by: .seconds(seconds))
        case nil: break
        }
        var wallClock: Timestamp?
        if case .wallClock(let time) = draft.moment { wallClock = time }
        let query = condition
        condition = Self.reachable(condition)
        let status: JSON = [
            "pushTime": .string(wallClock.map { String($0.iso.dropLast()) } ?? base.iso), "source": .string(source),
            "query": .string(query.serializedText), "payload": .string(draft.payload.data.serializedText),
            "pushHash": .string(draft.payload.hash), "status": dueAt > now ? "scheduled" : "pending", "numSent": 0,
            "numFailed": 0, "count": 0, "ACL": [:],
        ]
        var fields = status
        fields["title"] = draft.title.map(JSON.string)
        fields["expiry"] = expiresAt.map { .int($0.milliseconds) }
        fields["expiration_interval"] = lifetime.map { .int($0 / 1000) }
        let id = try transaction.create(statusClass, fields, caller: .master).objectId
        _ = try transaction.execute(
            """
            INSERT INTO pushes(id, state, condition, payload, dueAt, wallClock, expiresAt, lifetime, promotion, \
            madeAt) VALUES (?, 'scheduled', ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(id), .blob(condition.serialized), .blob(draft.payload.data.serialized), .int(dueAt.milliseconds),
                .optional(wallClock?.milliseconds), .optional(expiresAt?.milliseconds), .optional(lifetime),
                promotion.map(SQLValue.text) ?? .null, .int(now.milliseconds),
            ])
        return id
    }

    /// The order in which the push that was asked for last is the first.
    static func newestFirst(_ dialect: Dialect) -> String { "madeAt DESC, \(dialect.row(key: "id")) DESC" }

    /// Only a device that can be reached.
    static func reachable(_ condition: JSON) -> JSON {
        condition.adding(["deviceToken": ["$exists": true]])
    }

    /// Ends a push: what waits is not sent. What is under way with the provider still counts as what it becomes.
    /// - Returns: false when it had ended before.
    package static func cancel(_ id: String, in transaction: StoreTransaction) throws -> Bool {
        let changed = try transaction.execute(
            """
            UPDATE pushes SET isCancelled = 1, state = 'sending' WHERE id = ? AND state != 'ended' AND isCancelled = 0
            """, [.text(id)])
        guard changed == 1 else { return false }
        // The sender takes them at once and lets them end.
        _ = try transaction.execute(
            "UPDATE deliveries SET dueAt = ? WHERE push = ?", [.int(transaction.now.milliseconds), .text(id)])
        try PushProgress.settle(id, in: transaction)
        return true
    }
}

extension SQLValue {
    static func optional(_ value: Int64?) -> SQLValue { value.map(SQLValue.int) ?? .null }
}

extension JSON {
    /// This condition and another.
    func adding(_ other: JSON) -> JSON {
        var condition = self
        condition["$and"] = .array((self["$and"]?.arrayValue ?? []) + [other])
        return condition
    }
}
