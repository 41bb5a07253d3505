import ObjectStore
import ParseProtocol
import ProcessKit

/// The report on a push, always computed from the counts of its finished deliveries.
package enum PushProgress {
    /// Counts a finished delivery and removes its row. A row that is already gone was counted before and is not counted
    /// again.
    package static func end(
        _ delivery: Delivery, isSent: Bool, reason: String, in transaction: StoreTransaction
    ) throws {
        guard try transaction.execute("DELETE FROM deliveries WHERE id = ?", [.int(delivery.id)]) == 1 else { return }
        _ = try transaction.execute(
            """
            INSERT INTO deliveryCounts(push, isSent, reason, deviceType, utcOffset, count) VALUES (?, ?, ?, ?, ?, 1)
            ON CONFLICT(push, isSent, reason, deviceType, utcOffset) DO UPDATE SET count = deliveryCounts.count + 1
            """,
            [
                .text(delivery.push), .int(isSent ? 1 : 0), .text(reason), .text(delivery.deviceType),
                .text(delivery.utcOffset.map(String.init) ?? ""),
            ])
        transaction.afterCommit { Metric.pushes.count(("outcome", isSent ? "sent" : "failed")) }
    }

    /// Ends a push that has nothing left to send.
    package static func settle(_ id: String, in transaction: StoreTransaction) throws {
        let ended = try transaction.execute(
            """
            UPDATE pushes SET state = 'ended' WHERE id = ? AND state = 'sending'
            AND NOT EXISTS(SELECT 1 FROM deliveries WHERE push = ?)
            """, [.text(id), .text(id)])
        if ended == 1 { try report(id, in: transaction) }
    }

    /// Updates the reported progress, at most once per `refreshPause`.
    static func refresh(_ id: String, in transaction: StoreTransaction) throws {
        let changed = try transaction.execute(
            """
            UPDATE pushes SET reportedAt = ? WHERE id = ? AND state != 'ended' \
            AND (reportedAt <= ? OR reportedAt > ?)
            """,
            [
                .int(transaction.now.milliseconds), .text(id),
                .int(transaction.now.advanced(by: .zero - refreshPause).milliseconds),
                // Written before the clock was set back.
                .int(transaction.now.milliseconds),
            ])
        if changed == 1 { try report(id, in: transaction) }
    }

    /// An operator may be watching; one document per second is cheap.
    private static let refreshPause = Duration.seconds(1)

    /// Writes the `_PushStatus` from the counts.
    static func report(_ id: String, in transaction: StoreTransaction) throws {
        guard let push = try transaction.rows("SELECT * FROM pushes WHERE id = ?", [.text(id)]).first else { return }
        let counts = try transaction.rows(
            "SELECT isSent, reason, deviceType, utcOffset, count FROM deliveryCounts WHERE push = ?", [.text(id)])
        let fields = try fields(
            state: push.text("state"), isCancelled: push.int("isCancelled") == 1, made: push.int("made"), counts)
        do {
            _ = try transaction.nested { try transaction.update(Pushes.statusClass, id, fields, caller: .master) }
        } catch is ParseError {
            // The status was deleted, or it is at its size limit; the push continues.
        }
    }

    private static func fields(state: String, isCancelled: Bool, made: Int64, _ counts: [SQLRow]) throws -> JSON {
        var totals: [Bool: Int64] = [:]
        var types: [Bool: [String: JSON]] = [true: [:], false: [:]]
        var offsets: [Bool: [String: JSON]] = [true: [:], false: [:]]
        var reasons: [String: Int64] = [:]
        for row in counts {
            let (isSent, count) = try (row.int("isSent") == 1, row.int("count"))
            totals[isSent, default: 0] += count
            try types[isSent]?.add(count, to: row.text("deviceType"))
            if try !row.text("utcOffset").isEmpty { try offsets[isSent]?.add(count, to: row.text("utcOffset")) }
            if !isSent { try reasons[row.text("reason"), default: 0] += count }
        }
        let (sent, failed) = (totals[true] ?? 0, totals[false] ?? 0)
        var fields: JSON = [
            "numSent": .int(sent), "numFailed": .int(failed), "count": .int(made),
            "sentPerType": .object(types[true] ?? [:]), "failedPerType": .object(types[false] ?? [:]),
        ]
        if !offsets.values.allSatisfy(\.isEmpty) {
            fields["sentPerUTCOffset"] = .object(offsets[true] ?? [:])
            fields["failedPerUTCOffset"] = .object(offsets[false] ?? [:])
        }
        switch state {
        case "scheduled": break
        case "ended": fields["status"] = isCancelled || (sent == 0 && failed > 0) ? "failed" : "succeeded"
        default: fields["status"] = "running"
        }
        let cancelled = reasons.removeValue(forKey: "Cancelled")
        var problems = reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(reasonsMax).map {
            "\($0.key): \($0.value)"
        }
        // First: `PushList` finds cancelled pushes by it.
        if isCancelled { problems.insert(cancelled.map { "Cancelled: \($0)" } ?? "Cancelled", at: 0) }
        if !problems.isEmpty { fields["errorMessage"] = .string(problems.joined(separator: "; ")) }
        return fields
    }

    /// Maximum reasons named in a status besides the cancellation, the most frequent first.
    private static let reasonsMax = 5

    // MARK: - Failures

    /// The failed deliveries of a promotion by reason (the provider's or Satchel's), the most frequent first. Reasons
    /// beyond `namedMax` are counted together as `otherReasons`, at the end.
    /// - Parameter latest: number of pushes to include, newest first.
    package static func failures(
        ofPromotion id: String, latest: Int64, from reader: ObjectReader
    ) throws -> [(reason: String, count: Int64)] {
        let all = try reader.rows(
            """
            SELECT reason, sum(count) AS total FROM deliveryCounts WHERE isSent = 0
            AND push IN (SELECT id FROM pushes WHERE promotion = ?
            ORDER BY \(Pushes.newestFirst(reader.dialect)) LIMIT ?)
            GROUP BY reason ORDER BY total DESC, reason
            """,
            [.text(id), .int(latest)]
        ).map { try (reason: $0.text("reason"), count: $0.int("total")) }
        let others = all.dropFirst(namedMax).reduce(Int64(0)) { $0 + $1.count }
        var named = Array(all.prefix(namedMax))
        if others > 0 { named.append((reason: otherReasons, count: others)) }
        return named
    }

    /// APNs has about thirty reasons, of which a push meets a few.
    package static let namedMax = 20
    /// Stands for all unnamed reasons. No provider uses it: their reasons are identifiers.
    package static let otherReasons = "(other)"
}

extension [String: JSON] {
    fileprivate mutating func add(_ count: Int64, to name: String) {
        self[name] = .int((self[name]?.intValue ?? 0) + count)
    }
}
