import Foundation
import Logging
import ParseProtocol

/// The one thread of this process that writes. It acquires the right to write, opens the writing connection and then
/// commits waiting jobs in groups (`GroupCommit`). A group has one commit and so one fsync. `WriteQueue` decides which
/// jobs form the next group; `StoreWriter` contains the engine-specific part of a commit.
final class WriterThread: @unchecked Sendable {
    struct Settings: Sendable {
        /// The database's name in the log: the file's path.
        let path: String
        let classes: [ClassDefinition]
        let migrator: Migrator
        let synchronous: Synchronous
        let allowClassCreation: Bool
        let allowCustomObjectId: Bool
        let allowance: any SchemaQuota
        let shapes: ShapeLog
        let announcement: ChangeAnnouncement
        let watch: ChangeWatch
        /// Counts transactions that were retried.
        let repetitions: Repetitions
        /// See `ClassStore.init`.
        var memberRecord: String?
        /// Whether the store is being moved, so that its changes are recorded (`ChangeCapture`).
        var isMoving: @Sendable () -> Bool = { false }
        /// Called after a commit with a closure that completes its jobs; must run it.
        let answering: @Sendable (_ answers: () -> Void) -> Void

        /// Writes the suite's record of this database. A full disk must not prevent a sound database from being opened.
        func memberRegister(_ certificate: DatabaseCertificate, _ logger: Logger) -> CertificateFile? {
            guard let memberRecord else { return nil }
            do {
                try FileManager.default.createDirectory(
                    at: URL(fileURLWithPath: memberRecord).deletingLastPathComponent(),
                    withIntermediateDirectories: true)
                return try CertificateFile(certificate, at: memberRecord)
            } catch {
                logger.warning("store.record.failed", metadata: ["store.error": "\(error)"])
                return nil
            }
        }
    }

    private enum State { case idle, waiting, writing, stopped }

    private let settings: Settings
    private let logger: Logger
    /// Guards everything below. Only the writer's thread waits on it until `stop`, which also waits; from then on
    /// `signal` is not called. With several waiting threads glibc may lose a wake-up by `signal` (glibc bug 25847).
    private let condition = NSCondition()
    private var state = State.idle
    private var isStopping = false
    private var jobs = WriteQueue<Job>()
    private var thread: Thread?
    /// An attempt to write failed: another process has the lock, or the database could not be opened.
    private var hasTried = false
    private var announcedOn: UInt64 = 0
    private var isLeading = false
    /// The start of the running group; nil between groups.
    private var groupBegan: ContinuousClock.Instant?
    /// Only the writer's thread uses the rest.
    private let writer: any StoreWriter
    private var times = WriteTimes()
    /// The time of the next attempt to lead, where several processes write.
    private var nextLeadAttempt = ContinuousClock.now
    private var hasReportedLead = false
    /// Why the last attempt to write failed; nil after a successful one. Equal failures in a row are logged once.
    private var lastFailure: String?

    init(settings: Settings, writer: any StoreWriter, logger: Logger) {
        self.settings = settings
        self.writer = writer
        self.logger = logger
        health = StorageHealth(path: settings.path, logger: logger)
    }

    let health: StorageHealth

    /// Whether the first attempt to write is over: this process writes, another one does, or none can.
    var isSettled: Bool { condition.withLock { hasTried || state == .writing || state == .stopped } }

    /// As `StoreWriter.isLeading`.
    var leads: Bool { condition.withLock { state == .writing && isLeading } }

    /// A group that runs longer counts as stuck. Jobs of groups are short, and conflicts are given up after less time
    /// (`JobBatch.timeMax`).
    private static let stuckAfter = Duration.seconds(6)

    /// Whether the running group takes so long that its commit presumably waits for the server.
    var isStuck: Bool { condition.withLock { groupBegan.map { $0 < .now - Self.stuckAfter } ?? false } }

    /// Whether jobs are accepted.
    var mayWrite: Bool { condition.withLock { state == .writing && !isStopping } }

    /// Jobs that wait for the next group.
    var waitingCount: Int { condition.withLock { jobs.count } }

    /// The board on which this process announces changes; 0 for none, and before it writes.
    var boardIdentity: UInt64 { condition.withLock { announcedOn } }

    /// - Parameters:
    ///   - refused: called when the database is not the expected one; this process never writes it.
    ///   - mayWrite: called when jobs are accepted, and with false when they are not accepted any more.
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

    /// Submits jobs. A job that cannot be accepted is completed at once on the calling thread, with
    /// `.serviceUnavailable` (2). A client's job gets `.requestLimitExceeded` (155) instead when too many wait.
    func submit(_ submitted: [Job]) {
        var refused: [(job: Job, refusal: ParseError)] = []
        condition.withLock {
            guard state == .writing, !isStopping else {
                let refusal = ParseError(.serviceUnavailable, "This replica does not write. Try again.")
                refused = submitted.map { ($0, refusal) }
                return
            }
            for job in submitted {
                do throws(WriteRefusal) {
                    try jobs.enter(job)
                } catch {
                    refused.append((job, Self.refusal(error, of: job)))
                }
            }
            condition.signal()
        }
        for (job, refusal) in refused { job.finish(refusal) }
    }

    /// A client's refusal must not look like a failure of the service. The shop's own jobs are retried after such a
    /// failure.
    private static func refusal(_ refusal: WriteRefusal, of job: Job) -> ParseError {
        let full = "Too many writes are waiting. Try again later."
        guard job.client != .shop else { return ParseError(.serviceUnavailable, full) }
        return switch refusal {
        case .full: .tooManyRequests(full, retryAfterSeconds: 2)
        case .clientHasTooMany:
            .tooManyRequests("Too many of your writes are waiting. Try again later.", retryAfterSeconds: 1)
        }
    }

    /// Finishes the accepted jobs, closes the file and releases the lock. Later jobs are refused.
    func stop() {
        condition.withLock {
            isStopping = true
            if state == .idle { state = .stopped }
            condition.broadcast()
            guard Thread.current != thread else { return }
            while state != .stopped { condition.wait() }
        }
    }

    // MARK: On the writer's thread

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
                    noteSuccess()
                    condition.withLock { hasTried = true }
                    pause(writer.retryInterval)
                    continue
                }
                return try write(mayWrite, became)
            } catch let refusal as DatabaseRefused {
                return refused(refusal)
            } catch {
                writer.release()
                condition.withLock {
                    hasTried = true
                    state = .waiting
                }
                note(error)
                pause(1)
            }
        }
    }

    /// Trouble with a file is also reported to the gateway: this process goes on reading, and tries again.
    private func note(_ error: any Error) {
        defer { lastFailure = "\(error)" }
        guard lastFailure != "\(error)" else { return }
        let isOfFile = (error as? StoreError)?.sqlState.isEmpty ?? false
        guard !isOfFile || health.note(error) == nil else { return }
        var metadata: Logger.Metadata = ["store.error": "\(error)"]
        metadata["store.remedy"] = StorageTrouble(error).map { "\($0.remedy(for: settings.path))" }
        logger.error("store.writer.failed", metadata: metadata)
    }

    private func noteSuccess() {
        guard lastFailure != nil else { return }
        lastFailure = nil
        health.recovered()
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
        noteSuccess()
        condition.withLock {
            state = .writing
            announcedOn = writer.boardIdentity
            isLeading = false
        }
        mayWrite(true)
        defer { mayWrite(false) }
        noteLead(became)
        while true {
            try tryToLead(became)
            switch next() {
            case .end: return
            case .leadAttempt: continue
            case .group(let group):
                guard writer.isInPlace else { throw abandon(group) }
                try commit(group, groups)
                writer.answered()
            }
        }
    }

    /// Reports that this process leads, once it does.
    private func noteLead(_ became: @Sendable () -> Void) {
        guard writer.isLeading, !condition.withLock({ isLeading }) else { return }
        condition.withLock { isLeading = true }
        logger.info("store.writer.became", metadata: ["store.path": "\(settings.path)"])
        guard !hasReportedLead else { return }
        hasReportedLead = true
        became()
    }

    /// Tries to become the leader when the next attempt is due.
    private func tryToLead(_ became: @Sendable () -> Void) throws {
        guard let interval = writer.leadInterval, nextLeadAttempt <= .now else { return }
        nextLeadAttempt = .now + interval
        do {
            try writer.tryToLead()
        } catch {
            throw abandon([], for: error as? DatabaseRefused)
        }
        noteLead(became)
    }

    /// Fails the group and all waiting jobs, because the writes would be lost. If this process cannot start again, it
    /// also stops accepting jobs.
    private func abandon(_ group: [Job], for refused: DatabaseRefused? = nil) -> any Error {
        let refusal = refused ?? writer.refusal
        let waiting = condition.withLock {
            if refusal != nil { isStopping = true } else { state = .waiting }
            return jobs.removeAll()
        }
        let error = ParseError(.serviceUnavailable, "The database is no longer available.")
        for job in group + waiting { job.finish(error) }
        return refusal ?? error
    }

    private enum Next {
        case group([Job])
        /// The next attempt to lead is due.
        case leadAttempt
        case end
    }

    /// Waits for the next jobs.
    private func next() -> Next {
        writer.doIdleWork(staysIdle: staysIdle)
        let now = TimeLimit.monotonic
        let end = writer.leadInterval.map { _ in Date(timeIntervalSinceNow: (nextLeadAttempt - .now) / .seconds(1)) }
        return condition.withLock {
            for (client, weight, nanoseconds) in times.entries {
                jobs.recordUse(nanoseconds, for: client, weight: weight, now: now)
            }
            times = WriteTimes()
            while jobs.isEmpty, !isStopping {
                guard let end else {
                    condition.wait()
                    continue
                }
                if !condition.wait(until: end), jobs.isEmpty, !isStopping { return .leadAttempt }
            }
            return jobs.isEmpty ? .end : .group(jobs.nextGroup(now: TimeLimit.monotonic))
        }
    }

    /// Waits for a job; true when none came for a while.
    private func staysIdle() -> Bool {
        let end = Date(timeIntervalSinceNow: CheckpointPolicy.quietSeconds)
        return condition.withLock {
            while jobs.isEmpty, !isStopping {
                if !condition.wait(until: end) { return jobs.isEmpty && !isStopping }
            }
            return false
        }
    }

    /// - Throws: `DatabaseRefused` when this process must stop writing.
    private func commit(_ group: [Job], _ groups: GroupCommit) throws {
        condition.withLock { groupBegan = .now }
        defer {
            condition.withLock { groupBegan = nil }
            times = groups.takeTimes()
        }
        do {
            try groups.carryOut(group) { jobs, outcome in
                // Before any job completes.
                writer.ended(outcome.changes)
                settings.watch.tell(outcome.watched)
                for action in outcome.actions { action() }
                let unseen = Set(outcome.unseen)
                settings.answering {
                    for (place, (job, failure)) in zip(jobs, outcome.failures).enumerated()
                    where !unseen.contains(place) { job.finish(failure.map(health.clientError)) }
                }
            }
        } catch {
            _ = abandon([], for: error)
            throw error
        }
    }
}

extension WriterThread.Settings {
    /// Upgrades classes to the definitions in the code, in one transaction.
    /// - Parameter further: work to do in the same transaction.
    func prepare(_ connection: any StoreConnection, _ further: (any StoreConnection) throws -> Void) throws -> Schema {
        try connection.beginPreparing()
        do {
            var schema = try Schema.load(connection)
            let writer = SchemaWriter(connection: connection)
            for definition in classes { try writer.upgrade(to: definition, in: &schema) }
            // For databases that are older than this index, and classes whose definition just got a point field.
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
