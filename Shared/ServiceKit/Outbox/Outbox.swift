import Foundation
import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
import SwiftProtobuf
import Synchronization

/// Messages to other services that must not be lost: stored in the transaction that causes them, and sent until the
/// receiver acknowledges them. Each service has one (`ServiceHost.outbox`).
///
/// A receiver gets a message at least once and processes it once, by its key (`KeyedReplies`). Waiting messages to the
/// same service travel in one bus message (`OutboxParcels`).
public final class Outbox: Sendable {
    /// Messages sent to a service at a time.
    private static let batchMax = OutboxParcels.messagesMax
    private let store: ClassStore
    private let bus: BusEndpoint
    private let background: BackgroundGroup
    private let logger: Logger
    private let turns = Mutex(OutboxDeliveries())
    private let book: OutboxOutcomes
    private let parked: ParkedMessages
    private let looks: Mutex<OutboxSchedule>
    /// Whether other processes also add and deliver messages. Each delivers its own, and those left by dead processes.
    private let isShared: Bool
    /// Lease on messages being delivered: the duration of a bus call, plus time to store the outcome.
    private static let claimedFor = Duration.seconds(20)
    private let wakeUp = WakeUp()
    /// The oldest message when figures were last read, and since when it was seen.
    private let oldest = Mutex<(key: String, since: ContinuousClock.Instant)?>(nil)
    /// Continuations of tasks that wait for a delivery, by the message's key.
    private let waiters = Mutex<[String: [UUID: AsyncStream<Void>.Continuation]]>([:])

    init(
        store: ClassStore, bus: BusEndpoint, background: BackgroundGroup, writers: StoreWriters = .one, logger: Logger
    ) {
        isShared = writers == .every
        let pause = isShared ? OutboxSchedule.sharedPauseMax : OutboxSchedule.pauseMax
        looks = Mutex(OutboxSchedule(now: .now, atLeastEvery: pause))
        self.store = store
        self.bus = bus
        self.background = background
        self.logger = logger
        parked = ParkedMessages(store: store, logger: logger)
        book = OutboxOutcomes(store: store, parked: parked)
    }

    /// Adds a message to the transaction. `key` names the event (`order:<id>:mail`); a second message with that key is
    /// ignored.
    public func add<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, key: String, in transaction: StoreTransaction
    ) throws {
        _ = try transaction.execute(
            "INSERT INTO outbox(key, kind, body, dueAt, trace) VALUES (?, ?, ?, ?, ?) ON CONFLICT(key) DO NOTHING",
            [
                .text(KeyedReplies.outboxPrefix + key), .text(call.kind), .blob(try message.serializedBytes()),
                .int(transaction.now.milliseconds),
                (RequestTrace.current?.context?.text).map(SQLValue.text) ?? .null,
            ])
        let destination = call.service
        transaction.afterCommit { [self] in
            turns.withLock { $0.added(for: destination) }
            wakeUp.ring()
        }
    }

    /// The waiting and parked messages, for operators.
    func figures(_ reader: StoreReader) throws -> [Figure] {
        let waiting = try reader.rows("SELECT count(*) AS count FROM outbox").first?.int("count") ?? 0
        let parked = try reader.rows("SELECT count(*) AS count FROM parkedMessages").first?.int("count") ?? 0
        let key = try reader.rows("SELECT key FROM outbox ORDER BY id LIMIT 1").first?.text("key")
        let age = oldest.withLock { oldest -> Duration in
            guard let key else {
                oldest = nil
                return .zero
            }
            let now = ContinuousClock.now
            if oldest?.key != key { oldest = (key: key, since: now) }
            return oldest.map { now - $0.since } ?? .zero
        }
        return [
            Figure(.outboxMessages, Double(waiting), ["state": "waiting"]),
            Figure(.outboxMessages, Double(parked), ["state": "parked"]),
            Figure(.outboxAge, age / .seconds(1)),
        ]
    }

    /// Waits until a committed message is delivered, for replies that are better when the other service already has it.
    /// The message is delivered eventually in either case.
    /// - Parameter share: the share of the request whose reply waits.
    /// - Returns: false on timeout, also for a message that is parked.
    @discardableResult
    public func waitUntilDelivered(key: String, within limit: Duration, for share: WorkShare?) async -> Bool {
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
        // Checked after the registration: an earlier delivery is seen here, a later one is reported to the
        // continuation.
        guard (try? await isStored(key, share)) ?? true else { return true }
        let timer = Task {
            try? await Task.sleep(for: limit)
            continuation.finish()
        }
        defer { timer.cancel() }
        let watcher = isShared ? Task { await untilGone(key, share) { continuation.yield() } } : nil
        defer { watcher?.cancel() }
        for await _ in deliveries { return true }
        return false
    }

    /// Whether a message waits or is parked.
    private func isStored(_ key: String, _ share: WorkShare?) async throws -> Bool {
        try await store.read(for: share) {
            try !$0.rows(
                "SELECT 1 AS found FROM outbox WHERE key = ?1 UNION ALL SELECT 1 FROM parkedMessages WHERE key = ?1",
                [.text(key)]
            ).isEmpty
        }
    }

    /// Polls until a message is no longer stored: another process may deliver it without notifying this one.
    private func untilGone(_ key: String, _ share: WorkShare?, _ tell: () -> Void) async {
        while (try? await Task.sleep(for: ServiceHost.sharedPause)) != nil {
            if (try? await isStored(key, share)) == false { return tell() }
        }
    }

    /// The background work that delivers messages, in each process that writes.
    package var work: BackgroundWork {
        BackgroundWork(
            "outbox", every: OutboxSchedule.pauseMax, problem: "The outbox could not be read.", logger: logger,
            wakeUp: wakeUp
        ) { [self] in
            guard !isShared || store.mayWrite else { return .due(in: OutboxSchedule.sharedPauseMax) }
            let due = try await dueDestinations()
            for destination in turns.withLock({ $0.begin(due: due) }) {
                // In a service with one writer, stopping cuts off a delivery: its messages remain stored. The receiver
                // may be this very service, which accepts no more requests. In a shared outbox the messages are
                // released first.
                let hasBegun = background.begin(isAwaited: isShared) { [self] in await deliver(to: destination) }
                if !hasBegun { turns.withLock { $0.failed(for: destination) } }
            }
            return .due(in: looks.withLock { $0.pause(at: .now) })
        }
    }

    /// The background work that parks messages which their receivers refuse.
    /// - Parameters:
    ///   - mayWork: whether this process is responsible for it.
    ///   - tell: called with the number of parked messages.
    package func parking(
        mayWork: @escaping @Sendable () -> Bool, tell: @escaping @Sendable (Int64) -> Void
    ) -> BackgroundWork {
        parked.work(
            mayWork: mayWork,
            returned: { [self] in
                looksAgain(in: .zero)
                wakeUp.ring()
            }, tell: tell)
    }

    /// The messages that their receivers refuse, for operators.
    package var parkedKind: ParkedKind {
        parked.kind { [self] destination in
            turns.withLock { $0.added(for: destination) }
            wakeUp.ring()
        }
    }

    /// The services with due messages; empty when it is not yet time to check.
    private func dueDestinations() async throws -> [String] {
        guard looks.withLock({ $0.begins(at: .now) }) else { return [] }
        do {
            let now = Timestamp.now.milliseconds
            let (due, next) = try await store.read(for: nil) { reader in
                let due = try reader.rows("SELECT DISTINCT kind FROM outbox WHERE dueAt <= ?", [.int(now)])
                let next = try reader.rows("SELECT min(dueAt) AS dueAt FROM outbox WHERE dueAt > ?", [.int(now)])
                let services = Set(try due.map { String(try $0.text("kind").prefix { $0 != "." }) })
                return (Array(services), try next.first?["dueAt"].intValue)
            }
            if let next { looksAgain(in: .milliseconds(next - now)) }
            return due
        } catch {
            looksAgain(in: OutboxSchedule.pauseMin)
            throw error
        }
    }

    private func looksAgain(in pause: Duration) { looks.withLock { $0.again(in: pause, at: .now) } }

    /// Delivers to one service until none of its messages is due. Each service has a separate delivery, so that a
    /// service that is down delays no other.
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
            looksAgain(in: OutboxSchedule.pauseMin)
            wakeUp.ring()
            if !Task.isCancelled {
                logger.error(
                    "The outbox could not be delivered.",
                    metadata: ["outbox.to": "\(destination)", "error": "\(error)"])
            }
        }
    }

    /// Sends the messages that have been due longest. A failed message becomes due again later and delays no newer
    /// ones.
    /// - Returns: whether there may be more.
    private func deliverDue(to destination: String) async throws -> Bool {
        let messages = try await due(for: destination)
        guard !messages.isEmpty else { return false }
        let parcels = OutboxParcels.packed(messages.map { ($0.body.count, $0.attempts) })
            .map { indices in indices.map { messages[$0] } }
        var outcomes = await withTaskCancellationHandler {
            await withTaskGroup(of: [Outcome].self) { group in
                for parcel in parcels { group.addTask { [self] in await send(parcel, to: destination) } }
                return await group.reduce(into: []) { $0 += $1 }
            }
        } onCancel: {
            // The process must not wait for a receiver that does not respond.
            if isShared { Task { [self] in try await giveBack(messages) } }
        }
        let sent = outcomes.count
        if isShared, sent < messages.count {
            let known = Set(outcomes.map(\.id))
            outcomes += messages.filter { !known.contains($0.id) }.map { ($0.id, .givenBack(dueAt: $0.dueAt)) }
        }
        let isUrgent = waiters.withLock { waiters in messages.contains { waiters[$0.key] != nil } }
        try await book.note(outcomes, isUrgent: isUrgent)
        let pauses = outcomes.compactMap { if case .again(let pause, _, _) = $0.outcome { pause } else { nil } }
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

    /// The messages that have been due longest, in that order. In a shared outbox this process leases them.
    private func due(for destination: String) async throws -> [Waiting] {
        let columns = "id, key, kind, body, attempts, trace"
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
        return try await store.read(for: nil) { reader in
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
        let trace: TraceContext?

        init(_ row: SQLRow, dueAt: Int64) throws {
            self.dueAt = dueAt
            id = try row.int("id")
            key = try row.text("key")
            kind = try row.text("kind")
            body = try row.blob("body")
            attempts = Int(try row.int("attempts"))
            trace = try row["trace"].textValue.flatMap { TraceContext($0) }
        }

        /// Begins the span of the delivery.
        func beginSpan() -> RunningSpan? { RunningSpan("deliver \(kind)", .producer, of: trace) }
    }

    /// The outcome of a message, by its row's id.
    private typealias Outcome = (id: Int64, outcome: OutboxOutcomes.Outcome)

    private func send(_ parcel: [Waiting], to destination: String) async -> [Outcome] {
        if let first = parcel.first, parcel.count == 1 { return [await send(first)] }
        let spans = parcel.map { $0.beginSpan() }
        var faults = parcel.map { _ in true }
        defer { for (span, isFault) in zip(spans, faults) { span?.end(isError: isFault) } }
        do {
            let traces = zip(parcel, spans).map { $1?.context ?? $0.trace }
            let reply = try await bus.call(try Self.request(parcel, traces, to: destination))
            let outcomes = try DeliverReply(serializedBytes: reply.body).outcomes
            guard outcomes.count == parcel.count else { throw ParseError.internalError }
            faults = outcomes.map(\.hasFailure)
            return zip(parcel, outcomes).map { message, outcome in
                outcome.hasFailure ? again(message, BusFailure(outcome.failure)) : (message.id, .delivered)
            }
        } catch let failure as BusFailure where failure.isOfUnknownKind {
            // The receiver runs an earlier release.
            return await withTaskGroup(of: Outcome.self) { group in
                for message in parcel { group.addTask { [self] in await send(message) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        } catch {
            return parcel.map { again($0, error) }
        }
    }

    private func send(_ message: Waiting) async -> Outcome {
        let span = message.beginSpan()
        var isFault = true
        defer { span?.end(isError: isFault) }
        do {
            var request = BusRequest(outbox: message.kind, body: message.body, key: message.key)
            request.trace = span?.context ?? message.trace
            _ = try await bus.call(request)
            isFault = false
            return (message.id, .delivered)
        } catch {
            return again(message, error)
        }
    }

    /// A bus request with several messages, each under its own key. The key of the parcel only marks it as repeatable.
    private static func request(
        _ parcel: [Waiting], _ traces: [TraceContext?], to destination: String
    ) throws -> BusRequest {
        let message = DeliverRequest.with {
            $0.messages = zip(parcel, traces).map { message, trace in
                .with {
                    $0.kind = message.kind
                    $0.key = message.key
                    $0.body = Data(message.body)
                    $0.traceParent = trace?.text ?? ""
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
        let outcome = OutboxOutcomes.Outcome.again(
            after: Self.pause(afterAttempts: attempts), problem: "\(error)",
            isRefusal: ParkedMessages.isRefusal(error))
        return (message.id, outcome)
    }

    private static let backoff = Backoff(first: .milliseconds(500), longest: .seconds(60))

    /// A lease is shorter than the longest pause.
    static let waits = StoredWaits("dueAt", of: "outbox", atMost: backoff.longest)

    /// The backoff: doubles from half a second to a minute.
    package static func pause(afterAttempts attempts: Int) -> Duration {
        backoff.pause(afterFailures: attempts)
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
