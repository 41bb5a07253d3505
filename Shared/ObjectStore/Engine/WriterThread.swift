import Foundation
import Logging
import ParseProtocol

/// The one thread of this process that writes. It waits for the right to, opens the writing connection and then
/// commits waiting jobs in groups: a savepoint for each job that could fail half-way, one commit and so one fsync for
/// all. Which jobs are the next group is `WriteQueue`'s to decide, what a commit takes is the engine's
/// (`StoreWriter`).
final class WriterThread: @unchecked Sendable {
    struct Job: QueuedWrite {
        let client: WorkClient
        let weight: Int
        let run: (StoreTransaction) throws -> Void
        let finish: ((any Error)?) -> Void
        /// Whether it changes everything at once (`StoreTransaction.atOnce`), so that it needs no savepoint.
        var changesAtOnce: (StoreTransaction) -> Bool = { _ in false }

        /// - Parameter isCarefully: another job may not be harmed by a failure of this one.
        func perform(in transaction: StoreTransaction, isCarefully: Bool) throws {
            if changesAtOnce(transaction) {
                try isCarefully
                    ? transaction.atOnce { try run(transaction) } : transaction.outright { try run(transaction) }
            } else {
                try transaction.nested { try run(transaction) }
            }
        }
    }

    struct Settings: Sendable {
        /// The database's name in the log: the file's path.
        let path: String
        let classes: [ClassDefinition]
        let migrator: Migrator
        let synchronous: Synchronous
        let allowClassCreation: Bool
        let allowCustomObjectId: Bool
        let allowance: any SchemaAllowance
        let shapes: ShapeLog
        let announcement: ChangeAnnouncement
        let watch: ChangeWatch
        /// Called with the answers to the jobs of a commit, which it runs.
        let answering: @Sendable (_ answers: () -> Void) -> Void
    }

    /// The answer to those whose commit ended with another's failure.
    private static let undone: any Error = ParseError(.serviceUnavailable, "Nothing of this was stored. Try again.")

    private enum State { case idle, waiting, writing, stopped }

    private let settings: Settings
    private let logger: Logger
    /// Guards everything below. The writer's thread alone waits for it until `stop`, which waits as well: from then on
    /// nobody calls `signal`. Where several wait the C library may lose a wake-up by it (glibc's bug 25847).
    private let condition = NSCondition()
    private var state = State.idle
    private var isStopping = false
    private var jobs = WriteQueue<Job>()
    private var thread: Thread?
    /// Somebody else has the lock, or the file could not be opened.
    private var hasTried = false
    private var announcedOn: UInt64 = 0
    /// The writer's thread alone uses what follows.
    private let writer: any StoreWriter
    private var times = WriteTimes()
    private var hasBecome = false

    init(settings: Settings, writer: any StoreWriter, logger: Logger) {
        self.settings = settings
        self.writer = writer
        self.logger = logger
    }

    let health = StorageHealth()

    /// Whether it is known who writes: this process, another one, or nobody.
    var isSettled: Bool { condition.withLock { hasTried || state == .writing || state == .stopped } }

    var isWriting: Bool { condition.withLock { state == .writing } }

    /// The board on which this process says what it changes; 0 for none, and before it writes.
    var boardIdentity: UInt64 { condition.withLock { announcedOn } }

    /// - Parameters:
    ///   - refused: the database is not what was left there; this process never writes it.
    func start(
        refused: @escaping @Sendable (DatabaseRefused) -> Void, _ became: @escaping @Sendable () -> Void
    ) {
        condition.withLock {
            guard state == .idle, !isStopping else { return }
            state = .waiting
            let thread = Thread { [self] in run(refused, became) }
            thread.name = "store-writer"
            thread.stackSize = 8 << 20
            self.thread = thread
            thread.start()
        }
    }

    /// Hands over a job. When it cannot be taken it is finished at once, on the calling thread, with
    /// `.serviceUnavailable` (2), or `.requestLimitExceeded` (155) when it is a client's and too much is waiting.
    func submit(_ job: Job) {
        let refusal: ParseError? = condition.withLock {
            guard state == .writing, !isStopping else {
                return ParseError(.serviceUnavailable, "This replica does not write. Try again.")
            }
            do throws(WriteRefusal) { try jobs.enter(job) } catch { return Self.refusal(error, of: job) }
            condition.signal()
            return nil
        }
        if let refusal { job.finish(refusal) }
    }

    /// What is told to a client must not look like a failure of the service, and what is the shop's own is tried again
    /// after one.
    private static func refusal(_ refusal: WriteRefusal, of job: Job) -> ParseError {
        let full = "Too many writes are waiting. Try again later."
        guard job.client != .shop else { return ParseError(.serviceUnavailable, full) }
        return switch refusal {
        case .full: .tooManyRequests(full, retryAfterSeconds: 2)
        case .clientHasTooMany:
            .tooManyRequests("Too many of your writes are waiting. Try again later.", retryAfterSeconds: 1)
        }
    }

    /// Finishes what was taken, closes the file and releases the lock. Later jobs are refused.
    func stop() {
        condition.withLock {
            isStopping = true
            if state == .idle { state = .stopped }
            condition.broadcast()
            guard Thread.current != thread else { return }
            while state != .stopped { condition.wait() }
        }
    }

    // MARK: On the thread

    private func run(_ refused: @Sendable (DatabaseRefused) -> Void, _ became: @Sendable () -> Void) {
        defer {
            condition.withLock {
                state = .stopped
                condition.broadcast()
            }
        }
        defer { writer.release() }
        while !shouldStop {
            do {
                guard try writer.take() else {
                    condition.withLock { hasTried = true }
                    pause(writer.patience)
                    continue
                }
                return try write(became)
            } catch let refusal as DatabaseRefused {
                logger.critical("store.refused", metadata: ["store.problem": "\(refusal)"])
                return refused(refusal)
            } catch {
                writer.release()
                condition.withLock {
                    hasTried = true
                    state = .waiting
                }
                logger.error("store.writer.failed", metadata: ["store.error": "\(error)"])
                pause(1)
            }
        }
    }

    private var shouldStop: Bool { condition.withLock { isStopping } }

    private func pause(_ seconds: TimeInterval) {
        condition.withLock { if !isStopping { _ = condition.wait(until: Date(timeIntervalSinceNow: seconds)) } }
    }

    private func write(_ became: @Sendable () -> Void) throws {
        defer { writer.close() }
        let (connection, schema) = try writer.open()
        let transaction = StoreTransaction(connection: connection, schema: schema, settings: settings)
        defer { transaction.releaseStatements() }
        writer.ready()
        condition.withLock {
            state = .writing
            announcedOn = writer.boardIdentity
        }
        logger.info("store.writer.became", metadata: ["store.path": "\(settings.path)"])
        if !hasBecome {
            hasBecome = true
            became()
        }
        while let group = nextGroup() {
            guard writer.isInPlace else { throw abandon(group) }
            commit(group, connection, transaction)
            writer.answered()
        }
    }

    /// What is written now would be gone. Nobody takes what waits behind the group any more either, where this process
    /// cannot begin again.
    private func abandon(_ group: [Job]) -> any Error {
        let refusal = writer.refusal
        let waiting = condition.withLock {
            if refusal != nil { isStopping = true } else { state = .waiting }
            return jobs.removeAll()
        }
        let error = ParseError(.serviceUnavailable, "The database is not there any more.")
        for job in group + waiting { job.finish(error) }
        return refusal ?? error
    }

    /// The next jobs; nil when it is time to end.
    private func nextGroup() -> [Job]? {
        writer.rest(waits: staysQuiet)
        let now = TimeLimit.monotonic
        return condition.withLock {
            for (client, weight, nanoseconds) in times.entries {
                jobs.worked(nanoseconds, for: client, weight: weight, now: now)
            }
            while jobs.isEmpty, !isStopping { condition.wait() }
            return jobs.isEmpty ? nil : jobs.nextGroup(now: TimeLimit.monotonic)
        }
    }

    /// Waits for a job; true when none came for a while.
    private func staysQuiet() -> Bool {
        let end = Date(timeIntervalSinceNow: LogCopying.quietSeconds)
        return condition.withLock {
            while jobs.isEmpty, !isStopping {
                if !condition.wait(until: end) { return jobs.isEmpty && !isStopping }
            }
            return false
        }
    }

    /// The outcome of a group.
    private struct Outcome {
        var failures: [(any Error)?]
        var actions: [@Sendable () -> Void] = []
        var watched: [StoredChange] = []
        var changes = ChangeSet()
    }

    private func commit(_ group: [Job], _ connection: any StoreConnection, _ transaction: StoreTransaction) {
        times.begin()
        let outcome = perform(group, connection, transaction)
        // Before anybody hears of it.
        writer.ended(outcome.changes)
        settings.watch.tell(outcome.watched)
        for action in outcome.actions { action() }
        settings.answering {
            for (job, failure) in zip(group, outcome.failures) { job.finish(failure.map(health.told)) }
        }
    }

    /// - Parameter isCarefully: for a group that failed as a whole, and may have because of one of its jobs.
    private func perform(
        _ group: [Job], _ connection: any StoreConnection, _ transaction: StoreTransaction, isCarefully: Bool = false
    ) -> Outcome {
        transaction.beginGroup()
        var outcome = Outcome(failures: Array(repeating: nil, count: group.count))
        let schemaBefore = transaction.schema
        do {
            var hasChanged = false
            try connection.beginWriting()
            defer { if connection.isInTransaction { try? connection.execute("ROLLBACK") } }
            for (index, job) in group.enumerated() {
                transaction.begin()
                let changes = connection.totalChanges
                do {
                    try job.perform(in: transaction, isCarefully: isCarefully)
                    hasChanged = hasChanged || connection.totalChanges != changes
                    outcome.actions += transaction.takeCommitActions()
                    outcome.watched += transaction.takeWatchedChanges()
                } catch {
                    // The engine itself ends a transaction when the disk is full or fails; then nothing of it is kept.
                    guard connection.isInTransaction else { throw error }
                    outcome.failures[index] = (error as? HalfDone)?.cause ?? error
                    if error is HalfDone { throw error }
                }
                times.ended(job)
            }
            outcome.changes = transaction.takeChanges(since: schemaBefore)
            try writer.commit(outcome.changes, hasChanged: hasChanged)
        } catch {
            _ = transaction.takeCommitActions()
            _ = transaction.takeWatchedChanges()
            transaction.schema = schemaBefore
            _ = transaction.takeChanges(since: schemaBefore)
            if transaction.hasOutright, writer.isInPlace, StorageTrouble(error) == nil {
                return perform(group, connection, transaction, isCarefully: true)
            }
            outcome.actions = []
            outcome.watched = []
            logger.error("store.commit.failed", metadata: ["store.error": "\(error)"])
            let told = error is HalfDone ? Self.undone : error
            outcome.failures = outcome.failures.map { $0 ?? told }
        }
        return outcome
    }
}

extension WriterThread.Settings {
    /// Brings classes to what the code knows, in one transaction.
    /// - Parameter further: done in the same transaction.
    func prepare(_ connection: any StoreConnection, _ further: (any StoreConnection) throws -> Void) throws -> Schema {
        try connection.beginWriting()
        do {
            var schema = try Schema.load(connection)
            let writer = SchemaWriter(connection: connection)
            for definition in classes { try writer.upgrade(to: definition, in: &schema) }
            // Files from before there was such an index, and classes whose definition just got a place.
            for info in schema.classes.values where info.geoField != nil {
                if try !GeoIndex.exists(info, connection) { try GeoIndex.create(info, connection) }
            }
            if schema.generation == 0 {
                schema.generation = 1
                try connection.setGeneration(1)
            }
            schema = try Schema.load(connection)
            try further(connection)
            try connection.executeOnce("COMMIT")
            return schema
        } catch {
            try? connection.executeOnce("ROLLBACK")
            throw error
        }
    }
}
