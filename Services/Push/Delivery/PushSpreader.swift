import Logging
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// Turns pushes that are due into deliveries, slice by slice, in the process that writes.
final class PushSpreader: Sendable {
    private let store: ClassStore
    private let sender: PushSender
    private let logger: Logger
    private let wakeUp = WakeUp()
    /// Pushes whose devices take too long to find, until nothing is due.
    private let scanned = Mutex<Set<String>>([])

    /// Deliveries that may wait to be sent before more are made: the file stays small however many devices there are.
    private static let waitingMax: Int64 = 5000
    /// Pushes are due by the wall clock, which may be set forward.
    private static let pause = Duration.seconds(10)

    init(store: ClassStore, sender: PushSender, logger: Logger) {
        self.store = store
        self.sender = sender
        self.logger = logger
    }

    /// A push was added.
    func wake() { wakeUp.ring() }

    /// Spreading.
    var work: BackgroundWork {
        BackgroundWork(
            "push.spread", every: Self.pause, problem: "Pushes could not be read.", logger: logger, wakeUp: wakeUp
        ) { [self] in try await spreadDue() }
    }

    /// A slice of each push that is due, so that a small one does not wait for a large one.
    private func spreadDue() async throws -> BackgroundWork.Round {
        let pushes = try await due()
        guard !pushes.isEmpty else {
            scanned.withLock { $0 = [] }
            return .due(at: try await nextDue())
        }
        if try await isFull() { return .due(in: .zero) }
        // One that cannot be prepared must not hold up the others.
        var failure: (any Error)?
        for id in pushes where !Task.isCancelled {
            do {
                let isScanning = scanned.withLock { $0.contains(id) }
                if try await !spread(id, isScanning: isScanning) { scanned.withLock { _ = $0.insert(id) } }
            } catch {
                failure = error
            }
        }
        guard let failure else { return .more }
        // Not thrown: the pause after it would be the others', too.
        logger.error("A push could not be prepared.", metadata: ["error": "\(failure)"])
        return .due(in: .zero)
    }

    /// The pushes to work on: those that are due and new, and those that are half done.
    private func due() async throws -> [String] {
        try await store.read {
            try $0.rows(
                """
                SELECT id FROM pushes WHERE state IN ('scheduled', 'spreading') AND dueAt <= ? ORDER BY dueAt LIMIT 10
                """,
                [.int(Timestamp.now.milliseconds)]
            ).map { try $0.text("id") }
        }
    }

    /// When the next push is due; nil when none is planned.
    private func nextDue() async throws -> Timestamp? {
        try await store.read {
            try $0.rows("SELECT min(dueAt) AS dueAt FROM pushes WHERE state IN ('scheduled', 'spreading')", []).first?[
                "dueAt"
            ].intValue.map { Timestamp(milliseconds: $0) }
        }
    }

    /// Makes the next slice of a push; false when it takes too long to find and has to be looked for in small ranges.
    private func spread(_ id: String, isScanning: Bool) async throws -> Bool {
        try await store.write { transaction in
            let began = try transaction.execute(
                "UPDATE pushes SET state = 'spreading' WHERE id = ? AND state = 'scheduled'", [.text(id)])
            if began == 1 { try PushProgress.report(id, in: transaction) }
        }
        guard let push = try await spreading(id) else { return true }
        do {
            let slice = try await store.read { try Slice.read(push, isScanning: isScanning, from: $0) }
            try await store.write { try slice.commit(push, in: $0) }
            sender.wake()
            return true
        } catch let error as ParseError where error.code == .timeout && !isScanning {
            return false
        } catch let error as ParseError where [.invalidQuery, .invalidJSON, .timeout].contains(error.code) {
            // Accepted once and no query any more, for instance after a field got another meaning.
            logger.error("A push has no query.", metadata: ["push.id": "\(id)", "error": "\(error)"])
            try await store.write { transaction in _ = try Pushes.cancel(id, in: transaction) }
            return true
        }
    }

    private func spreading(_ id: String) async throws -> SpreadingPush? {
        try await store.read { reader in
            try reader.rows("SELECT * FROM pushes WHERE id = ? AND state = 'spreading'", [.text(id)]).first.map(
                SpreadingPush.init)
        }
    }

    private func isFull() async throws -> Bool {
        try await store.read { reader in
            let waiting = try reader.rows(
                "SELECT count(*) AS n FROM (SELECT 1 FROM deliveries WHERE dueAt <= ? LIMIT ?) AS due",
                [.int(Timestamp.now.milliseconds), .int(Self.waitingMax)])
            return try waiting.first?.int("n") == Self.waitingMax
        }
    }
}
