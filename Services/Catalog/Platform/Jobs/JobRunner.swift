import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// Starts jobs, one after the other, and writes down how each went. What is asked for is stored first, so that it
/// happens although a process dies; only the writer runs it.
final class JobRunner: Sendable {
    let jobs: [String: Job]
    private let host: ServiceHost
    private let wakeUp = WakeUp()

    /// A job that ends its process that often is not tried again.
    private static let attemptsMax: Int64 = 5
    /// Schedules are in minutes.
    private static let schedulePause = Duration.seconds(1)
    private static let parametersBytesMax = 16_384

    init(_ jobs: [Job], host: ServiceHost) {
        self.jobs = Dictionary(uniqueKeysWithValues: jobs.map { ($0.name, $0) })
        self.host = host
    }

    /// Stores that a job is to run.
    /// - Returns: the objectId of its `_JobStatus`.
    /// - Throws: `.scriptFailed` (141) for an unknown job, `.validationError` (142) and `.invalidJSON` (107) for
    ///   parameters that cannot be kept.
    func start(
        _ name: String, _ parameters: JSON, source: String, in transaction: StoreTransaction
    ) throws -> String {
        guard jobs[name] != nil else { throw ParseError(.scriptFailed, "Invalid job.") }
        guard case .object = parameters, parameters.serialized.count <= Self.parametersBytesMax else {
            throw ParseError(
                .validationError, "A job's parameters are an object of at most \(Self.parametersBytesMax) bytes.")
        }
        let status: JSON = [
            "jobName": .string(name), "source": .string(source), "status": "running", "params": parameters, "ACL": [:],
        ]
        let id = try transaction.create("_JobStatus", status, caller: .master).objectId
        _ = try transaction.execute("INSERT INTO jobRuns(status, name) VALUES (?, ?)", [.text(id), .text(name)])
        transaction.afterCommit { [wakeUp] in wakeUp.ring() }
        return id
    }

    // MARK: - The writer's part

    /// Runs what is stored, and what schedules ask for. A long job keeps no schedule from being noted.
    func keepRunning() {
        host.background.add(
            BackgroundWork(
                "jobs", every: Self.schedulePause, problem: "Jobs could not be read or written.", logger: host.logger,
                wakeUp: wakeUp
            ) { [self] in try await runNext() ? .more : .idle })
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
            let object = try? JSON(parsing: text),
            let schedule = try? JobSchedule(object, jobs: Set(jobs.keys))
        else {
            // A schedule of a release that had other jobs.
            _ = try transaction.execute("DELETE FROM jobTimes WHERE schedule = ?", [.text(id)])
            return
        }
        let parameters = object["params"]?.stringValue.flatMap { try? JSON(parsing: $0) } ?? [:]
        _ = try start(
            schedule.jobName, parameters.objectValue == nil ? [:] : parameters, source: "schedule", in: transaction)
        _ = try transaction.update(
            "_JobSchedule", id, ["lastRun": .int(transaction.now.milliseconds)], caller: .master)
        try JobScheduleRules.plan(schedule, id, after: transaction.now, in: transaction)
    }

    /// Runs the job that waits longest.
    /// - Returns: false when there is none.
    private func runNext() async throws -> Bool {
        let row = try await host.store.write { transaction in
            try transaction.rows(
                """
                UPDATE jobRuns SET attempts = attempts + 1 WHERE id = (SELECT min(id) FROM jobRuns)
                RETURNING status, name, attempts
                """, []
            ).first
        }
        guard let row else { return false }
        let status = try row.text("status")
        guard let job = try jobs[row.text("name")], try row.int("attempts") <= Self.attemptsMax else {
            try await end(status, "failed", "The job was interrupted too often.")
            return true
        }
        do {
            let message = try await job.run { [self] message in
                try Task.checkCancellation()
                try await tell(status, message)
            }
            try await end(status, "succeeded", message)
        } catch is CancellationError {
            // The service stops. The next writer runs the job from its start, and this was no attempt that failed.
            try await host.store.write { transaction in
                _ = try transaction.execute(
                    "UPDATE jobRuns SET attempts = attempts - 1 WHERE status = ?", [.text(status)])
            }
            return false
        } catch let error as ParseError {
            try await end(status, "failed", error.message)
        } catch {
            host.logger.error("A job failed.", metadata: ["job.name": "\(job.name)", "error": "\(error)"])
            try await end(status, "failed", "The job met a fault, which is in the log.")
        }
        return true
    }

    private func tell(_ status: String, _ message: String) async throws {
        try await host.store.write { transaction in
            _ = try transaction.update("_JobStatus", status, ["message": .string(message)], caller: .master)
        }
    }

    private func end(_ id: String, _ status: String, _ message: String) async throws {
        try await host.store.write { transaction in
            _ = try transaction.execute("DELETE FROM jobRuns WHERE status = ?", [.text(id)])
            guard try transaction.exists("_JobStatus", id) else { return }
            _ = try transaction.update(
                "_JobStatus", id,
                ["status": .string(status), "message": .string(message), "finishedAt": transaction.now.wire],
                caller: .master)
        }
    }
}
