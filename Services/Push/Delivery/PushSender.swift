import Logging
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// Sends due deliveries, in the writing process. A row is removed only after the provider has answered, so deliveries
/// in flight when the process dies are sent again, under the same name. A process that stops waits for the answers and
/// records them.
package final class PushSender: Sendable {
    private struct DeliveryStates {
        var underWay: Set<Int64> = []
        /// Answered but not recorded yet.
        var ended: [(delivery: Delivery, step: DeliveryMachine.Step)] = []
        /// No further delivery is started.
        var isStopping = false

        var hasRoom: Bool { !isStopping && underWay.count < PushSender.underWayMax }
    }

    private let store: ClassStore
    private let provider: any PushProvider
    private let logger: Logger
    private let books = Mutex(DeliveryStates())
    private let background: BackgroundGroup
    private let wakeUp = WakeUp()

    /// Maximum deliveries in flight, and so the most that are repeated after a crash. APNs allows about a thousand
    /// streams per connection; 200 keep a connection with a round trip of 50 ms busy at 4,000 per second.
    static let underWayMax = 200
    /// Deliveries are due by the wall clock, which may be set forward.
    private static let pause = Duration.seconds(10)

    /// The times to shorten after the clock was set back. Longer than the 26 hours between the first and the last time
    /// zone of a push at local time.
    package static let waits = StoredWaits("dueAt", of: "deliveries", atMost: .seconds(2 * 86_400))

    package init(store: ClassStore, provider: any PushProvider, background: BackgroundGroup, logger: Logger) {
        self.store = store
        self.provider = provider
        self.background = background
        self.logger = logger
    }

    /// Called when a delivery may be due.
    package func wake() { wakeUp.ring() }

    /// The background work that sends and records.
    package var work: BackgroundWork {
        BackgroundWork(
            "push.send", every: Self.pause, problem: "Deliveries could not be sent or recorded.", logger: logger,
            wakeUp: wakeUp
        ) { [self] in
            try await record()
            try await startDue()
            return .due(at: try await nextDue())
        }
    }

    /// Starts no further delivery and waits until the answers of those in flight are recorded. The next process sends
    /// the rest again, under the same name.
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
        // Reads only when a quarter of the slots is free. A read for a few deliveries would cost more than the sending.
        guard busy.count <= Self.underWayMax * 3 / 4, books.withLock({ $0.hasRoom }) else { return }
        let rows = try await store.read(for: nil) { reader in
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
                // Satchel did not write this row. It is removed, because it would block all others.
                let (id, push) = try (row.int("id"), row["push"].textValue ?? "")
                logger.error("A delivery cannot be read.", metadata: ["delivery.id": "\(id)"])
                try await store.write(for: nil) { transaction in
                    try transaction.execute("DELETE FROM deliveries WHERE id = ?", [.int(id)])
                    try PushProgress.settle(push, in: transaction)
                }
            }
        }
    }

    /// When the next delivery is due; nil when none waits.
    private func nextDue() async throws -> Timestamp? {
        try await store.read(for: nil) {
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

    // MARK: - Recording

    /// Records all answers since the last call, in one transaction.
    private func record() async throws {
        let ended = books.withLock { $0.ended }
        guard !ended.isEmpty else { return }
        try await store.write(for: nil) { transaction in
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
        case .refused(let text):
            // A part of the parked item's id, which has 1,000 bytes at most.
            let reason = String(text.unicodeScalars.prefix(200))
            try ParkedDeliveries.park(delivery.id, reason, in: transaction)
            try PushProgress.end(delivery, isSent: false, reason: reason, in: transaction)
        case .tokenIsDead(let reason):
            try PushProgress.end(delivery, isSent: false, reason: reason, in: transaction)
            let stored = try transaction.documentIfFound("_Installation", delivery.installation, caller: .master)
            // The device may have a new token meanwhile.
            guard stored?["deviceToken"] == .string(delivery.token) else { return }
            do {
                _ = try transaction.nested {
                    try transaction.update(
                        "_Installation", delivery.installation, ["deviceToken": ["__op": "Delete"]], caller: .master)
                }
            } catch is ParseError {
                // The class's schema requires a token, so it cannot be removed. The provider will refuse it again; the
                // other answers are still recorded.
            }
        case .again(let at, let reason):
            _ = try transaction.execute(
                "UPDATE deliveries SET attempts = attempts + 1, dueAt = ?, problem = ? WHERE id = ?",
                [.int(at.milliseconds), .text(reason), .int(delivery.id)])
        }
    }

    /// One log line per group and reason instead of one per device.
    private func report(_ ended: [(delivery: Delivery, step: DeliveryMachine.Step)]) {
        var problems: [String: Int] = [:]
        for (_, step) in ended {
            if case .again(_, let reason) = step { problems[reason, default: 0] += 1 }
        }
        for (reason, count) in problems {
            logger.warning(
                "Notifications were not sent and will be retried.",
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
