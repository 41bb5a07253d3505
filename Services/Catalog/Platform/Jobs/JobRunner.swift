import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// Starts jobs and writes down how each went: Satchel's own one after the other, those of cloud code beside them, of
/// each name one at a time unless a setting says otherwise. What is asked for is stored first, so that it happens
/// although a process dies; only the writer runs it.
final class JobRunner: Sendable {
    let jobs: [String: Job]
    private let host: ServiceHost
    /// The bells of the workers: the first one's runs Satchel's own jobs, the others' those of the code.
    private let wakeUps: [WakeUp]
    /// Whether runs of one job of the code may be under way together.
    private let runsTogether: Bool
    /// The names of the code's jobs that are under way; where they may be together, the numbers of their runs.
    private let underWay = Mutex<Set<String>>([])

    /// Jobs of the code that run at once. They share its processes with functions and triggers.
    static let codeJobsMax = 4
    /// A job that ends its process that often is not tried again.
    private static let attemptsMax: Int64 = 5
    /// Schedules are in minutes.
    private static let schedulePause = Duration.seconds(1)
    private static let parametersBytesMax = 16_384
    /// Runs of a name that wait: of what is started more often than it ends there would be ever more.
    private static let waitingMax: Int64 = 100
    private static let stopped = "The job was stopped."

    /// - Throws: `StartupProblem`.
    init(_ jobs: [Job], host: ServiceHost) throws {
        runsTogether = try host.configuration.settings.flag("satchel.cloud.jobs.together", default: false)
        self.jobs = Dictionary(uniqueKeysWithValues: jobs.map { ($0.name, $0) })
        self.host = host
        wakeUps = (0...Self.codeJobsMax).map { _ in WakeUp() }
    }

    /// Stores that a job is to run.
    /// - Returns: the objectId of its `_JobStatus`.
    /// - Throws: `.scriptFailed` (141) for an unknown job, `.validationError` (142) and `.invalidJSON` (107) for
    ///   parameters that cannot be kept, `.requestLimitExceeded` (155) when too many runs of the job wait.
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

    /// Ends a job: at once where it waits, else as soon as it can be.
    /// - Parameter name: the job's, for all of its runs, or the objectId of a `_JobStatus`.
    /// - Throws: `.objectNotFound` (101) when none waits or runs.
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

    /// Runs what is stored, and what schedules ask for. A long job keeps no schedule from being noted.
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
    }

    /// Starts the jobs of schedules that are due. Being started and being planned anew is one transaction, so that a
    /// time counts once.
    private func startDue() async throws {
        let isAnyDue = try await host.store.read {
            try !$0.rows("SELECT 1 FROM jobTimes WHERE dueAt <= ? LIMIT 1", [.int(Timestamp.now.milliseconds)]).isEmpty
        }
        guard isAnyDue else { return }
        try await host.store.write { [self] transaction in
            let rows = try transaction.rows(
                "SELECT schedule FROM jobTimes WHERE dueAt <= ? ORDER BY dueAt LIMIT 100",
                [.int(transaction.now.milliseconds)])
            for row in rows { try startScheduled(row.text("schedule"), in: transaction) }
        }
    }

    private func startScheduled(_ id: String, in transaction: StoreTransaction) throws {
        guard let text = try? transaction.get("_JobSchedule", id, caller: .master),
            let object = try? JSON(parsing: text), let name = object["jobName"]?.stringValue,
            let schedule = try? JobSchedule(object, jobs: [name])
        else {
            // A schedule that another release understood.
            _ = try transaction.execute("DELETE FROM jobTimes WHERE schedule = ?", [.text(id)])
            return
        }
        guard try isKnown(name, in: transaction) else {
            host.logger.warning("A scheduled job is not there at its time.", metadata: ["job.name": "\(name)"])
            return try JobScheduleRules.plan(schedule, id, after: transaction.now, in: transaction)
        }
        guard try hasRoom(for: name, in: transaction) else {
            host.logger.warning("Too many runs of a scheduled job wait.", metadata: ["job.name": "\(name)"])
            return try JobScheduleRules.plan(schedule, id, after: transaction.now, in: transaction)
        }
        let parameters = object["params"]?.stringValue.flatMap { try? JSON(parsing: $0) } ?? [:]
        _ = try start(name, parameters.objectValue == nil ? [:] : parameters, source: "schedule", in: transaction)
        _ = try transaction.update(
            "_JobSchedule", id, ["lastRun": .int(transaction.now.milliseconds)], caller: .master)
        try JobScheduleRules.plan(schedule, id, after: transaction.now, in: transaction)
    }

    // MARK: - The writer's part

    private struct Run: Sendable {
        let status: String
        let name: String
        /// How often it has been begun, with this time.
        let attempts: Int64
        let parameters: JSON
    }

    /// Runs the job that waits longest.
    /// - Returns: false when there is none.
    private func runNext(isOwn: Bool) async throws -> Bool {
        let isEach = runsTogether && !isOwn
        let rows = try await host.store.read {
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
            // Ended meanwhile. Another worker may have passed by the next one of the name: looked at again.
            guard let run = try await begin(id) else { return true }
            return try await perform(run)
        }
        return false
    }

    /// Nil for one that has ended meanwhile.
    private func begin(_ id: Int64) async throws -> Run? {
        try await host.store.write { transaction in
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
        } catch is CancellationError {
            // The service stops. The next writer runs a job of Satchel's from its start, and this was no attempt that
            // failed; one of the code's goes on, and the next writer looks at it.
            guard jobs[run.name] != nil else { return false }
            try await host.store.write { transaction in
                _ = try transaction.execute(
                    "UPDATE jobRuns SET attempts = attempts - 1 WHERE status = ?", [.text(run.status)])
            }
            return false
        } catch let error as ParseError {
            try await end(run.status, "failed", error.message)
        } catch {
            host.logger.error("A job failed.", metadata: ["job.name": "\(run.name)", "error": "\(error)"])
            try await end(run.status, "failed", "The job met a fault, which is in the log.")
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
        try await host.store.read {
            try !$0.rows("SELECT 1 FROM jobRuns WHERE status = ? AND isStopped <> 0", [.text(run.status)]).isEmpty
        }
    }

    private func note(_ message: String, of run: Run) async throws {
        try await host.store.write { transaction in
            _ = try transaction.update("_JobStatus", run.status, ["message": .string(message)], caller: .master)
        }
    }

    private func end(_ id: String, _ status: String, _ message: String?) async throws {
        try await host.store.write { try Self.end(id, status, message, in: $0) }
    }

    /// - Parameter message: nil to leave what it said last.
    private static func end(
        _ id: String, _ status: String, _ message: String?, in transaction: StoreTransaction
    ) throws {
        _ = try transaction.execute("DELETE FROM jobRuns WHERE status = ?", [.text(id)])
        guard try transaction.exists("_JobStatus", id) else { return }
        var change: JSON = ["status": .string(status), "finishedAt": transaction.now.wire]
        if let message { change["message"] = .string(message) }
        _ = try transaction.update("_JobStatus", id, change, caller: .master)
    }
}
