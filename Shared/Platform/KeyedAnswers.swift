import Foundation
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The answers to clients' writes with an `Idempotency-Key`, one row per client and key for a day. The gateway encrypts
/// an answer with a key made of the client's, so that the table shows neither.
///
/// A run that ended without an answer, because its gateway died or a service failed, is followed by another with the
/// same seed: the services answer from their stored replies what was done already (`KeyedReplies`).
package enum KeyedAnswers {
    private static let kept = Duration.seconds(86_400)
    /// The gateway renews a run every three seconds.
    private static let lease = Duration.seconds(10)
    /// A run cannot be renewed while catalog is away: it has this long from the first claim after its lease.
    private static let grace = Duration.seconds(5)
    private static let keyBytesMax = 100
    private static let pruneRowsMax = 500

    /// Begins a run, or renews it.
    /// - Throws: `.requestLimitExceeded` (155) when the caller's quota of objects is exhausted.
    package static func begin(
        _ message: BeginWrite, by caller: Caller, in transaction: StoreTransaction
    ) throws -> WriteState {
        guard (1...keyBytesMax).contains(message.key.utf8.count), !message.run.isEmpty else {
            throw ParseError(.invalidJSON, "A key and a run are needed.")
        }
        let now = transaction.now.milliseconds
        let busyUntil = SQLValue.int(now + lease.milliseconds)
        if let row = try find(message.key, in: transaction) {
            guard try row.text("request") == message.request else { return state(.other) }
            if try row.int("isDone") == 1 { return try answered(row) }
            let until = try row.int("busyUntil")
            let isOwn = try row.text("run") == message.run
            // The run has ended, and this renewal arrives late.
            if until == 0, isOwn { return state(.running) }
            if until != 0, !isOwn {
                if isBusy(until, at: now) { return state(.running) }
                if until > 0 {
                    try transaction.execute(
                        "UPDATE keyedAnswers SET busyUntil = ? WHERE key = ?",
                        [.int(-(now + grace.milliseconds)), .text(message.key)])
                    return state(.running)
                }
            }
            try transaction.execute(
                "UPDATE keyedAnswers SET run = ?, busyUntil = ? WHERE key = ?",
                [.text(message.run), busyUntil, .text(message.key)])
            return state(.run, seed: try row.text("seed"))
        }
        try transaction.quotas.requireDiskSpace(for: caller)
        try transaction.quotas.take(of: .objects, by: caller)
        let seed = Names.random(20)
        let rows = try transaction.execute(
            """
            INSERT INTO keyedAnswers(key, request, seed, run, busyUntil, keptSince) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT(key) DO NOTHING
            """,
            [
                .text(message.key), .text(message.request), .text(seed), .text(message.run), busyUntil, .int(now),
            ])
        return rows == 1 ? state(.run, seed: seed) : state(.running)
    }

    /// Whether a run is under way, or has an answer; unknown when a claim has to decide.
    package static func state(_ message: BeginWrite, in reader: ObjectReader) throws -> WriteState {
        let now = Timestamp.now.milliseconds
        let rows = try reader.rows(
            "SELECT busyUntil, isDone, answer FROM keyedAnswers WHERE key = ? AND request = ? AND keptSince > ?",
            [.text(message.key), .text(message.request), .int(now - kept.milliseconds)])
        guard let row = rows.first else { return state(.unknown) }
        if try row.int("isDone") == 1 { return try answered(row) }
        return state(isBusy(try row.int("busyUntil"), at: now) ? .running : .unknown)
    }

    /// Whether a lease lasts, or the grace after it (negative). A clock that was set back makes neither longer.
    private static func isBusy(_ until: Int64, at now: Int64) -> Bool {
        until > 0
            ? (now + 1...now + lease.milliseconds).contains(until)
            : (now + 1...now + grace.milliseconds).contains(-until)
    }

    /// Stores the answer of a run. An answer that is too large, or exceeds the caller's quota, leaves the mark that the
    /// write was carried out.
    package static func end(
        _ message: EndWrite, by caller: Caller, in transaction: StoreTransaction
    ) throws -> WriteState {
        // Nothing to do when the day is over.
        guard let row = try find(message.key, in: transaction) else { return state(.run) }
        let isOwn = try row.text("run") == message.run
        if try row.int("isDone") == 1 { return try isOwn ? state(.run) : answered(row) }
        guard isOwn else { return state(.running) }
        if message.retriable {
            try transaction.execute("UPDATE keyedAnswers SET busyUntil = 0 WHERE key = ?", [.text(message.key)])
        } else {
            try transaction.execute(
                "UPDATE keyedAnswers SET isDone = 1, answer = ? WHERE key = ?",
                [stored(message.answer, by: caller, in: transaction), .text(message.key)])
        }
        return state(.run)
    }

    private static func stored(_ answer: Data, by caller: Caller, in transaction: StoreTransaction) -> SQLValue {
        guard (1...EndWrite.answerBytesMax).contains(answer.count),
            (try? transaction.quotas.take(answer.count, of: .objectBytes, by: caller)) != nil
        else { return .null }
        return .blob(Array(answer))
    }

    /// Removes answers that are over; true when more may remain.
    package static func removeExpired(in transaction: StoreTransaction) throws -> Bool {
        try transaction.removeExpired(from: "keyedAnswers", before: oldest(in: transaction), rowsMax: pruneRowsMax)
    }

    private static func find(_ key: String, in transaction: StoreTransaction) throws -> SQLRow? {
        // A row of the future stays until `removeExpired`: a clock that is set back must not repeat a payment.
        try transaction.execute(
            "DELETE FROM keyedAnswers WHERE key = ? AND keptSince <= ?", [.text(key), .int(oldest(in: transaction))])
        return try transaction.rows(
            "SELECT request, seed, run, busyUntil, isDone, answer FROM keyedAnswers WHERE key = ?", [.text(key)]
        ).first
    }

    private static func oldest(in transaction: StoreTransaction) -> Int64 {
        transaction.now.milliseconds - kept.milliseconds
    }

    private static func answered(_ row: SQLRow) throws -> WriteState {
        let answer = try row["answer"].blobValue ?? []
        return .with {
            $0.outcome = .answered
            $0.answer = Data(answer)
        }
    }

    private static func state(_ outcome: WriteState.Outcome, seed: String = "") -> WriteState {
        .with {
            $0.outcome = outcome
            $0.seed = seed
        }
    }
}
