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
/// A receiver sees a message at least once and counts it once, by the key (`KeyedReplies`). Messages to one service
/// that wait together travel in one message of the bus (`OutboxParcels`).
public final class Outbox: Sendable {
    /// Messages sent to a service at once.
    private static let batchMax = OutboxParcels.messagesMax
    private let store: ClassStore
    private let bus: BusEndpoint
    private let background: BackgroundGroup
    private let logger: Logger
    private let turns = Mutex(OutboxTurns())
    private let book: OutboxBook
    private let looks: Mutex<OutboxLooks>
    /// Whether other processes add and deliver messages too. Each delivers what it adds, and what others left.
    private let isShared: Bool
    /// The time for which messages are nobody else's: that of a call to the bus, and some to store what became of it.
    private static let claimedFor = Duration.seconds(20)
    private let wakeUp = WakeUp()
    /// The tasks that wait for a delivery, by the message's key.
    private let waiters = Mutex<[String: [UUID: AsyncStream<Void>.Continuation]]>([:])

    init(
        store: ClassStore, bus: BusEndpoint, background: BackgroundGroup, writers: StoreWriters = .one, logger: Logger
    ) {
        isShared = writers == .every
        let pause = isShared ? OutboxLooks.sharedPauseMax : OutboxLooks.pauseMax
        looks = Mutex(OutboxLooks(now: .now, atLeastEvery: pause))
        self.store = store
        self.bus = bus
        self.background = background
        self.logger = logger
        book = OutboxBook(store: store)
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
        let destination = call.service
        transaction.afterCommit { [self] in
            turns.withLock { $0.added(for: destination) }
            wakeUp.ring()
        }
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
        let watcher = isShared ? Task { await untilGone(key) { continuation.yield() } } : nil
        defer { watcher?.cancel() }
        for await _ in deliveries { return true }
        return false
    }

    /// Looks until a message is not stored any more: another process may deliver it, which tells nobody here.
    private func untilGone(_ key: String, _ tell: () -> Void) async {
        while (try? await Task.sleep(for: ServiceHost.sharedPause)) != nil {
            let isGone = try? await store.read {
                try $0.rows("SELECT 1 AS found FROM outbox WHERE key = ?", [.text(key)]).isEmpty
            }
            if isGone == true { return tell() }
        }
    }

    /// Delivering, by each process that writes.
    package var work: BackgroundWork {
        BackgroundWork(
            "outbox", every: OutboxLooks.pauseMax, problem: "The outbox could not be read.", logger: logger,
            wakeUp: wakeUp
        ) { [self] in
            guard !isShared || store.mayWrite else { return .due(in: OutboxLooks.sharedPauseMax) }
            let due = try await dueDestinations()
            for destination in turns.withLock({ $0.begin(due: due) }) {
                // At the end of the process one that is under way is cut off: its messages stay stored, and may be for
                // this very service, which takes nothing any more. Claimed ones are given back first.
                let hasBegun = background.begin(isAwaited: isShared) { [self] in await deliver(to: destination) }
                if !hasBegun { turns.withLock { $0.failed(for: destination) } }
            }
            return .due(in: looks.withLock { $0.pause(at: .now) })
        }
    }

    /// The services that messages are due for, when it is time to look for them.
    private func dueDestinations() async throws -> [String] {
        guard looks.withLock({ $0.begins(at: .now) }) else { return [] }
        do {
            let now = Timestamp.now.milliseconds
            let (due, next) = try await store.read { reader in
                let due = try reader.rows("SELECT DISTINCT kind FROM outbox WHERE dueAt <= ?", [.int(now)])
                let next = try reader.rows("SELECT min(dueAt) AS dueAt FROM outbox WHERE dueAt > ?", [.int(now)])
                let services = Set(try due.map { String(try $0.text("kind").prefix { $0 != "." }) })
                return (Array(services), try next.first?["dueAt"].intValue)
            }
            if let next { looksAgain(in: .milliseconds(next - now)) }
            return due
        } catch {
            looksAgain(in: OutboxLooks.pauseMin)
            throw error
        }
    }

    private func looksAgain(in pause: Duration) { looks.withLock { $0.again(in: pause, at: .now) } }

    /// Delivers to one service until nothing is due for it. Each has its own turn, so that one that is down delays
    /// nobody else.
    private func deliver(to destination: String) async {
        do {
            repeat {
                var isMore = true
                while !Task.isCancelled, isMore {
                    turns.withLock { $0.looks(for: destination) }
                    isMore = try await deliverDue(to: destination)
                }
            } while !Task.isCancelled && !turns.withLock({ $0.ends(for: destination) })
        } catch {
            turns.withLock { $0.failed(for: destination) }
            looksAgain(in: OutboxLooks.pauseMin)
            wakeUp.ring()
            if !Task.isCancelled {
                logger.error(
                    "The outbox could not be delivered.",
                    metadata: ["outbox.to": "\(destination)", "error": "\(error)"])
            }
        }
    }

    /// Sends what has been due longest. What failed is due again later, so that it delays nothing newer.
    /// - Returns: whether there may be more.
    private func deliverDue(to destination: String) async throws -> Bool {
        let messages = try await due(for: destination)
        guard !messages.isEmpty else { return false }
        let parcels = OutboxParcels.packed(messages.map { ($0.body.count, $0.attempts) })
            .map { places in places.map { messages[$0] } }
        var outcomes = await withTaskCancellationHandler {
            await withTaskGroup(of: [Outcome].self) { group in
                for parcel in parcels { group.addTask { [self] in await send(parcel, to: destination) } }
                return await group.reduce(into: []) { $0 += $1 }
            }
        } onCancel: {
            // A receiver that does not answer is waited for no longer than the process is.
            if isShared { Task { [self] in try await giveBack(messages) } }
        }
        let sent = outcomes.count
        if isShared, sent < messages.count {
            let known = Set(outcomes.map(\.id))
            outcomes += messages.filter { !known.contains($0.id) }.map { ($0.id, .givenBack(dueAt: $0.dueAt)) }
        }
        let isUrgent = waiters.withLock { waiters in messages.contains { waiters[$0.key] != nil } }
        try await book.note(outcomes, isUrgent: isUrgent)
        let pauses = outcomes.compactMap { if case .again(let pause, _) = $0.outcome { pause } else { nil } }
        if let pause = pauses.min() {
            looksAgain(in: pause)
            wakeUp.ring()
        }
        let delivered = Set(outcomes.filter { $0.outcome == .delivered }.map { $0.id })
        waiters.withLock { waiters in
            guard !waiters.isEmpty else { return }
            for message in messages where delivered.contains(message.id) {
                waiters[message.key]?.values.forEach { $0.yield() }
            }
        }
        return messages.count == Self.batchMax || sent < messages.count
    }

    private func giveBack(_ messages: [Waiting]) async throws {
        try await book.note(messages.map { ($0.id, .givenBack(dueAt: $0.dueAt)) }, isUrgent: true)
    }

    /// What has been due longest, in that order; where others deliver too it is theirs no more for a while.
    private func due(for destination: String) async throws -> [Waiting] {
        let columns = "id, key, kind, body, attempts"
        let prefix = destination + "."
        let isMine = "substr(kind, 1, ?) = ?"
        let values: [SQLValue] = [.int(Int64(prefix.utf8.count)), .text(prefix)]
        if isShared {
            let claim = RowClaim(
                columns, of: "outbox", where: isMine, values, orderedBy: "dueAt, id", limit: Self.batchMax,
                for: Self.claimedFor)
            return try await store.claim(claim).map { try Waiting($0, dueAt: $0.int("wasDueAt")) }
                .sorted { ($0.dueAt, $0.id) < ($1.dueAt, $1.id) }
        }
        return try await store.read { reader in
            try reader.rows(
                "SELECT \(columns), dueAt FROM outbox WHERE dueAt <= ? AND \(isMine) ORDER BY dueAt, id LIMIT ?",
                [.int(Timestamp.now.milliseconds)] + values + [.int(Int64(Self.batchMax))]
            ).map { try Waiting($0, dueAt: $0.int("dueAt")) }
        }
    }

    /// A row of the outbox.
    private struct Waiting: Sendable {
        let id: Int64
        let key: String
        let kind: String
        let body: [UInt8]
        let attempts: Int
        let dueAt: Int64

        init(_ row: SQLRow, dueAt: Int64) throws {
            self.dueAt = dueAt
            id = try row.int("id")
            key = try row.text("key")
            kind = try row.text("kind")
            body = try row.blob("body")
            attempts = Int(try row.int("attempts"))
        }
    }

    /// The outcome of a message, by its row's id.
    private typealias Outcome = (id: Int64, outcome: OutboxBook.Outcome)

    private func send(_ parcel: [Waiting], to destination: String) async -> [Outcome] {
        if let first = parcel.first, parcel.count == 1 { return [await send(first)] }
        do {
            let reply = try await bus.call(try Self.request(parcel, to: destination))
            let outcomes = try DeliverReply(serializedBytes: reply.body).outcomes
            guard outcomes.count == parcel.count else { throw ParseError.internalError }
            return zip(parcel, outcomes).map { message, outcome in
                outcome.hasFailure ? again(message, BusFailure(outcome.failure)) : (message.id, .delivered)
            }
        } catch let failure as BusFailure where failure.isOfUnknownKind {
            // A receiver of an earlier release.
            return await withTaskGroup(of: Outcome.self) { group in
                for message in parcel { group.addTask { [self] in await send(message) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        } catch {
            return parcel.map { again($0, error) }
        }
    }

    private func send(_ message: Waiting) async -> Outcome {
        do {
            _ = try await bus.call(BusRequest(outbox: message.kind, body: message.body, key: message.key))
            return (message.id, .delivered)
        } catch {
            return again(message, error)
        }
    }

    /// Each message under its own key. That of the parcel only says that it may be repeated.
    private static func request(_ parcel: [Waiting], to destination: String) throws -> BusRequest {
        let message = DeliverRequest.with {
            $0.messages = parcel.map { message in
                .with {
                    $0.kind = message.kind
                    $0.key = message.key
                    $0.body = Data(message.body)
                }
            }
        }
        let kind = DeliveryCalls(to: destination).deliver.kind
        return BusRequest(outbox: kind, body: try message.serializedBytes(), key: parcel.first?.key ?? "")
    }

    private func again(_ message: Waiting, _ error: any Error) -> Outcome {
        let attempts = message.attempts + 1
        logger.warning(
            "A message was not delivered and is sent again.",
            metadata: ["outbox.kind": "\(message.kind)", "outbox.attempts": "\(attempts)", "error": "\(error)"])
        return (message.id, .again(after: Self.pause(afterAttempts: attempts), problem: "\(error)"))
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
        shared = Calls.spreadingKinds.contains(kind)
        idempotencyKey = key
    }
}
