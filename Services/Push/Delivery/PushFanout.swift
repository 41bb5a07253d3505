import Logging
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// Creates deliveries for due pushes, one slice at a time, in the writing process.
final class PushFanout: Sendable {
    private let store: ClassStore
    private let sender: PushSender
    private let logger: Logger
    private let wakeUp = WakeUp()
    /// Cleared when no push is due.
    private let failures = Mutex(FanoutFailures())

    /// Maximum waiting deliveries before more are created: keeps the database small for any number of devices.
    private static let waitingMax: Int64 = 5000
    /// Pushes are due by the wall clock, which may be set forward.
    private static let pause = Duration.seconds(10)

    init(store: ClassStore, sender: PushSender, logger: Logger) {
        self.store = store
        self.sender = sender
        self.logger = logger
    }

    /// Called when a push was added.
    func wake() { wakeUp.ring() }

    /// The background work that creates deliveries.
    var work: BackgroundWork {
        BackgroundWork(
            "push.spread", every: Self.pause, problem: "Pushes could not be read.", logger: logger, wakeUp: wakeUp
        ) { [self] in try await spreadDue() }
    }

    /// Creates one slice of each due push, so that a small push does not wait for a large one.
    private func spreadDue() async throws -> BackgroundWork.Round {
        let pushes = try await due()
        guard !pushes.isEmpty else {
            failures.withLock { $0 = FanoutFailures() }
            return .due(at: try await nextDue())
        }
        if try await isFull() { return .due(in: .zero) }
        // A push that fails must not block the others.
        var failure: (any Error)?
        for id in pushes where !Task.isCancelled {
            do {
                try await spread(id)
            } catch {
                failure = error
            }
        }
        guard let failure else { return .more }
        // Logged instead of thrown: the pause after an error would delay the other pushes too.
        logger.error("A push could not be prepared.", metadata: ["error": "\(failure)"])
        return .due(in: .zero)
    }

    /// Due pushes that are new or half done.
    private func due() async throws -> [String] {
        try await store.read(for: nil) {
            try $0.rows(
                """
                SELECT id FROM pushes WHERE state IN ('scheduled', 'spreading') AND dueAt <= ? ORDER BY dueAt LIMIT 10
                """,
                [.int(Timestamp.now.milliseconds)]
            ).map { try $0.text("id") }
        }
    }

    /// When the next push is due; nil when none is scheduled.
    private func nextDue() async throws -> Timestamp? {
        try await store.read(for: nil) {
            try $0.rows("SELECT min(dueAt) AS dueAt FROM pushes WHERE state IN ('scheduled', 'spreading')", []).first?[
                "dueAt"
            ].intValue.map { Timestamp(milliseconds: $0) }
        }
    }

    /// Creates the next slice of a push. Cancels a push whose query can never be answered.
    private func spread(_ id: String) async throws {
        try await store.write(for: nil) { transaction in
            let began = try transaction.execute(
                "UPDATE pushes SET state = 'spreading' WHERE id = ? AND state = 'scheduled'", [.text(id)])
            if began == 1 { try PushProgress.report(id, in: transaction) }
        }
        guard let push = try await spreading(id) else { return }
        let isScanning = failures.withLock { $0.isScanning(id) }
        do {
            let slice = try await store.read(for: nil) { try Slice.read(push, isScanning: isScanning, from: $0) }
            failures.withLock { $0.succeeded(id) }
            try await store.write(for: nil) { try slice.commit(push, in: $0) }
            sender.wake()
        } catch {
            switch failures.withLock({ $0.failed(id, error, at: .now) }) {
            case .scan: return
            case .retry: throw error
            case .giveUp: try await cancel(id, error)
            }
        }
    }

    private func cancel(_ id: String, _ error: any Error) async throws {
        logger.error("The query of a push is not valid.", metadata: ["push.id": "\(id)", "error": "\(error)"])
        try await store.write(for: nil) { transaction in _ = try Pushes.cancel(id, in: transaction) }
    }

    private func spreading(_ id: String) async throws -> FanoutPush? {
        try await store.read(for: nil) { reader in
            try reader.rows("SELECT * FROM pushes WHERE id = ? AND state = 'spreading'", [.text(id)]).first.map(
                FanoutPush.init)
        }
    }

    private func isFull() async throws -> Bool {
        try await store.read(for: nil) { reader in
            let waiting = try reader.rows(
                "SELECT count(*) AS n FROM (SELECT 1 FROM deliveries WHERE dueAt <= ? LIMIT ?) AS due",
                [.int(Timestamp.now.milliseconds), .int(Self.waitingMax)])
            return try waiting.first?.int("n") == Self.waitingMax
        }
    }
}
