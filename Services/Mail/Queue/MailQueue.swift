import Messages
import ObjectStore
import ParseProtocol

/// The table of mails. A row is never removed by the service: it is the record of what was sent to whom. What a mail
/// says is removed once it is sent, because a link in it may be a secret.
package struct MailQueue: Sendable {
    let store: ClassStore
    private let claimedFor: Duration?

    /// - Parameter claimedFor: where several processes send, the time for which a mail is nobody else's, longer than it
    ///   takes to send one; nil where one process does.
    package init(store: ClassStore, claimedFor: Duration? = nil) {
        self.store = store
        self.claimedFor = claimedFor
    }

    /// Queues a mail. Apart from an unknown template, what is wrong with it shows when it is sent: an error here would
    /// make the sender's outbox try for ever.
    /// - Parameter quotas: nil counts nothing.
    /// - Returns: what became of it, for the log.
    /// - Throws: `.validationError` (142) for an unknown template. The sender keeps such a mail, so that one asked for
    ///   by a newer release is sent once this service is as new.
    @discardableResult package static func add(
        _ message: SendMailRequest, key: String, quotas: MailQuotas? = nil, in transaction: StoreTransaction
    ) throws -> MailQuotas.Verdict {
        guard MailComposer.known.contains(message.template) else {
            throw ParseError(.validationError, "There is no mail template of that name.")
        }
        let key = key.isEmpty ? Names.random(20) : key
        let verdict = try quotas?.verdict(on: message, in: transaction) ?? .send
        var (state, problem) = ("queued", SQLValue.null)
        switch verdict {
        case .send: break
        case .held(let reason): (state, problem) = ("held", .text(reason))
        case .dropped(let subject):
            try MailQuotas.drop(subject, in: transaction)
            return verdict
        }
        let inserted = try transaction.execute(
            """
            INSERT INTO mails(key, template, toAddress, toName, model, messageId, state, problem, queuedAt, dueAt, \
            orderNo) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10) ON CONFLICT DO NOTHING
            """,
            [
                .text(key), .text(message.template), .text(message.toAddress), .text(message.toName),
                .blob(Array(message.model)), .text(MessageId.of(key) ?? Names.random(20)), .text(state), problem,
                .int(transaction.now.milliseconds), message.orderNumber > 0 ? .int(message.orderNumber) : .null,
            ])
        if state == "held", inserted > 0 {
            let id = try transaction.rows("SELECT id FROM mails WHERE key = ?", [.text(key)]).first?["id"].intValue
            if let id { try MailQuotas.held(id, to: message.toAddress, in: transaction) }
        }
        return verdict
    }

    /// Mails to send now: first those that were never tried, oldest first.
    ///
    /// Where several processes send, `fresh` mails in all at most are claimed for this one. When a claim runs out while
    /// this process is still at the mail, that one may be among them, and the caller leaves it out.
    /// - Parameter underWay: mails to leave out where one process sends.
    package func due(fresh freshMax: Int, retries: Int, underWay: [Int64]) async throws -> [QueuedMail] {
        if let claimedFor {
            let fresh = try await claim("attempts = 0", orderedBy: "id", limit: freshMax, for: claimedFor)
            do {
                return fresh
                    + (try await claim(
                        "attempts > 0", orderedBy: "dueAt", limit: min(retries, freshMax - fresh.count),
                        for: claimedFor))
            } catch  where !fresh.isEmpty {
                // Those are taken; the others are looked for again soon.
                return fresh
            }
        }
        let left = SQLValue.text(JSON.array(underWay.map(JSON.int)).serializedText)
        return try await store.read { reader in
            // Left to itself SQLite takes the index by state, and looks at every mail that waits for the one that is
            // tried again.
            func mails(by index: String, _ condition: String, _ values: [SQLValue]) throws -> [QueuedMail] {
                try reader.rows(
                    """
                    SELECT \(QueuedMail.columns) FROM mails\(reader.dialect.using(index: index))
                    WHERE state = 'queued' AND id\(reader.dialect.isNotIn("?1", as: .integer)) AND \(condition) LIMIT ?
                    """, [left] + values
                ).map(QueuedMail.init)
            }
            let fresh = try mails(by: "mailsFresh", "attempts = 0 ORDER BY id", [.int(Int64(freshMax))])
            let retries = try mails(
                by: "mailsTried", "attempts > 0 AND dueAt <= ? ORDER BY dueAt",
                [.int(Timestamp.now.milliseconds), .int(Int64(retries))])
            return fresh + retries
        }
    }

    /// A replica of a newer release may have queued one that this one does not know.
    private static let isKnown: (sql: String, arguments: [SQLValue]) = {
        let names = MailComposer.known.sorted()
        return ("template IN (\(names.map { _ in "?" }.joined(separator: ", ")))", names.map(SQLValue.text))
    }()

    private func claim(
        _ condition: String, orderedBy order: String, limit: Int, for time: Duration
    ) async throws -> [QueuedMail] {
        guard limit > 0 else { return [] }
        let claim = RowClaim(
            QueuedMail.columns, of: "mails", where: "state = 'queued' AND \(condition) AND \(Self.isKnown.sql)",
            Self.isKnown.arguments, orderedBy: order, limit: limit, for: time)
        return try await store.claim(claim).map(QueuedMail.init).sorted { $0.id < $1.id }
    }

    /// Leaves mails to whoever sends next, for which there is no time any more.
    package func giveBack(_ ids: [Int64]) async throws {
        guard claimedFor != nil, !ids.isEmpty else { return }
        try await store.write { transaction in
            for id in ids {
                try transaction.execute(
                    "UPDATE mails SET dueAt = ? WHERE id = ? AND state = 'queued'",
                    [.int(transaction.now.milliseconds), .int(id)])
            }
        }
    }

    /// When the next mail that was tried before is tried again; nil when none waits for that.
    /// - Parameter underWay: mails to leave out.
    func nextAttempt(underWay: [Int64]) async throws -> Timestamp? {
        let left = SQLValue.text(JSON.array(underWay.map(JSON.int)).serializedText)
        return try await store.read {
            try $0.rows(
                """
                SELECT min(dueAt) AS dueAt FROM mails\($0.dialect.using(index: "mailsTried"))
                WHERE state = 'queued' AND attempts > 0 AND id\($0.dialect.isNotIn("?", as: .integer))
                """, [left]
            ).first?["dueAt"].intValue.map { Timestamp(milliseconds: $0) }
        }
    }

    func record(_ id: Int64, _ step: RetrySchedule.Step) async throws {
        try await store.write { transaction in
            let now = transaction.now
            func set(_ change: String, _ values: [SQLValue]) throws {
                try transaction.execute(
                    "UPDATE mails SET \(change) WHERE id = ? AND state = 'queued'", values + [.int(id)])
            }
            switch step {
            case .sent:
                try set(
                    "state = 'sent', attempts = attempts + 1, sentAt = ?, problem = NULL, model = ?",
                    [.int(now.milliseconds), .blob([])])
            case .again(let pause, let problem):
                try set(
                    "attempts = attempts + 1, dueAt = ?, problem = ?",
                    [.int(now.advanced(by: pause).milliseconds), .text(problem)])
            case .bounced(let problem):
                try set(
                    "state = 'bounced', attempts = attempts + 1, dueAt = ?, problem = ?",
                    [.int(now.milliseconds), .text(problem)])
                try SuppressionList.add(addressOf: id, reason: problem, in: transaction)
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

    /// The time for which the content of a mail that was not sent is kept, for an operator who wants to try again.
    private static let contentKept = Duration.seconds(7 * 86_400)

    /// Removes what mails say that are not going to be sent any more.
    package static func forgetContent(in transaction: StoreTransaction) throws {
        try transaction.execute(
            """
            UPDATE mails SET model = ? WHERE state <> 'queued' AND length(model) > 0 AND (state = 'sent' OR dueAt < ?)
            """,
            [.blob([]), .int(transaction.now.advanced(by: .zero - contentKept).milliseconds)])
    }
}
