import Foundation
import ObjectStore
import ParseProtocol

/// Pushes, from the request to the creation of deliveries.
package enum Pushes {
    package static let statusClass = "_PushStatus"

    /// A quarter of an object's limit: the status stores the condition as text, in which quotation marks are escaped.
    private static let conditionBytesMax = 32_768

    /// Stores a push and its status object. Its deliveries are created later, one slice at a time.
    /// - Parameter promotion: objectId of the Promotion that it announces.
    /// - Returns: its id.
    /// - Throws: `ParseError` for an invalid condition.
    package static func add(
        _ draft: PushDraft, promotion: String? = nil, source: String, in transaction: StoreTransaction
    ) throws -> String {
        var condition: JSON
        switch draft.target {
        case .condition(let given): condition = given
        case .audience(let id): condition = try Audiences.condition(of: id, in: transaction)
        }
        if let id = draft.audienceId { try Audiences.count(id, in: transaction) }
        guard condition.serialized.count <= Self.conditionBytesMax else {
            throw ParseError(.objectTooLarge, "where has more than \(Self.conditionBytesMax) bytes.")
        }
        // Compiled now, so that the sender gets the error of an invalid query.
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

    /// The times to shorten after the clock was set back: of pushes that were due when they were requested, or have
    /// begun. An operator chose the date of all others.
    package static let waits = StoredWaits(
        "dueAt", of: "pushes", atMost: .seconds(1),
        where: "state IN ('scheduled', 'spreading') AND (state = 'spreading' OR dueAt <= madeAt)")

    /// Orders pushes by request time, newest first.
    static func newestFirst(_ dialect: Dialect) -> String { "madeAt DESC, \(dialect.row(key: "id")) DESC" }

    /// Adds the condition that the device can be reached.
    static func reachable(_ condition: JSON) -> JSON {
        condition.adding(["deviceToken": ["$exists": true]])
    }

    /// Ends a push: its waiting deliveries are not sent. Deliveries in flight still count with their result.
    /// - Returns: false when it had already ended.
    package static func cancel(_ id: String, in transaction: StoreTransaction) throws -> Bool {
        let changed = try transaction.execute(
            """
            UPDATE pushes SET isCancelled = 1, state = 'sending' WHERE id = ? AND state != 'ended' AND isCancelled = 0
            """, [.text(id)])
        guard changed == 1 else { return false }
        // Makes its deliveries due, so that the sender ends them at once.
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
    /// The conjunction of this condition and another.
    func adding(_ other: JSON) -> JSON {
        var condition = self
        condition["$and"] = .array((self["$and"]?.arrayValue ?? []) + [other])
        return condition
    }
}
