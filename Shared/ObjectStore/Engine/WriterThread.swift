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
        /// Transactions that were done again because another process overtook them.
        let repetitions: Repetitions
        /// Whether the store is being moved, so that its changes are noted (`ChangeCapture`).
        var isMoving: @Sendable () -> Bool = { false }
        /// Called with the answers to the jobs of a commit, which it runs.
        let answering: @Sendable (_ answers: () -> Void) -> Void
    }

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
    private var isLeading = false
    /// When the group under way began.
    private var groupBegan: ContinuousClock.Instant?
    /// The writer's thread alone uses what follows.
    private let writer: any StoreWriter
    private var times = WriteTimes()
    /// The time of the next look whether this process may lead, where several write.
    private var nextLook = ContinuousClock.now
    private var hasBecome = false

    init(settings: Settings, writer: any StoreWriter, logger: Logger) {
        self.settings = settings
        self.writer = writer
        self.logger = logger
    }

    let health = StorageHealth()

    /// Whether it is known who writes: this process, another one, or nobody.
    var isSettled: Bool { condition.withLock { hasTried || state == .writing || state == .stopped } }

    /// Whether this process does what only one may do.
    var leads: Bool { condition.withLock { state == .writing && isLeading } }

    /// A group that takes longer is stuck. Jobs of groups are short, and what overtook them is given up after less time
    /// (`GroupPiece.timeMax`).
    private static let stuckAfter = Duration.seconds(6)

    /// Whether the group under way has been for so long that something keeps it from being committed.
    var isStuck: Bool { condition.withLock { groupBegan.map { $0 < .now - Self.stuckAfter } ?? false } }

    /// Whether jobs are taken.
    var mayWrite: Bool { condition.withLock { state == .writing && !isStopping } }

    /// The board on which this process says what it changes; 0 for none, and before it writes.
    var boardIdentity: UInt64 { condition.withLock { announcedOn } }

    /// - Parameters:
    ///   - refused: the database is not what was left there; this process never writes it.
    ///   - mayWrite: called when jobs are taken, and with false when they are not taken any more.
    ///   - became: called once, when this process leads.
    func start(
        refused: @escaping @Sendable (DatabaseRefused) -> Void, mayWrite: @escaping @Sendable (Bool) -> Void,
        _ became: @escaping @Sendable () -> Void
    ) {
        condition.withLock {
            guard state == .idle, !isStopping else { return }
            state = .waiting
            let thread = Thread { [self] in run(refused, mayWrite, became) }
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

    private func run(
        _ refused: @Sendable (DatabaseRefused) -> Void, _ mayWrite: @Sendable (Bool) -> Void,
        _ became: @Sendable () -> Void
    ) {
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
                return try write(mayWrite, became)
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

    private func write(_ mayWrite: @Sendable (Bool) -> Void, _ became: @Sendable () -> Void) throws {
        defer { writer.close() }
        let (connection, schema) = try writer.open()
        let groups = GroupCommit(connection, schema, writer, settings, logger)
        defer { groups.close() }
        writer.ready()
        condition.withLock {
            state = .writing
            announcedOn = writer.boardIdentity
            isLeading = false
        }
        mayWrite(true)
        defer { mayWrite(false) }
        noteLead(became)
        while true {
            try look(became)
            switch next() {
            case .end: return
            case .look: continue
            case .group(let group):
                guard writer.isInPlace else { throw abandon(group) }
                try commit(group, groups)
                writer.answered()
            }
        }
    }

    /// Tells that this process leads, once it does.
    private func noteLead(_ became: @Sendable () -> Void) {
        guard writer.isLeading, !condition.withLock({ isLeading }) else { return }
        condition.withLock { isLeading = true }
        logger.info("store.writer.became", metadata: ["store.path": "\(settings.path)"])
        guard !hasBecome else { return }
        hasBecome = true
        became()
    }

    /// Leads where nobody does, when it is time to look.
    private func look(_ became: @Sendable () -> Void) throws {
        guard let interval = writer.looksEvery, nextLook <= .now else { return }
        nextLook = .now + interval
        do {
            try writer.look()
        } catch {
            throw abandon([], for: error as? DatabaseRefused)
        }
        noteLead(became)
    }

    /// What is written now would be gone. Nobody takes what waits behind the group any more either, where this process
    /// cannot begin again.
    private func abandon(_ group: [Job], for refused: DatabaseRefused? = nil) -> any Error {
        let refusal = refused ?? writer.refusal
        let waiting = condition.withLock {
            if refusal != nil { isStopping = true } else { state = .waiting }
            return jobs.removeAll()
        }
        let error = ParseError(.serviceUnavailable, "The database is not there any more.")
        for job in group + waiting { job.finish(error) }
        return refusal ?? error
    }

    private enum Next {
        case group([Job])
        /// It is time to look whether this process may lead.
        case look
        case end
    }

    /// Waits for the next jobs.
    private func next() -> Next {
        writer.rest(waits: staysQuiet)
        let now = TimeLimit.monotonic
        let end = writer.looksEvery.map { _ in Date(timeIntervalSinceNow: (nextLook - .now) / .seconds(1)) }
        return condition.withLock {
            for (client, weight, nanoseconds) in times.entries {
                jobs.worked(nanoseconds, for: client, weight: weight, now: now)
            }
            times = WriteTimes()
            while jobs.isEmpty, !isStopping {
                guard let end else {
                    condition.wait()
                    continue
                }
                if !condition.wait(until: end), jobs.isEmpty, !isStopping { return .look }
            }
            return jobs.isEmpty ? .end : .group(jobs.nextGroup(now: TimeLimit.monotonic))
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

    /// - Throws: `DatabaseRefused` when this process must not write any more.
    private func commit(_ group: [Job], _ groups: GroupCommit) throws {
        condition.withLock { groupBegan = .now }
        defer {
            condition.withLock { groupBegan = nil }
            times = groups.takeTimes()
        }
        do {
            try groups.carryOut(group) { jobs, outcome in
                // Before anybody hears of it.
                writer.ended(outcome.changes)
                settings.watch.tell(outcome.watched)
                for action in outcome.actions { action() }
                let unseen = Set(outcome.unseen)
                settings.answering {
                    for (place, (job, failure)) in zip(jobs, outcome.failures).enumerated()
                    where !unseen.contains(place) { job.finish(failure.map(health.told)) }
                }
            }
        } catch {
            _ = abandon([], for: error)
            throw error
        }
    }
}

extension WriterThread.Settings {
    /// Brings classes to what the code knows, in one transaction.
    /// - Parameter further: done in the same transaction.
    func prepare(_ connection: any StoreConnection, _ further: (any StoreConnection) throws -> Void) throws -> Schema {
        try connection.beginPreparing()
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
            try ChangeCapture.settle(connection, isWanted: isMoving())
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
