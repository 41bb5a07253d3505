import ObjectStore
import ParseProtocol
import Synchronization

/// The counters of wrong tries. A row costs whoever causes it a password's hash or a provider's answer and ends after a
/// quarter of an hour, so that there are never many.
package enum SignInFailures {
    static func counters(
        _ subjects: [SignInSubject], _ reader: some ObjectReading
    ) throws -> [SignInSubject: SignInCounter] {
        var counters: [SignInSubject: SignInCounter] = [:]
        for subject in subjects {
            let row = try reader.rows(
                "SELECT failures, endsAt FROM signInFailures WHERE subject = ?", [.text(subject.key)]
            ).first
            counters[subject] = try row.map {
                try SignInCounter(
                    failures: $0.int("failures"), endsAt: Timestamp(milliseconds: $0.int("endsAt")))
            }
        }
        return counters
    }

    static func verdict(
        on attempt: SignInAttempt, _ step: SignInGuard.Step, at now: Timestamp, _ reader: some ObjectReading
    ) throws -> SignInGuard.Verdict {
        let judge = SignInGuard(attempt)
        return judge.verdict(on: step, try counters(judge.judged(by: step), reader), at: now)
    }

    /// - Throws: the refusal when a signed-in user has to wait.
    static func check(_ subject: SignInSubject, at now: Timestamp, _ reader: some ObjectReading) throws {
        guard let counter = try counters([subject], reader)[subject], counter.failures >= subject.failuresMax,
            counter.endsAt > now
        else { return }
        throw SignInGuard.locked(until: counter.endsAt, now: now)
    }

    static func count(_ subjects: [SignInSubject], in transaction: StoreTransaction) throws {
        for subject in subjects { try count(subject, in: transaction) }
    }

    /// Counts one more, in one statement. The window begins with the first failure and again with the one that locks.
    static func count(_ subject: SignInSubject, in transaction: StoreTransaction) throws {
        _ = try transaction.rows(
            """
            INSERT INTO signInFailures(subject, failures, endsAt) VALUES (?1, 1, ?2)
            ON CONFLICT(subject) DO UPDATE SET
                failures = CASE WHEN signInFailures.endsAt <= ?3 THEN 1 ELSE signInFailures.failures + 1 END,
                endsAt = CASE WHEN signInFailures.endsAt <= ?3 OR signInFailures.failures + 1 = ?4
                    THEN excluded.endsAt ELSE signInFailures.endsAt END
            RETURNING failures
            """,
            [
                .text(subject.key), .int(transaction.now.advanced(by: SignInSubject.window).milliseconds),
                .int(transaction.now.milliseconds), .int(subject.failuresMax),
            ])
    }

    static func clear(_ subjects: [SignInSubject], in transaction: StoreTransaction) throws {
        for subject in subjects {
            try transaction.execute("DELETE FROM signInFailures WHERE subject = ?", [.text(subject.key)])
        }
    }

    /// Sets everything about an account back, as after a new password or with its end.
    static func clearAll(of userId: String, in transaction: StoreTransaction) throws {
        try clear([.account(userId), .codes(userId), .owner(userId)], in: transaction)
        for prefix in ["place:\(userId)", "device:\(userId)"] {
            // `;` is the character after `:`.
            try transaction.execute(
                "DELETE FROM signInFailures WHERE subject > ? AND subject < ?",
                [.text("\(prefix):"), .text("\(prefix);")])
        }
    }

    static func clearExpired(in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM signInFailures WHERE endsAt <= ?", [.int(transaction.now.milliseconds)])
    }
}

/// The pace of networks with too many wrong tries, for all requests of the process. Sign-ins come to the writer only.
final class NetworkPaces: Sendable {
    private let paces = Mutex(NetworkPace())
    private let start = ContinuousClock.now

    /// - Throws: `.requestLimitExceeded` (155) when it is not yet the network's turn.
    func admit(_ network: String) throws {
        let now = (ContinuousClock.now - start) / .seconds(1)
        if let seconds = paces.withLock({ $0.wait(of: network, at: now) }) {
            throw SignInGuard.slowedDown(seconds: seconds)
        }
    }
}
