import Foundation
import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import SwiftProtobuf
import Synchronization

/// Messages that must not be lost: stored in the transaction that causes them, sent until the receiver says it has
/// them.
///
/// A receiver sees a message at least once and counts it once, by the key (`KeyedReplies`).
public final class Outbox: Sendable {
    /// Messages sent at once. The receiver commits them as one group.
    private static let batchMax: Int64 = 64

    private let store: ClassStore
    private let bus: BusEndpoint
    private let background: BackgroundGroup
    private let logger: Logger
    /// Destinations that a delivery is under way to.
    private let busy = Mutex<Set<String>>([])
    private let wakeUp = WakeUp()
    /// The tasks that wait for a delivery, by the message's key.
    private let waiters = Mutex<[String: [UUID: AsyncStream<Void>.Continuation]]>([:])

    init(store: ClassStore, bus: BusEndpoint, background: BackgroundGroup, logger: Logger) {
        self.store = store
        self.bus = bus
        self.background = background
        self.logger = logger
    }

    /// Adds a message to the transaction. `key` names what happened (`order:<id>:mail`); a second message of that key
    /// is ignored.
    public func add<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, key: String, in transaction: StoreTransaction
    ) throws {
        _ = try transaction.execute(
            "INSERT INTO outbox(key, kind, body, dueAt) VALUES (?, ?, ?, ?) ON CONFLICT(key) DO NOTHING",
            [
                .text(KeyedReplies.outboxPrefix + key), .text(call.kind), .blob(try message.serializedBytes()),
                .int(transaction.now.milliseconds),
            ])
        transaction.afterCommit { [wakeUp] in wakeUp.ring() }
    }

    /// Waits until the message of a committed transaction was delivered, for answers that are better when the other
    /// service already knows. Whether it was or not, it will be.
    /// - Returns: false when the time was over first.
    @discardableResult
    public func waitUntilDelivered(key: String, within limit: Duration) async -> Bool {
        let key = KeyedReplies.outboxPrefix + key
        let id = UUID()
        let (deliveries, continuation) = AsyncStream<Void>.makeStream()
        waiters.withLock { $0[key, default: [:]][id] = continuation }
        defer {
            waiters.withLock { waiters in
                waiters[key]?[id] = nil
                if waiters[key]?.isEmpty == true { waiters[key] = nil }
            }
        }
        // After the registration: a delivery in between is either seen here or reported there.
        let isStored = try? await store.read {
            try !$0.rows("SELECT 1 FROM outbox WHERE key = ?", [.text(key)]).isEmpty
        }
        guard isStored ?? true else { return true }
        let timer = Task {
            try? await Task.sleep(for: limit)
            continuation.finish()
        }
        defer { timer.cancel() }
        for await _ in deliveries { return true }
        return false
    }

    /// Delivering, which only the writer does. The interval finds rows whose next attempt is due, and what an earlier
    /// process left.
    package var work: BackgroundWork {
        BackgroundWork(
            "outbox", every: .milliseconds(500), problem: "The outbox could not be read.", logger: logger,
            wakeUp: wakeUp
        ) { [self] in
            for destination in try await dueDestinations() where busy.withLock({ $0.insert(destination).inserted }) {
                // A message stays stored until it was taken, and may be for this very service, which takes nothing any
                // more.
                background.begin(isAwaited: false) { [self] in await deliver(to: destination) }
            }
            return .idle
        }
    }

    /// The services that messages are due for.
    private func dueDestinations() async throws -> [String] {
        try await store.read {
            try $0.rows(
                "SELECT DISTINCT substr(kind, 1, instr(kind, '.')) AS destination FROM outbox WHERE dueAt <= ?",
                [.int(Timestamp.now.milliseconds)]
            ).compactMap { try $0.text("destination") }
        }
    }

    /// Delivers to one service until nothing is due for it. Each has its own turn, so that one that is down delays
    /// nobody else.
    private func deliver(to destination: String) async {
        do {
            while !Task.isCancelled, try await deliverDue(to: destination) > 0 {}
        } catch {
            if !Task.isCancelled {
                logger.error(
                    "The outbox could not be delivered.",
                    metadata: ["outbox.to": "\(destination)", "error": "\(error)"])
            }
        }
        _ = busy.withLock { $0.remove(destination) }
    }

    /// Sends what has been due longest and returns how much that was. What failed is due again later, so that it delays
    /// nothing newer.
    private func deliverDue(to destination: String) async throws -> Int {
        let messages = try await store.read {
            try $0.rows(
                """
                SELECT id, key, kind, body, attempts FROM outbox WHERE dueAt <= ? AND substr(kind, 1, ?) = ? \
                ORDER BY dueAt, id LIMIT ?
                """,
                [
                    .int(Timestamp.now.milliseconds), .int(Int64(destination.utf8.count)), .text(destination),
                    .int(Self.batchMax),
                ]
            ).map(Waiting.init)
        }
        guard !messages.isEmpty else { return 0 }
        let outcomes = await withTaskGroup(of: (Int64, Delivery).self) { group in
            for message in messages { group.addTask { [self] in (message.id, await send(message)) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        try await store.write { transaction in
            for (id, outcome) in outcomes {
                switch outcome {
                case .delivered:
                    _ = try transaction.execute("DELETE FROM outbox WHERE id = ?", [.int(id)])
                case .again(let after, let problem):
                    _ = try transaction.execute(
                        "UPDATE outbox SET attempts = attempts + 1, dueAt = ?, lastProblem = ? WHERE id = ?",
                        [.int(transaction.now.advanced(by: after).milliseconds), .text(problem), .int(id)])
                }
            }
        }
        let delivered = Set(outcomes.filter { $0.1 == .delivered }.map(\.0))
        waiters.withLock { waiters in
            guard !waiters.isEmpty else { return }
            for message in messages where delivered.contains(message.id) {
                waiters[message.key]?.values.forEach { $0.yield() }
            }
        }
        return messages.count
    }

    private enum Delivery: Equatable {
        case delivered
        case again(after: Duration, problem: String)
    }

    /// A row of the outbox.
    private struct Waiting: Sendable {
        let id: Int64
        let key: String
        let kind: String
        let body: [UInt8]
        let attempts: Int

        init(_ row: SQLRow) throws {
            id = try row.int("id")
            key = try row.text("key")
            kind = try row.text("kind")
            body = try row.blob("body")
            attempts = Int(try row.int("attempts"))
        }
    }

    private func send(_ message: Waiting) async -> Delivery {
        let request = BusRequest(outbox: message.kind, body: message.body, key: message.key)
        do {
            _ = try await bus.call(request)
            return .delivered
        } catch {
            let attempts = message.attempts + 1
            logger.warning(
                "A message was not delivered and is sent again.",
                metadata: ["outbox.kind": "\(message.kind)", "outbox.attempts": "\(attempts)", "error": "\(error)"])
            return .again(after: Self.pause(afterAttempts: attempts), problem: "\(error)")
        }
    }

    /// Doubles from half a second to a minute.
    package static func pause(afterAttempts attempts: Int) -> Duration {
        .milliseconds(min(60_000, 250 << min(attempts, 12)))
    }
}

extension BusRequest {
    fileprivate init(outbox kind: String, body: [UInt8], key: String) {
        self.init(kind: kind, body: body)
        principal = .satchel
        writes = true
        idempotencyKey = key
    }
}
