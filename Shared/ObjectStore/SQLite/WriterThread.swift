import Foundation
import Logging
import ParseProtocol

/// The one thread that writes a file. It waits for the lock, opens the writing connection and then commits waiting
/// jobs in groups: a savepoint for each job that could fail half-way, one commit and so one fsync for all. Which jobs
/// are the next group is `WriteQueue`'s to decide.
final class WriterThread: @unchecked Sendable {
    struct Job: QueuedWrite {
        let client: WorkClient
        let weight: Int
        let run: (StoreTransaction) throws -> Void
        let finish: ((any Error)?) -> Void
        /// Whether it changes everything at once (`StoreTransaction.atOnce`), so that it needs no savepoint.
        var changesAtOnce: (StoreTransaction) -> Bool = { _ in false }

        func perform(in transaction: StoreTransaction) throws {
            if changesAtOnce(transaction) {
                try transaction.atOnce { try run(transaction) }
            } else {
                try transaction.nested { try run(transaction) }
            }
        }
    }

    struct Settings: Sendable {
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
    private lazy var lock = WriterLock(path: settings.path)
    private var register: BirthRegister?
    private var times = WriteTimes()
    private var board: ChangeBoard?

    init(settings: Settings, logger: Logger) {
        self.settings = settings
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
        defer { lock.release() }
        while !shouldStop {
            do {
                guard try lock.take() else {
                    condition.withLock { hasTried = true }
                    pause(0.025)
                    continue
                }
                return try write(became)
            } catch let refusal as DatabaseRefused {
                logger.critical("store.refused", metadata: ["store.problem": "\(refusal)"])
                return refused(refusal)
            } catch {
                lock.release()
                condition.withLock { hasTried = true }
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
        // Before anything of the file is touched: a log that is read again may bring what nobody has seen yet.
        board = try settings.announcement.board(beside: settings.path, logger)
        defer { board?.unsettle() }
        let kept = try DatabaseInspection(
            path: settings.path, synchronous: settings.synchronous, migrator: settings.migrator, logger: logger
        ).inspect(lock.descriptor)
        let connection = try Connection(path: settings.path, writing: settings.synchronous)
        try settings.migrator.migrate(connection, settings, logger)
        let (schema, certificate) = try prepare(connection, kept)
        register = try BirthRegister(certificate, beside: settings.path)
        let transaction = StoreTransaction(connection: connection, schema: schema, settings: settings)
        board?.settle()
        condition.withLock {
            state = .writing
            announcedOn = board?.identity ?? 0
        }
        logger.info("store.writer.became", metadata: ["store.path": "\(settings.path)"])
        became()
        while let group = nextGroup(copying: connection) {
            guard lock.isOfTheFile else { throw abandon(group) }
            commit(group, connection, transaction)
            // The answers have left.
            if connection.log.copying.isDue { copyLog(connection) }
        }
        transaction.releaseStatements()
        checkpoint(connection)
        connection.close()
    }

    /// Somebody removed or replaced the file: what is written now would be gone, and another process may write the new
    /// one. Nobody takes what waits behind the group any more either.
    private func abandon(_ group: [Job]) -> DatabaseRefused {
        let waiting = condition.withLock {
            isStopping = true
            return jobs.removeAll()
        }
        for job in group + waiting {
            job.finish(ParseError(.serviceUnavailable, "The database is not there any more."))
        }
        return DatabaseRefused(settings.path, "was removed or replaced while it was written.")
    }

    /// Brings everything into the database file, so that it alone is a copy. Replicas that read at this moment may keep
    /// a part in the log, which is as safe there.
    private func checkpoint(_ connection: Connection) {
        do {
            let answer = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
            if try answer.first?.int(0) != 0 { logger.notice("store.checkpoint.busy") }
        } catch {
            logger.error("store.checkpoint.failed", metadata: ["store.error": "\(error)"])
        }
        if let register { register.note(register.certificate.generation, durably: true) }
    }

    /// Brings classes to what the code knows, in one transaction.
    private func prepare(
        _ connection: Connection, _ kept: BirthCertificate?
    ) throws -> (Schema, BirthCertificate) {
        try connection.executeOnce("BEGIN IMMEDIATE")
        do {
            var schema = try Schema.load(connection)
            let writer = SchemaWriter(connection: connection)
            for definition in settings.classes { try writer.upgrade(to: definition, in: &schema) }
            // Files from before there was such an index, and classes whose definition just got a place.
            for info in schema.classes.values where info.geoField != nil {
                if try !GeoIndex.exists(info, connection) { try GeoIndex.create(info, connection) }
            }
            if schema.generation == 0 {
                schema.generation = 1
                try connection.executeOnce("PRAGMA user_version = 1")
            }
            schema = try Schema.load(connection)
            let certificate = try StoreIdentity.begin(kept, connection)
            try connection.executeOnce("COMMIT")
            return (schema, certificate)
        } catch {
            try? connection.executeOnce("ROLLBACK")
            throw error
        }
    }

    /// Counts a group that changed something. One page more in the log, and no wait.
    private func noteGeneration(_ connection: Connection) throws -> Int64? {
        guard let register else { return nil }
        let generation = register.certificate.generation + 1
        try StoreIdentity.note(generation, connection)
        return generation
    }

    /// The next jobs; nil when it is time to end. While none come the log is copied.
    private func nextGroup(copying connection: Connection) -> [Job]? {
        while connection.log.copying.isWorthwhile, staysQuiet(), lock.isOfTheFile { copyLog(connection) }
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

    private func copyLog(_ connection: Connection) {
        do {
            try connection.copyLog()
        } catch {
            logger.error("store.checkpoint.failed", metadata: ["store.error": "\(error)"])
        }
    }

    private func commit(_ group: [Job], _ connection: Connection, _ transaction: StoreTransaction) {
        times.begin()
        var failures = [(any Error)?](repeating: nil, count: group.count)
        var actions: [@Sendable () -> Void] = []
        let schemaBefore = transaction.schema
        var hasChanged = false
        var noted: Int64?
        var changes = ChangeSet()
        var watched: [StoredChange] = []
        do {
            do {
                try connection.execute("BEGIN IMMEDIATE")
                defer { if connection.isInTransaction { try? connection.execute("ROLLBACK") } }
                for (index, job) in group.enumerated() {
                    transaction.begin()
                    let changes = connection.totalChanges
                    do {
                        try job.perform(in: transaction)
                        hasChanged = hasChanged || connection.totalChanges != changes
                        actions += transaction.takeCommitActions()
                        watched += transaction.takeWatchedChanges()
                    } catch {
                        // SQLite itself ends a transaction when the disk is full or fails; then nothing of it is kept.
                        guard connection.isInTransaction else { throw error }
                        failures[index] = (error as? HalfDone)?.cause ?? error
                        if error is HalfDone { throw error }
                    }
                    times.ended(job)
                }
                if hasChanged { noted = try noteGeneration(connection) }
                changes = transaction.takeChanges(since: schemaBefore)
                board?.begin(changes)
                try connection.execute("COMMIT")
            }
            if let noted { register?.note(noted) }
        } catch {
            logger.error("store.commit.failed", metadata: ["store.error": "\(error)"])
            _ = transaction.takeCommitActions()
            _ = transaction.takeWatchedChanges()
            transaction.schema = schemaBefore
            let told = error is HalfDone ? Self.undone : error
            _ = transaction.takeChanges(since: schemaBefore)
            failures = failures.map { $0 ?? told }
            actions = []
            watched = []
        }
        // Before anybody hears of it.
        board?.end(changes)
        settings.watch.tell(watched)
        for action in actions { action() }
        settings.answering {
            for (job, failure) in zip(group, failures) { job.finish(failure.map(health.told)) }
        }
    }
}
