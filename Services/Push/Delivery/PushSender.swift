import Logging
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// Sends deliveries that are due, in the process that writes. A row goes only after the provider has answered: what is
/// under way when the process dies is sent again, under the same name. A process that is told to stop waits for these
/// answers and writes them down.
package final class PushSender: Sendable {
    private struct Books {
        var underWay: Set<Int64> = []
        /// Answered, and not written down yet.
        var ended: [(delivery: Delivery, step: DeliveryMachine.Step)] = []
        /// Nothing more is begun.
        var isStopping = false

        var hasRoom: Bool { !isStopping && underWay.count < PushSender.underWayMax }
    }

    private let store: ClassStore
    private let provider: any PushProvider
    private let logger: Logger
    private let books = Mutex(Books())
    private let background: BackgroundGroup
    private let wakeUp = WakeUp()

    /// Notifications with the provider at once, and so the most that a crash repeats. APNs allows a connection about a
    /// thousand streams; 200 keep a connection busy over a round trip of 50 ms at 4,000 a second.
    static let underWayMax = 200
    /// Deliveries are due by the wall clock, which may be set forward.
    private static let pause = Duration.seconds(10)

    package init(store: ClassStore, provider: any PushProvider, background: BackgroundGroup, logger: Logger) {
        self.store = store
        self.provider = provider
        self.background = background
        self.logger = logger
    }

    /// There may be something to send.
    package func wake() { wakeUp.ring() }

    /// Sending and writing down.
    package var work: BackgroundWork {
        BackgroundWork(
            "push.send", every: Self.pause, problem: "The deliveries could not be worked on.", logger: logger,
            wakeUp: wakeUp
        ) { [self] in
            try await record()
            try await startDue()
            return .due(at: try await nextDue())
        }
    }

    /// Begins nothing more and waits until what is with the provider is answered and written down. What is not by then
    /// is sent again by the next process, under the same name.
    package func stop(within limit: Duration) async {
        books.withLock { $0.isStopping = true }
        let end = ContinuousClock.now + limit
        while !books.withLock({ $0.underWay.isEmpty }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
        }
        let left = books.withLock { $0.underWay.count }
        guard left > 0 else { return }
        logger.warning(
            "Notifications were not answered in time and are sent again.", metadata: ["push.count": "\(left)"])
    }

    // MARK: - Sending

    private func startDue() async throws {
        let busy = books.withLock { $0.underWay }
        // Reading for a handful at a time would cost more than it sends.
        guard busy.count <= Self.underWayMax * 3 / 4, books.withLock({ $0.hasRoom }) else { return }
        let rows = try await store.read { reader in
            try reader.rows(
                """
                SELECT d.*, coalesce(d.payload, p.payload) AS content, coalesce(p.isCancelled, 0) AS isCancelled
                FROM deliveries d
                LEFT JOIN pushes p ON p.id = d.push WHERE d.dueAt <= ? ORDER BY d.dueAt, d.id LIMIT ?
                """, [.int(Timestamp.now.milliseconds), .int(Int64(Self.underWayMax + busy.count))])
        }
        var payloads: [[UInt8]: PushPayload] = [:]
        for row in rows where try !busy.contains(row.int("id")) {
            guard books.withLock({ $0.hasRoom }) else { return }
            do {
                let content = try row.blob("content")
                let payload = try payloads[content] ?? PushPayload(stored: content)
                payloads[content] = payload
                start(try Delivery(row, payload))
            } catch {
                // Nothing that we stored; without this one row would stop all others.
                let id = try row.int("id")
                logger.error("A delivery cannot be read.", metadata: ["delivery.id": "\(id)"])
                try await store.write { _ = try $0.execute("DELETE FROM deliveries WHERE id = ?", [.int(id)]) }
            }
        }
    }

    /// When the next delivery is due; nil when none waits.
    private func nextDue() async throws -> Timestamp? {
        try await store.read {
            try $0.rows("SELECT min(dueAt) AS dueAt FROM deliveries", []).first?["dueAt"].intValue
                .map { Timestamp(milliseconds: $0) }
        }
    }

    private func start(_ delivery: Delivery) {
        books.withLock { _ = $0.underWay.insert(delivery.id) }
        var machine = DeliveryMachine(delivery)
        let first = machine.start(now: .now)
        guard first == .send else { return end(delivery, first) }
        let hasBegun = background.begin { [self, machine] in
            var machine = machine
            let answer = await provider.send(delivery)
            end(delivery, machine.answered(answer, now: .now))
        }
        if !hasBegun { books.withLock { _ = $0.underWay.remove(delivery.id) } }
    }

    private func end(_ delivery: Delivery, _ step: DeliveryMachine.Step) {
        books.withLock { $0.ended.append((delivery, step)) }
        wakeUp.ring()
    }

    // MARK: - Writing down

    /// Writes down everything that was answered since the last time, in one transaction.
    private func record() async throws {
        let ended = books.withLock { $0.ended }
        guard !ended.isEmpty else { return }
        try await store.write { transaction in
            for (delivery, step) in ended { try Self.record(step, of: delivery, in: transaction) }
            for push in Set(ended.map(\.delivery.push)) where !push.isEmpty {
                try PushProgress.settle(push, in: transaction)
                try PushProgress.refresh(push, in: transaction)
            }
        }
        let ids = Set(ended.map(\.delivery.id))
        books.withLock { work in
            work.ended.removeFirst(ended.count)
            work.underWay.subtract(ids)
        }
        report(ended)
    }

    private static func record(
        _ step: DeliveryMachine.Step, of delivery: Delivery, in transaction: StoreTransaction
    ) throws {
        switch step {
        case .send: break
        case .sent: try PushProgress.end(delivery, isSent: true, reason: "", in: transaction)
        case .failed(let reason): try PushProgress.end(delivery, isSent: false, reason: reason, in: transaction)
        case .tokenIsDead(let reason):
            try PushProgress.end(delivery, isSent: false, reason: reason, in: transaction)
            let stored = try transaction.documentIfFound("_Installation", delivery.installation, caller: .master)
            // The device may have got another one meanwhile.
            guard stored?["deviceToken"] == .string(delivery.token) else { return }
            do {
                _ = try transaction.nested {
                    try transaction.update(
                        "_Installation", delivery.installation, ["deviceToken": ["__op": "Delete"]], caller: .master)
                }
            } catch is ParseError {
                // A schema that demands a token keeps this one; it is refused again, and the others' answers are
                // written down.
            }
        case .again(let at, let reason):
            _ = try transaction.execute(
                "UPDATE deliveries SET attempts = attempts + 1, dueAt = ?, problem = ? WHERE id = ?",
                [.int(at.milliseconds), .text(reason), .int(delivery.id)])
        }
    }

    /// One line for a group and reason, not one for each device.
    private func report(_ ended: [(delivery: Delivery, step: DeliveryMachine.Step)]) {
        var problems: [String: Int] = [:]
        for (_, step) in ended {
            if case .again(_, let reason) = step { problems[reason, default: 0] += 1 }
        }
        for (reason, count) in problems {
            logger.warning(
                "Notifications were not sent and are tried again.",
                metadata: ["push.reason": "\(reason)", "push.count": "\(count)"])
        }
    }
}

extension Delivery {
    fileprivate init(_ row: SQLRow, _ payload: PushPayload) throws {
        try self.init(
            id: row.int("id"), name: row.text("name"), push: row.text("push"), installation: row.text("installation"),
            deviceType: row.text("deviceType"), token: row.text("token"),
            appIdentifier: row["appIdentifier"].textValue, payload: payload, badge: row["badge"].intValue,
            utcOffset: row["utcOffset"].intValue, attempts: Int(clamping: row.int("attempts")),
            madeAt: Timestamp(milliseconds: row.int("madeAt")),
            expiresAt: row["expiresAt"].intValue.map { Timestamp(milliseconds: $0) },
            isCancelled: row.int("isCancelled") == 1)
    }
}
