import ObjectStore
import ParseProtocol
import Synchronization

/// The counters of failed attempts. A row costs the client a password hash or a provider request, and expires after 15
/// minutes, so the table stays small.
package enum SignInFailures {
    static func counters(
        _ subjects: [SignInSubject], _ reader: ObjectReader
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
        on attempt: SignInAttempt, _ step: SignInGuard.Step, at now: Timestamp, _ reader: ObjectReader
    ) throws -> SignInGuard.Verdict {
        let judge = SignInGuard(attempt)
        return judge.verdict(on: step, try counters(judge.judged(by: step), reader), at: now)
    }

    /// - Throws: the refusal when a signed-in user must wait.
    static func check(_ subject: SignInSubject, at now: Timestamp, _ reader: ObjectReader) throws {
        guard let counter = try counters([subject], reader)[subject], counter.failures >= subject.failuresMax,
            counter.endsAt > now
        else { return }
        throw SignInGuard.locked(until: counter.endsAt, now: now)
    }

    static func count(_ subjects: [SignInSubject], in transaction: StoreTransaction) throws {
        for subject in subjects { try count(subject, in: transaction) }
    }

    /// Counts a failure in one statement. The window starts with the first failure, and again when the subject becomes
    /// locked.
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

    /// Takes over another server's counter.
    static func take(
        _ subject: SignInSubject, failures: Int64, until end: Timestamp, in transaction: StoreTransaction
    ) throws {
        try transaction.execute(
            """
            INSERT INTO signInFailures(subject, failures, endsAt) VALUES (?, ?, ?)
            ON CONFLICT(subject) DO UPDATE SET failures = excluded.failures, endsAt = excluded.endsAt
            """, [.text(subject.key), .int(failures), .int(end.milliseconds)])
    }

    static func clear(_ subjects: [SignInSubject], in transaction: StoreTransaction) throws {
        for subject in subjects {
            try transaction.execute("DELETE FROM signInFailures WHERE subject = ?", [.text(subject.key)])
        }
    }

    /// Resets all counters of an account, after a new password or its deletion.
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

/// The rate limit of networks with too many failures, shared by the requests of one handler (`SignIn` or `UserRules`)
/// in this process. Where every replica writes, each limits the sign-ins that it gets.
final class NetworkRateLimits: Sendable {
    private let paces = Mutex(NetworkRateLimit())
    private let start = ContinuousClock.now

    /// - Throws: `.requestLimitExceeded` (155) when the network must wait.
    func admit(_ network: String) throws {
        let now = (ContinuousClock.now - start) / .seconds(1)
        if let seconds = paces.withLock({ $0.wait(of: network, at: now) }) {
            throw SignInGuard.slowedDown(seconds: seconds)
        }
    }
}
