import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// Starts jobs and records their results. Satchel's own jobs run one at a time. Jobs of cloud code run concurrently
/// with them, one run per name unless a setting allows more. A requested run is stored first, so that a crash does not
/// lose it. Only the writer runs jobs.
package final class JobRunner: Sendable {
    let jobs: [String: Job]
    private let host: ServiceHost
    /// Wakes the workers: the first one runs Satchel's own jobs, the others run cloud code jobs.
    private let wakeUps: [WakeUp]
    /// Whether several runs of one cloud code job may be concurrent.
    private let runsTogether: Bool
    /// The running cloud code jobs: their names or, when `runsTogether`, the ids of their runs.
    private let underWay = Mutex<Set<String>>([])

    /// Maximum concurrent cloud code jobs. They share its processes with functions and triggers.
    static let codeJobsMax = 4
    /// A job that ended its process this often is not tried again.
    private static let attemptsMax: Int64 = 5
    /// Schedules have a resolution of one minute.
    private static let schedulePause = Duration.seconds(1)
    private static let parametersBytesMax = 16_384
    /// Maximum waiting runs of one name. Without it, a job that starts more often than it ends would grow the queue
    /// forever.
    private static let waitingMax: Int64 = 100
    private static let stopped = "The job was stopped."
    /// Maximum delay of a start's answer while it waits for the end of a short job.
    private static let promptMax = Duration.milliseconds(500)

    /// - Throws: `StartupProblem`.
    package init(_ jobs: [Job], host: ServiceHost) throws {
        runsTogether = try host.configuration.settings.flag("satchel.cloud.jobs.together", default: false)
        self.jobs = Dictionary(uniqueKeysWithValues: jobs.map { ($0.name, $0) })
        self.host = host
        wakeUps = (0...Self.codeJobsMax).map { _ in WakeUp() }
    }

    /// Stores a requested run.
    /// - Returns: the objectId of its `_JobStatus`.
    /// - Throws: `.scriptFailed` (141) for an unknown job, `.validationError` (142) and `.invalidJSON` (107) for
    ///   invalid parameters, `.requestLimitExceeded` (155) when too many runs of the job wait.
    func start(
        _ name: String, _ parameters: JSON, source: String, in transaction: StoreTransaction
    ) throws -> String {
        guard try isKnown(name, in: transaction) else { throw ParseError(.scriptFailed, "Invalid job.") }
        guard case .object = parameters, parameters.serialized.count <= Self.parametersBytesMax else {
            throw ParseError(
                .validationError, "A job's parameters are an object of at most \(Self.parametersBytesMax) bytes.")
        }
        guard try hasRoom(for: name, in: transaction) else {
            throw ParseError.tooManyRequests(
                "\(Self.waitingMax) runs of the job wait already.", retryAfterSeconds: 60)
        }
        let status: JSON = [
            "jobName": .string(name), "source": .string(source), "status": "running", "params": parameters,
            "ACL": JobStatusRules.acl,
        ]
        let id = try transaction.create("_JobStatus", status, caller: .master).objectId
        _ = try transaction.execute("INSERT INTO jobRuns(status, name) VALUES (?, ?)", [.text(id), .text(name)])
        transaction.afterCommit { [wakeUps] in for wakeUp in wakeUps { wakeUp.ring() } }
        return id
    }

    /// Waits for the end of a run, at most `promptMax`, so that a client that reads the status next sees the result of
    /// a short job.
    /// - Parameter share: the share of the request that started it.
    func waitForEnd(of id: String, for share: WorkShare) async {
        let end = ContinuousClock.now + Self.promptMax
        while ContinuousClock.now < end, (try? await isUnderWay(id, share)) ?? false {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    private func isUnderWay(_ id: String, _ share: WorkShare) async throws -> Bool {
        try await host.store.read(for: share) {
            try !$0.rows("SELECT 1 FROM jobRuns WHERE status = ?", [.text(id)]).isEmpty
        }
    }

    /// Stops a job: at once while it waits, otherwise as soon as possible.
    /// - Parameter name: the job's name, for all of its runs, or the objectId of a `_JobStatus`.
    /// - Throws: `.objectNotFound` (101) when no such run waits or runs.
    func stop(_ name: String, in transaction: StoreTransaction) throws {
        let rows = try transaction.rows(
            "SELECT status, attempts FROM jobRuns WHERE name = ?1 OR status = ?1", [.text(name)])
        guard !rows.isEmpty else { throw ParseError(.objectNotFound, "No such job waits or runs.") }
        for row in rows {
            let status = try row.text("status")
            if try row.int("attempts") == 0 {
                try Self.end(status, "failed", Self.stopped, in: transaction)
            } else {
                _ = try transaction.execute("UPDATE jobRuns SET isStopped = 1 WHERE status = ?", [.text(status)])
            }
        }
    }

    private func isKnown(_ name: String, in transaction: StoreTransaction) throws -> Bool {
        try jobs[name] != nil || CodeHooks.jobs(in: transaction).contains(name)
    }

    private func hasRoom(for name: String, in transaction: StoreTransaction) throws -> Bool {
        let waiting = try transaction.rows(
            "SELECT count(*) AS count FROM jobRuns WHERE name = ? AND attempts = 0", [.text(name)]
        ).first?.int("count")
        return (waiting ?? 0) < Self.waitingMax
    }

    // MARK: - Schedules

    /// Runs stored requests and starts due schedules. A long job does not delay the start of schedules.
    func keepRunning() {
        for (number, wakeUp) in wakeUps.enumerated() {
            host.background.add(
                BackgroundWork(
                    number == 0 ? "jobs" : "jobs.code.\(number)", every: .seconds(30),
                    problem: "Jobs could not be read or written.", logger: host.logger, wakeUp: wakeUp
                ) { [self] in try await runNext(isOwn: number == 0) ? .more : .idle })
        }
        host.whenWriter("jobs.schedules", every: Self.schedulePause, problem: "Scheduled jobs could not be started.") {
            [self] in
            try await startDue()
            return .idle
        }
        host.whenWriter("jobs.clock", every: .seconds(60), problem: "Scheduled jobs could not be planned again.") {
            [self] in
            try await planAgain()
            return .idle
        }
    }

    /// Plans schedules again whose last run is in the future because the clock was set back.
    package func planAgain() async throws {
        let later = Timestamp.now.advanced(by: .seconds(60))
        let query = Query(className: "_JobSchedule", where: ["lastRun": ["$gt": .int(later.milliseconds)]], limit: 1000)
        let schedules = try await host.store.read(for: nil) { try $0.documents(query, caller: .master) }
        guard !schedules.isEmpty else { return }
        try await host.store.write(for: nil) { transaction in
            for object in schedules {
                guard let id = object["objectId"]?.stringValue, let name = object["jobName"]?.stringValue,
                    let schedule = try? JobSchedule(object, jobs: [name]), schedule.repetition != .once
                else { continue }
                // A schedule that is due starts now.
                let due = try transaction.rows(
                    "SELECT 1 FROM jobTimes WHERE schedule = ? AND dueAt <= ?",
                    [.text(id), .int(transaction.now.milliseconds)])
                guard due.isEmpty else { continue }
                try JobScheduleRules.plan(schedule, id, after: transaction.now, in: transaction)
            }
        }
    }

    /// Starts the jobs of due schedules. Starting and planning the next time are one transaction, so each time counts
    /// once.
    package func startDue() async throws {
        let isAnyDue = try await host.store.read(for: nil) {
            try !$0.rows("SELECT 1 FROM jobTimes WHERE dueAt <= ? LIMIT 1", [.int(Timestamp.now.milliseconds)]).isEmpty
        }
        guard isAnyDue else { return }
        try await host.store.write(for: nil) { [self] transaction in
            let rows = try transaction.rows(
                "SELECT schedule FROM jobTimes WHERE dueAt <= ? ORDER BY dueAt LIMIT 100",
                [.int(transaction.now.milliseconds)])
            for row in rows { try startScheduled(row.text("schedule"), in: transaction) }
        }
    }

    private func startScheduled(_ id: String, in transaction: StoreTransaction) throws {
        guard let (schedule, object) = try JobSchedule.stored(id, in: transaction) else {
            // The schedule is gone, or this release cannot read it.
            _ = try transaction.execute("DELETE FROM jobTimes WHERE schedule = ?", [.text(id)])
            return
        }
        let name = schedule.jobName
        let parameters = object["params"]?.stringValue.flatMap { try? JSON(parsing: $0) } ?? [:]
        do {
            try transaction.nested {
                _ = try start(
                    name, parameters.objectValue == nil ? [:] : parameters, source: "schedule", in: transaction)
                _ = try transaction.update(
                    "_JobSchedule", id, ["lastRun": .int(transaction.now.milliseconds)], caller: .master)
            }
        } catch let error as ParseError where ![.internalServerError, .serviceUnavailable].contains(error.code) {
            // The job is gone, too many runs wait, or its parameters are too large. Other schedules do not wait for it.
            host.logger.warning(
                "A scheduled job could not be started.", metadata: ["job.name": "\(name)", "error": "\(error)"])
        }
        try JobScheduleRules.plan(schedule, id, after: transaction.now, in: transaction)
    }

    // MARK: - The writer's part

    private struct Run: Sendable {
        let status: String
        let name: String
        /// How often it has been started, including this attempt.
        let attempts: Int64
        let parameters: JSON
    }

    /// Runs the job that has waited longest.
    /// - Returns: false when there is none.
    package func runNext(isOwn: Bool) async throws -> Bool {
        let isEach = runsTogether && !isOwn
        let rows = try await host.store.read(for: nil) {
            try $0.rows(
                isEach
                    ? "SELECT id, name FROM jobRuns ORDER BY id LIMIT 1000"
                    : "SELECT min(id) AS id, name FROM jobRuns GROUP BY name ORDER BY 1")
        }
        for row in rows {
            let (id, name) = (try row.int("id"), try row.text("name"))
            guard (jobs[name] != nil) == isOwn else { continue }
            let key = isEach ? String(id) : name
            guard isOwn || underWay.withLock({ $0.insert(key).inserted }) else { continue }
            defer { if !isOwn { _ = underWay.withLock { $0.remove(key) } } }
            // The run ended meanwhile. Another worker may have skipped the next run of this name, so look again.
            guard let run = try await begin(id) else { return true }
            return try await perform(run)
        }
        return false
    }

    /// Nil when the run has ended meanwhile.
    private func begin(_ id: Int64) async throws -> Run? {
        try await host.store.write(for: nil) { transaction in
            let row = try transaction.rows(
                "UPDATE jobRuns SET attempts = attempts + 1 WHERE id = ? RETURNING status, name, attempts", [.int(id)]
            ).first
            guard let row else { return nil }
            let status = try row.text("status")
            let text = try? transaction.get("_JobStatus", status, caller: .master)
            let parameters = text.flatMap { try? JSON(parsing: $0) }?["params"]
            return Run(
                status: status, name: try row.text("name"), attempts: try row.int("attempts"),
                parameters: parameters ?? [:])
        }
    }

    /// - Returns: false when the service stops.
    private func perform(_ run: Run) async throws -> Bool {
        do {
            let message = try await outcome(of: run)
            try await end(run.status, "succeeded", message)
        } catch is JobStopped {
            try await end(run.status, "failed", Self.stopped)
        } catch let error where error is CancellationError || error is JobNotStarted {
            // The service stops. A job of cloud code that may have started continues, and the next writer polls it. Any
            // other job is restarted by the next writer, and this attempt does not count.
            guard jobs[run.name] != nil || error is JobNotStarted else { return false }
            try await host.store.write(for: nil) { transaction in
                _ = try transaction.execute(
                    "UPDATE jobRuns SET attempts = attempts - 1 WHERE status = ?", [.text(run.status)])
            }
            return false
        } catch let error as ParseError {
            try await end(run.status, "failed", error.message)
        } catch {
            host.logger.error("A job failed.", metadata: ["job.name": "\(run.name)", "error": "\(error)"])
            try await end(run.status, "failed", "The job failed with an internal error; the log has details.")
        }
        return true
    }

    private func outcome(of run: Run) async throws -> String? {
        guard let job = jobs[run.name] else {
            let job = CodeJobRun(id: run.status, name: run.name, parameters: run.parameters, bus: host.bus)
            return try await job.run(isFirst: run.attempts == 1) { [self] in
                try await note($0, of: run)
            } isStopped: { [self] in
                try await isStopped(run)
            }
        }
        guard run.attempts <= Self.attemptsMax else {
            throw ParseError(.scriptFailed, "The job was interrupted too often.")
        }
        if try await isStopped(run) { throw JobStopped() }
        return try await job.run { [self] message in
            try Task.checkCancellation()
            if try await isStopped(run) { throw JobStopped() }
            try await note(message, of: run)
        }
    }

    private func isStopped(_ run: Run) async throws -> Bool {
        try await host.store.read(for: nil) {
            try !$0.rows("SELECT 1 FROM jobRuns WHERE status = ? AND isStopped <> 0", [.text(run.status)]).isEmpty
        }
    }

    private func note(_ message: String, of run: Run) async throws {
        try await host.store.write(for: nil) { transaction in
            _ = try transaction.update("_JobStatus", run.status, ["message": .string(message)], caller: .master)
        }
    }

    private func end(_ id: String, _ status: String, _ message: String?) async throws {
        try await host.store.write(for: nil) { try Self.end(id, status, message, in: $0) }
    }

    /// - Parameter message: nil to keep the last progress message.
    private static func end(
        _ id: String, _ status: String, _ message: String?, in transaction: StoreTransaction
    ) throws {
        let ended = try transaction.execute("DELETE FROM jobRuns WHERE status = ?", [.text(id)])
        // An end whose commit lost its answer may be stored already; it stays.
        guard ended > 0, try transaction.exists("_JobStatus", id) else { return }
        var change: JSON = ["status": .string(status), "finishedAt": transaction.now.wire]
        if let message { change["message"] = .string(message) }
        _ = try transaction.update("_JobStatus", id, change, caller: .master)
    }
}
