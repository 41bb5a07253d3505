import Messages
import ObjectStore
import ParseProtocol
import ProcessKit

/// The table of mails. The service never removes a row: it is the record of sent mails. A link that opens an account
/// is removed once it is sent, the rest of the content some days later.
package struct MailQueue: Sendable {
    let store: ClassStore
    private let claimDuration: Duration?

    /// - Parameter claimDuration: with several sending processes, how long a process holds a claimed mail; longer than
    ///   sending takes. Nil with one process.
    package init(store: ClassStore, claimDuration: Duration? = nil) {
        self.store = store
        self.claimDuration = claimDuration
    }

    /// Queues a mail. Only an unknown template is an error here; all other problems are found when the mail is sent.
    /// - Parameter quotas: nil counts nothing.
    /// - Returns: the result, for the log.
    /// - Throws: `.validationError` (142) for an unknown template. The outbox of the requesting service repeats the
    ///   message after every error, so a mail of a newer release is sent once this service is updated too.
    @discardableResult package static func add(
        _ message: SendMailRequest, key: String, quotas: MailQuotas? = nil, in transaction: StoreTransaction
    ) throws -> MailQuotas.Verdict {
        guard MailComposer.known.contains(message.template) else {
            throw ParseError(.validationError, "There is no mail template of that name.")
        }
        let key = key.isEmpty ? Names.random(20) : key
        let verdict = try quotas?.decide(on: message, in: transaction) ?? .send
        var (state, problem) = ("queued", SQLValue.null)
        switch verdict {
        case .send: break
        case .held(let reason): (state, problem) = ("held", .text(reason))
        case .dropped(let bucket):
            try MailQuotas.drop(bucket, in: transaction)
            return verdict
        }
        let inserted = try transaction.execute(
            """
            INSERT INTO mails(key, template, toAddress, toName, model, messageId, state, problem, queuedAt, dueAt, \
            orderNo, trace) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?11) ON CONFLICT DO NOTHING
            """,
            [
                .text(key), .text(message.template), .text(message.toAddress), .text(message.toName),
                .blob(Array(message.model)), .text(MessageId.of(key) ?? Names.random(20)), .text(state), problem,
                .int(transaction.now.milliseconds), message.orderNumber > 0 ? .int(message.orderNumber) : .null,
                (RequestTrace.current?.context?.text).map(SQLValue.text) ?? .null,
            ])
        if state == "held", inserted > 0 {
            let id = try transaction.rows("SELECT id FROM mails WHERE key = ?", [.text(key)]).first?["id"].intValue
            if let id { try MailQuotas.rememberHeld(id, to: message.toAddress, in: transaction) }
        }
        return verdict
    }

    /// Mails that may be sent.
    package struct Due: Sendable {
        /// The mails to send now.
        package let mails: [QueuedMail]
        /// False only if the queue certainly has no retries.
        let mayHaveRetries: Bool
    }

    /// Mails to send now: mails without attempts first, oldest first.
    ///
    /// With several sending processes, claims the mails for this process. If a claim expires while this process still
    /// sends the mail, the result may contain that mail again, and the caller must skip it.
    /// - Parameters:
    ///   - freshMax: the most mails without attempts. With several processes it limits the retries too, because unused
    ///     claims must be released.
    ///   - retries: the most mails with attempts.
    ///   - underWay: the mails that this process is sending; the query leaves them out. Ignored when mails are claimed,
    ///     because a claim already hides them.
    ///   - domains: domains whose mails are left out.
    package func due(
        fresh freshMax: Int, retries: Int, underWay: [Int64], without domains: [String] = []
    ) async throws -> Due {
        let others = Self.others(than: domains)
        if let claimDuration {
            let fresh = try await claim("attempts = 0", others, orderedBy: "id", limit: freshMax, for: claimDuration)
            do {
                let tried = try await claim(
                    "attempts > 0", others, orderedBy: "dueAt", limit: min(retries, freshMax - fresh.count),
                    for: claimDuration)
                return Due(mails: fresh + tried, mayHaveRetries: true)
            } catch  where !fresh.isEmpty {
                // The fresh mails are already claimed; the retries are tried again soon.
                return Due(mails: fresh, mayHaveRetries: true)
            }
        }
        let left = SQLValue.text(JSON.array(underWay.map(JSON.int)).serializedText)
        return try await store.read(for: nil) { reader in
            // Without this hint SQLite chooses the index by state and scans every waiting mail to find the next retry.
            func mails(by index: String, _ condition: String, _ values: [SQLValue]) throws -> [QueuedMail] {
                try reader.rows(
                    """
                    SELECT \(QueuedMail.columns) FROM mails\(reader.dialect.using(index: index))
                    WHERE state = 'queued' AND id\(reader.dialect.isNotIn("?", as: .integer)) AND \(others.sql)
                    AND \(condition) LIMIT ?
                    """, [left] + others.arguments + values
                ).map(QueuedMail.init)
            }
            let fresh = try mails(by: "mailsFresh", "attempts = 0 ORDER BY id", [.int(Int64(freshMax))])
            let tried = try reader.rows(
                """
                SELECT 1 AS found FROM mails\(reader.dialect.using(index: "mailsTried"))
                WHERE state = 'queued' AND attempts > 0 LIMIT 1
                """)
            guard !tried.isEmpty else { return Due(mails: fresh, mayHaveRetries: false) }
            let retries = try mails(
                by: "mailsTried", "attempts > 0 AND dueAt <= ? ORDER BY dueAt",
                [.int(Timestamp.now.milliseconds), .int(Int64(retries))])
            return Due(mails: fresh + retries, mayHaveRetries: true)
        }
    }

    /// Whether mails to a domain can be left out of the query. Other characters could act as wildcards in the pattern,
    /// and no host name contains them.
    static func canSkipDomain(_ domain: String) -> Bool {
        domain.utf8.count <= 253
            && domain.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// The condition that a mail goes to none of these domains.
    private static func others(than domains: [String]) -> (sql: String, arguments: [SQLValue]) {
        let domains = domains.filter(canSkipDomain)
        guard !domains.isEmpty else { return ("TRUE", []) }
        let sql = domains.map { _ in "lower(toAddress) NOT LIKE ?" }.joined(separator: " AND ")
        return ("(\(sql))", domains.map { .text("%@\($0)") })
    }

    /// The `dueAt` of queued mails. One sending process ignores the `dueAt` of mails without attempts, so they are left
    /// out.
    static func dueTimes(atMost longest: Duration, _ writers: StoreWriters) -> StoredWaits {
        let tried = writers == .one ? " AND attempts > 0" : ""
        return StoredWaits("dueAt", of: "mails", atMost: longest, where: "state = 'queued'\(tried)")
    }

    /// Selects the mails whose template this release knows. Mails of a newer replica's template stay queued for that
    /// replica.
    private static let hasKnownTemplate: (sql: String, arguments: [SQLValue]) = {
        let names = MailComposer.known.sorted()
        return ("template IN (\(names.map { _ in "?" }.joined(separator: ", ")))", names.map(SQLValue.text))
    }()

    private func claim(
        _ condition: String, _ others: (sql: String, arguments: [SQLValue]), orderedBy order: String, limit: Int,
        for time: Duration
    ) async throws -> [QueuedMail] {
        guard limit > 0 else { return [] }
        let claim = RowClaim(
            QueuedMail.columns, of: "mails",
            where: "state = 'queued' AND \(condition) AND \(Self.hasKnownTemplate.sql) AND \(others.sql)",
            Self.hasKnownTemplate.arguments + others.arguments, orderedBy: order, limit: limit, for: time)
        return try await store.claim(claim).map(QueuedMail.init).sorted { $0.id < $1.id }
    }

    /// Releases claimed mails that this process did not start to send. An attempt that was recorded after the claim
    /// keeps its backoff.
    package func releaseClaims(_ mails: [QueuedMail]) async throws {
        guard claimDuration != nil, !mails.isEmpty else { return }
        try await store.write(for: nil) { transaction in
            for mail in mails {
                try transaction.execute(
                    "UPDATE mails SET dueAt = ? WHERE id = ? AND state = 'queued' AND attempts = ?",
                    [.int(transaction.now.milliseconds), .int(mail.id), .int(Int64(mail.attempts))])
            }
        }
    }

    /// When the next retry is due; nil when there is none.
    /// - Parameters:
    ///   - underWay: mails to leave out.
    ///   - domains: domains whose mails are left out.
    func nextAttempt(underWay: [Int64], without domains: [String]) async throws -> Timestamp? {
        let others = Self.others(than: domains)
        let left = SQLValue.text(JSON.array(underWay.map(JSON.int)).serializedText)
        return try await store.read(for: nil) {
            try $0.rows(
                """
                SELECT min(dueAt) AS dueAt FROM mails\($0.dialect.using(index: "mailsTried"))
                WHERE state = 'queued' AND attempts > 0 AND id\($0.dialect.isNotIn("?", as: .integer))
                AND \(others.sql)
                """, [left] + others.arguments
            ).first?["dueAt"].intValue.map { Timestamp(milliseconds: $0) }
        }
    }

    /// Records the result of an attempt, unless another process has already finished the mail.
    package func record(_ id: Int64, _ step: RetrySchedule.Step) async throws {
        try await store.write(for: nil, seldomFails: true) { transaction in
            let now = transaction.now
            /// - Returns: false when the mail is not queued any more.
            @discardableResult func set(_ change: String, _ values: [SQLValue]) throws -> Bool {
                let count = try transaction.execute(
                    "UPDATE mails SET \(change) WHERE id = ? AND state = 'queued'", values + [.int(id)])
                guard count > 0 else { return false }
                if let outcome = step.outcome {
                    transaction.afterCommit { Metric.mails.count(("outcome", outcome)) }
                }
                return true
            }
            switch step {
            case .sent:
                let content = try Self.withoutSecret(id, in: transaction)
                var values: [SQLValue] = [.int(now.milliseconds), .int(now.milliseconds)]
                if let content { values.append(.blob(content)) }
                let change = "state = 'sent', attempts = attempts + 1, sentAt = ?, dueAt = ?, problem = NULL"
                try set(content == nil ? change : "\(change), model = ?", values)
            case .again(let pause, let problem):
                try set(
                    "attempts = attempts + 1, dueAt = ?, problem = ?",
                    [.int(now.advanced(by: pause).milliseconds), .text(problem)])
            case .bounced(let problem):
                let isRecorded = try set(
                    "state = 'bounced', attempts = attempts + 1, dueAt = ?, problem = ?",
                    [.int(now.milliseconds), .text(problem)])
                if isRecorded { try SuppressionList.add(addressOf: id, reason: problem, in: transaction) }
            case .failed(let problem):
                try set(
                    "state = 'failed', attempts = attempts + 1, dueAt = ?, problem = ?",
                    [.int(now.milliseconds), .text(problem)])
            case .suppressed:
                try set(
                    "state = 'suppressed', dueAt = ?, problem = ?",
                    [.int(now.milliseconds), .text("The address is on the suppression list.")])
            }
        }
    }

    /// Requeues a held, failed, bounced or suppressed mail and resets `queuedAt`, from which the give-up time counts. A
    /// mail that is still queued becomes due now or, with several sending processes, at the latest when a claim made
    /// now would expire: another process may be sending it.
    /// - Parameter claimDuration: as in `init`.
    package static func retry(
        _ id: Int64, claimDuration: Duration? = nil, in transaction: StoreTransaction
    ) throws {
        guard
            let row = try transaction.rows("SELECT state, length(model) AS size FROM mails WHERE id = ?", [.int(id)])
                .first
        else { throw ParseError.objectNotFound }
        let state = try row.text("state")
        guard state != "sent" else { throw ParseError(.validationError, "This mail was sent.") }
        guard try row.int("size") > 0 else {
            throw ParseError(.validationError, "The content of this mail is no longer stored.")
        }
        let now = transaction.now
        try transaction.execute(
            """
            UPDATE mails SET queuedAt = CASE state WHEN 'queued' THEN queuedAt ELSE ?1 END, state = 'queued', \
            dueAt = CASE WHEN state <> 'queued' THEN ?1 WHEN dueAt > ?2 THEN ?2 ELSE dueAt END WHERE id = ?3
            """,
            [.int(now.milliseconds), .int(now.advanced(by: claimDuration ?? .zero).milliseconds), .int(id)])
    }

    /// The mail's model without its secret; nil for a template without secrets.
    private static func withoutSecret(_ id: Int64, in transaction: StoreTransaction) throws -> [UInt8]? {
        let found = try transaction.rows("SELECT template FROM mails WHERE id = ?", [.int(id)]).first
        guard let template = try found?.text("template"), MailTemplates.kinds[template]?.hasSecret == true else {
            return nil
        }
        return try transaction.rows("SELECT model FROM mails WHERE id = ?", [.int(id)]).first
            .map { try MailComposer.withoutSecret($0.blob("model"), template) }
    }

    /// How long the content of a mail is kept, so that an operator can see and retry it.
    private static let contentKept = Duration.seconds(7 * 86_400)

    /// Removes the content of mails that will not be sent any more.
    package static func forgetContent(in transaction: StoreTransaction) throws {
        try transaction.execute(
            "UPDATE mails SET model = ? WHERE state <> 'queued' AND length(model) > 0 AND dueAt < ?",
            [.blob([]), .int(transaction.now.advanced(by: .zero - contentKept).milliseconds)])
    }
}
