import Foundation
import ObjectStore
import ParseProtocol
import Platform
import ServiceKit
import ServiceSupport
import Testing

/// Schedules and runs of jobs, as the job runner starts, plans and ends them.
@Suite struct ScheduledJobTests {
    private let sandbox: SandboxStore
    private let runner: JobRunner

    init() async throws {
        sandbox = try await SandboxStore(platformPlan)
        let host = try platformPlan.host(over: sandbox.store, in: FileManager.default.temporaryDirectory.path)
        runner = try JobRunner([Job(name: "j") { _ in "" }, Self.jobWithLostEnd(sandbox.store)], host: host)
    }

    /// Its end is stored, but the runner gets an error.
    private static func jobWithLostEnd(_ store: ClassStore) -> Job {
        Job(name: "lost") { _ in
            try await store.write { transaction in
                let id = try transaction.rows("SELECT status FROM jobRuns").first?.text("status") ?? ""
                _ = try transaction.execute("DELETE FROM jobRuns")
                _ = try transaction.update("_JobStatus", id, ["status": "succeeded"], caller: .master)
            }
            throw ParseError(.serviceUnavailable, "The database is no longer available.")
        }
    }

    /// A schedule of every minute.
    private func schedule(_ more: JSON, dueAt: Int64 = 1) async throws -> String {
        var object: JSON = ["jobName": "j", "startAfter": "2020-01-01T10:00:00.000Z", "repeatMinutes": 1]
        for (key, value) in more.objectValue ?? [:] { object[key] = value }
        let stored = object
        return try await sandbox.store.write { transaction in
            let id = try transaction.create("_JobSchedule", stored, caller: .master).objectId
            _ = try transaction.execute(
                "INSERT INTO jobTimes(schedule, dueAt) VALUES (?, ?)", [.text(id), .int(dueAt)])
            return id
        }
    }

    private func dueAt(_ id: String) async throws -> Int64 {
        try await sandbox.count("SELECT dueAt FROM jobTimes WHERE schedule = '\(id)'")
    }

    @Test func aScheduleThatCannotStartDelaysNoOther() async throws {
        let refused = try await schedule(["params": .string("{\"a\":\"\(String(repeating: "x", count: 16_384))\"}")])
        let valid = try await schedule(["params": "{\"a\":1}"])
        try await runner.startDue()
        #expect(try await sandbox.count("SELECT count(*) FROM jobRuns") == 1)
        #expect(try await sandbox.document("_JobSchedule", valid)["lastRun"] != nil)
        #expect(try await sandbox.document("_JobSchedule", refused)["lastRun"] == nil)
        for id in [refused, valid] { #expect(try await dueAt(id) > 1) }
    }

    /// A waiting run.
    private func run(_ name: String) async throws -> String {
        try await sandbox.store.write { transaction in
            let status: JSON = ["jobName": .string(name), "status": "running"]
            let id = try transaction.create("_JobStatus", status, caller: .master).objectId
            _ = try transaction.execute("INSERT INTO jobRuns(status, name) VALUES (?, ?)", [.text(id), .text(name)])
            return id
        }
    }

    @Test func theStoredEndOfAJobIsKept() async throws {
        let id = try await run("lost")
        #expect(try await runner.runNext(isOwn: true))
        #expect(try await sandbox.document("_JobStatus", id)["status"] == "succeeded")
    }

    /// The service stops before it asks `cloud`.
    @Test func aCodeJobThatDidNotStartIsStartedByTheNextWriter() async throws {
        let id = try await run("ofCode")
        let work = Task { [runner] in
            // Ends with the cancellation.
            try? await Task.sleep(for: .seconds(600))
            return try await runner.runNext(isOwn: false)
        }
        work.cancel()
        #expect(try await !work.value)
        #expect(try await sandbox.count("SELECT attempts FROM jobRuns WHERE status = '\(id)'") == 0)
    }

    /// The clock was set back after the last run.
    @Test func aDueScheduleIsNotPlannedAgain() async throws {
        let lastRun = Timestamp.now.advanced(by: .seconds(3600)).milliseconds
        let due = try await schedule(["lastRun": .int(lastRun)])
        let waiting = try await schedule(["lastRun": .int(lastRun)], dueAt: lastRun + 60_000)
        try await runner.planAgain()
        #expect(try await dueAt(due) == 1)
        #expect(try await dueAt(waiting) < lastRun)
    }
}
