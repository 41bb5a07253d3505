import Logging
import ObjectStore
import ParseProtocol
import Synchronization

/// Turns pushes that are due into deliveries, slice by slice, in the process that writes.
final class PushSpreader: Sendable {
    private let store: ClassStore
    private let sender: PushSender
    private let logger: Logger
    private let wakeUps: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    /// Deliveries that may wait to be sent before more are made: the file stays small however many devices there are.
    private static let waitingMax: Int64 = 5000
    private static let pause = Duration.milliseconds(500)

    init(store: ClassStore, sender: PushSender, logger: Logger) {
        self.store = store
        self.sender = sender
        self.logger = logger
        (wakeUps, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// A push was added.
    func wake() { waker.yield() }

    func run() async {
        let timer = Task { [waker] in
            // Finds pushes whose time has come, and what an earlier process left.
            while !Task.isCancelled {
                waker.yield()
                try? await Task.sleep(for: Self.pause)
            }
        }
        defer { timer.cancel() }
        var scanned: Set<String> = []
        for await _ in wakeUps {
            do {
                // A slice of each in turn, so that a small push does not wait for a large one.
                while case let pushes = try await due(), !pushes.isEmpty {
                    if try await isFull() {
                        try await Task.sleep(for: Self.pause)
                        continue
                    }
                    // One that cannot be prepared must not hold up the others.
                    var failure: (any Error)?
                    for id in pushes {
                        do {
                            if try await !spread(id, isScanning: scanned.contains(id)) { scanned.insert(id) }
                        } catch {
                            failure = error
                        }
                    }
                    if let failure { throw failure }
                }
                scanned = []
            } catch {
                logger.error("A push could not be prepared.", metadata: ["error": "\(error)"])
            }
        }
    }

    /// The pushes to work on: those that are due and new, and those that are half done.
    private func due() async throws -> [String] {
        try await store.read {
            try $0.rows(
                "SELECT id FROM pushes WHERE state IN ('scheduled', 'spreading') AND dueAt <= ? ORDER BY dueAt LIMIT 10",
                [.int(Timestamp.now.milliseconds)]
            ).map { try $0.text("id") }
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
                "SELECT count(*) AS n FROM (SELECT 1 FROM deliveries WHERE dueAt <= ? LIMIT ?)",
                [.int(Timestamp.now.milliseconds), .int(Self.waitingMax)])
            return try waiting.first?.int("n") == Self.waitingMax
        }
    }
}
