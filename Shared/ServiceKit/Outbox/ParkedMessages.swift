import Logging
import MessageBus
import ObjectStore
import ParseProtocol
import Synchronization

/// Outbox messages that their receivers refuse repeatedly. They are moved to a separate table and sent again when an
/// operator retries them, or when a process of the service becomes the writer, that is after a restart or an upgrade.
package final class ParkedMessages: Sendable {
    /// Refusals after which a message is parked; this takes about 15 minutes.
    package static let refusalsMax: Int64 = 20
    /// Messages returned to the outbox per transaction.
    private static let returnedAtOnce: Int64 = 200

    private let store: ClassStore
    private let logger: Logger
    private let wakeUp = WakeUp()
    private let haveReturned = Atomic(false)

    init(store: ClassStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Whether the receiver is expected to give the same reply again. Temporary failures reported by the bus or the
    /// receiver are not refusals.
    package static func isRefusal(_ error: any Error) -> Bool {
        guard let failure = (error as? BusFailure)?.failure, !failure.retriable else { return false }
        return !ParseError.Code(rawValue: Int(failure.code)).isTemporary
    }

    /// Moves a message from the outbox to the parked messages.
    func park(_ id: Int64, _ problem: String, in transaction: StoreTransaction) throws {
        let rows = try transaction.rows("SELECT key, kind, body, trace FROM outbox WHERE id = ?", [.int(id)])
        guard let row = rows.first else { return }
        _ = try transaction.execute(
            """
            INSERT INTO parkedMessages(key, kind, body, problem, parkedAt, trace) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT(key) DO NOTHING
            """,
            [
                row["key"], row["kind"], row["body"], .text(problem), .int(transaction.now.milliseconds), row["trace"],
            ])
        _ = try transaction.execute("DELETE FROM outbox WHERE id = ?", [.int(id)])
        let kind = try row.text("kind")
        transaction.afterCommit { [self] in
            logger.error(
                "A message is refused by its receiver and is parked. It is sent again after a restart.",
                metadata: ["outbox.kind": "\(kind)", "error": "\(problem)"])
            wakeUp.ring()
        }
    }

    /// The background work that returns the parked messages to the outbox once, and then reports how many are parked.
    /// - Parameters:
    ///   - mayWork: whether this process is responsible for it.
    ///   - returned: called when messages are back in the outbox.
    ///   - tell: called with the number of parked messages.
    func work(
        mayWork: @escaping @Sendable () -> Bool, returned: @escaping @Sendable () -> Void,
        tell: @escaping @Sendable (Int64) -> Void
    ) -> BackgroundWork {
        BackgroundWork(
            "outbox.parked", every: .seconds(60), problem: "The parked messages could not be read.", logger: logger,
            wakeUp: wakeUp
        ) { [self] in
            guard mayWork() else { return .idle }
            if !haveReturned.load(ordering: .relaxed) {
                while try await store.write(for: nil, { [self] in try returnSome(in: $0) }) { returned() }
                haveReturned.store(true, ordering: .relaxed)
            }
            let count = try await store.read(for: nil) {
                try $0.rows("SELECT count(*) AS count FROM parkedMessages", []).first?.int("count")
            }
            tell(count ?? 0)
            return .idle
        }
    }

    /// The kind of parked work that operators see.
    /// - Parameter returned: called with the receiver of a message that is back in the outbox.
    func kind(returned: @escaping @Sendable (_ destination: String) -> Void) -> ParkedKind {
        // A message may move money: a dropped refund is lost.
        ParkedKind("message", for: [.developers], dropAreas: [.admins]) { limit, reader in
            try reader.rows("SELECT * FROM parkedMessages ORDER BY id DESC LIMIT ?", [.int(limit)]).map(Self.item)
        } count: { reader in
            try reader.rows("SELECT count(*) AS count FROM parkedMessages", []).first?.int("count") ?? 0
        } retry: { [self] id, transaction in
            guard let row = try take(id, in: transaction) else { return nil }
            // The next refusal parks it again. A message with an attempt travels alone.
            _ = try transaction.execute(
                """
                INSERT INTO outbox(key, kind, body, attempts, refusals, dueAt, trace) VALUES (?, ?, ?, 1, ?, ?, ?)
                ON CONFLICT(key) DO NOTHING
                """,
                [
                    row["key"], row["kind"], row["body"], .int(Self.refusalsMax - 1),
                    .int(transaction.now.milliseconds), row["trace"],
                ])
            let destination = try String(row.text("kind").prefix { $0 != "." })
            transaction.afterCommit { returned(destination) }
            return try Self.item(row)
        } drop: { [self] id, transaction in
            try take(id, in: transaction).map(Self.item)
        }
    }

    /// Removes a parked message. Nil when there is none with this id.
    private func take(_ id: String, in transaction: StoreTransaction) throws -> SQLRow? {
        guard let id = Int64(id),
            let row = try transaction.rows("SELECT * FROM parkedMessages WHERE id = ?", [.int(id)]).first
        else { return nil }
        _ = try transaction.execute("DELETE FROM parkedMessages WHERE id = ?", [.int(id)])
        transaction.afterCommit { [wakeUp] in wakeUp.ring() }
        return row
    }

    private static func item(_ row: SQLRow) throws -> ParkedKind.Item {
        let event = try row.text("key").dropFirst(KeyedReplies.outboxPrefix.count)
        return try ParkedKind.Item(
            id: String(row.int("id")), about: "\(row.text("kind")) \(event)", reason: row.text("problem"),
            since: Timestamp(milliseconds: row.int("parkedAt")), attempts: refusalsMax)
    }

    /// - Returns: whether there were any.
    private func returnSome(in transaction: StoreTransaction) throws -> Bool {
        let rows = try transaction.rows(
            "SELECT id, key, kind, body, trace FROM parkedMessages ORDER BY id LIMIT ?", [.int(Self.returnedAtOnce)])
        for row in rows {
            _ = try transaction.execute(
                "INSERT INTO outbox(key, kind, body, dueAt, trace) VALUES (?, ?, ?, ?, ?) ON CONFLICT(key) DO NOTHING",
                [row["key"], row["kind"], row["body"], .int(transaction.now.milliseconds), row["trace"]])
            _ = try transaction.execute("DELETE FROM parkedMessages WHERE id = ?", [row["id"]])
        }
        return !rows.isEmpty
    }
}
