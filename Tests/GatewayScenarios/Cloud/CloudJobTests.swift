import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Jobs in JavaScript: started by hand and by schedules, with messages, one at a time per name, stopped, over their
/// time limit, and when processes die.
@Suite struct CloudJobTests {
    private static let code = """
        Parse.Cloud.define('hello', () => 'hello');
        const mark = (job, more) => new Parse.Object('JobMark').save({ job, ...more }, { useMasterKey: true });
        Parse.Cloud.job('count', async (request) => {
          await mark('count', { n: request.params.n || 0, run: request.jobId });
          request.message('half');
          return `counted ${request.params.n}`;
        });
        Parse.Cloud.job('old', function (request, status) {
          Parse.Cloud.useMasterKey();
          status.message('began');
          new Parse.Query('JobMark').count().then(function () { status.success(); });
        });
        Parse.Cloud.job('broken', () => { throw new Error('It broke.'); });
        Parse.Cloud.job('held', async (request) => {
          await mark('held', { pid: process.pid });
          request.message('holding');
          await new Promise(() => {});
        });
        """

    private static func start(jobSeconds: Int = 60, together: Bool = false) async throws -> Suite {
        try await CloudSuite.start(
            code,
            settings: [
                "SATCHEL_CLOUD_JOB_SECONDS": "\(jobSeconds)", "SATCHEL_CLOUD_JOBS_TOGETHER": "\(together)",
            ])
    }

    /// The suite that harmless tests share.
    private static var suite: Suite { get async throws { try await shared.value } }
    private static let shared = Task { try await start() }

    private func begin(_ name: String, _ parameters: JSON = [:], in suite: Suite) async throws -> String {
        let started = try await ParseClient.master(suite).call(.POST, "/jobs/\(name)", parameters)
        #expect(started.status == 200, "\(started.text)")
        return try #require(started.headers.first(name: "X-Parse-Job-Status-Id"))
    }

    private func status(_ id: String, in suite: Suite) async throws -> JSON {
        try await ParseClient.master(suite).get("/classes/_JobStatus/\(id)").json
    }

    private func end(of id: String, in suite: Suite) async throws -> JSON {
        try await eventually("the job has ended") { try await status(id, in: suite)["status"] != "running" }
        return try await status(id, in: suite)
    }

    private func marks(_ name: String, in suite: Suite) async throws -> [JSON] {
        try await ParseClient.master(suite).find("JobMark", ["job": .string(name)]).results
    }

    @Test func aJobRunsWithItsParametersAndSaysHowItWent() async throws {
        let suite = try await Self.suite
        let id = try await begin("count", ["n": 7], in: suite)
        let ended = try await end(of: id, in: suite)
        #expect(ended["status"] == "succeeded", "\(ended)")
        #expect(ended["message"] == "counted 7")
        #expect(ended["params"] == ["n": 7])
        #expect(ended["source"] == "api")
        #expect(try await marks("count", in: suite).contains { $0["run"] == .string(id) })

        let old = try await end(of: begin("old", in: suite), in: suite)
        #expect(old["status"] == "succeeded", "\(old)")
        #expect(old["message"] == "began", "It ended without a text of its own.")

        let broken = try await end(of: begin("broken", in: suite), in: suite)
        #expect(broken["status"] == "failed")
        #expect(broken["message"] == "It broke.")
    }

    @Test func aJobThatEndsAtOnceIsNeverSeenRunning() async throws {
        let suite = try await Self.suite
        var prompt = 0
        for _ in 1...100 where prompt < 5 {
            let start = ContinuousClock.now
            let id = try await begin("broken", in: suite)
            // The answer waits for the end of the job, at most 500 ms.
            let isPrompt = ContinuousClock.now - start < .milliseconds(500)
            let stored = try await isPrompt ? status(id, in: suite) : end(of: id, in: suite)
            #expect(stored["status"] == "failed", "\(stored)")
            if isPrompt { prompt += 1 }
        }
        #expect(prompt == 5)
    }

    @Test func onlyTheMasterKeyStartsAndStopsAJobOfTheCode() async throws {
        let suite = try await Self.suite
        let ann = try await Customer.signUp(suite)
        #expect(try await ann.client.call(.POST, "/jobs/count").status == 403)
        #expect(try await ann.client.call(.DELETE, "/jobs/count").status == 403)
        let names = try await ParseClient.master(suite).get("/cloud_code/jobs/data")["jobs"]
        #expect(names == ["broken", "count", "held", "old", "recountRatings", "sweepFiles"])
    }

    @Test func aLineOfCronStartsAJob() async throws {
        let suite = try await Self.suite
        let master = ParseClient.master(suite)
        let refused = try await master.call(
            .POST, "/cloud_code/jobs", ["job_schedule": ["jobName": "count", "cron": "61 * * * *"]])
        #expect(refused.code == 142, "\(refused.text)")
        let planned = try await master.call(
            .POST, "/cloud_code/jobs",
            ["job_schedule": ["jobName": "count", "cron": "30 4 * * 1-5", "startAfter": "2039-01-01T00:00:00.000Z"]])
        #expect(planned.status == 201, "\(planned.text)")
        let due = try await suite.rows(
            "catalog", "SELECT dueAt FROM jobTimes WHERE schedule = '\(planned.objectId)'")
        // January 1, 2039 is a Saturday.
        #expect(due == [[.int(Timestamp(iso: "2039-01-03T04:30:00.000Z")?.milliseconds ?? 0)]])

        // A missed run is made up for once.
        let past = try await master.call(
            .POST, "/cloud_code/jobs",
            [
                "job_schedule": [
                    "jobName": "count", "cron": "0 0 1 1 *", "startAfter": "2024-01-01T00:00:00.000Z",
                    "params": "{\"n\":99}",
                ]
            ])
        #expect(past.status == 201, "\(past.text)")
        try await eventually("it has run") { try await marks("count", in: suite).contains { $0["n"] == 99 } }
        let statuses = try await master.find("_JobStatus", ["source": "schedule"]).results
        #expect(statuses.count == 1)
    }

    @Test func oneOfANameRunsAtATimeAndAllOfThemCanBeStopped() async throws {
        let suite = try await Self.start()
        let master = ParseClient.master(suite)
        let first = try await begin("held", in: suite)
        try await eventually("the first one says so") { try await status(first, in: suite)["message"] == "holding" }
        let second = try await begin("held", in: suite)
        // A job of another name does not wait for it.
        let other = try await end(of: begin("count", in: suite), in: suite)
        #expect(other["status"] == "succeeded")
        #expect(try await marks("held", in: suite).count == 1)

        #expect(try await master.call(.DELETE, "/jobs/held").status == 200)
        for id in [first, second] {
            let ended = try await end(of: id, in: suite)
            #expect(ended["status"] == "failed")
            #expect(ended["message"] == "The job was stopped.", "\(ended)")
        }
        #expect(try await marks("held", in: suite).count == 1, "The second one never began.")
        #expect(try await master.call(.DELETE, "/jobs/held").code == 101)
        await suite.stop()
    }

    @Test func aJobThatIsStartedMoreOftenThanItEndsWaitsABoundedNumberOfTimes() async throws {
        let suite = try await Self.start()
        let master = ParseClient.master(suite)
        let first = try await begin("held", in: suite)
        try await eventually("it runs") { try await status(first, in: suite)["message"] == "holding" }
        try await suite.tamper(
            "catalog",
            """
            INSERT INTO jobRuns(status, name)
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
            SELECT 'waits' || i, 'held' FROM n
            """)
        #expect(try await master.call(.POST, "/jobs/held").code == 155)
        let planned = try await master.call(
            .POST, "/cloud_code/jobs",
            ["job_schedule": ["jobName": "held", "repeatMinutes": 60, "startAfter": "2024-01-01T00:00:00.000Z"]])
        #expect(planned.status == 201, "\(planned.text)")
        try await eventually("its time has passed by") {
            let due = try await suite.rows("catalog", "SELECT 1 FROM jobTimes WHERE dueAt > 1704067200000")
            return due.count == 1
        }
        #expect(try await suite.rows("catalog", "SELECT 1 FROM jobRuns").count == 101)
        await suite.stop()
    }

    @Test func runsOfOneJobMayBeTogether() async throws {
        let suite = try await Self.start(together: true)
        let ids = [try await begin("held", in: suite), try await begin("held", in: suite)]
        try await eventually("both run") { try await marks("held", in: suite).count == 2 }
        // Only one of them.
        #expect(try await ParseClient.master(suite).call(.DELETE, "/jobs/\(ids[0])").status == 200)
        let ended = try await end(of: ids[0], in: suite)
        #expect(ended["message"] == "The job was stopped.")
        #expect(try await status(ids[1], in: suite)["status"] == "running")
        await suite.stop()
    }

    @Test func aJobPastItsLimitIsEnded() async throws {
        let suite = try await Self.start(jobSeconds: 1)
        let ended = try await end(of: begin("held", in: suite), in: suite)
        #expect(ended["status"] == "failed")
        #expect(ended["message"] == "The cloud code took longer than it may and was ended.", "\(ended)")
        await suite.stop()
    }

    @Test func aScheduleOutlivesItsJob() async throws {
        let suite = try await Self.start()
        let planned = try await ParseClient.master(suite).call(
            .POST, "/cloud_code/jobs",
            ["job_schedule": ["jobName": "count", "repeatMinutes": 60, "startAfter": "2039-01-01T00:00:00.000Z"]])
        #expect(planned.status == 201, "\(planned.text)")
        try await suite.tamper("catalog", "DELETE FROM codeHooks")
        try await suite.tamper("catalog", "UPDATE jobTimes SET dueAt = 5")
        try await eventually("it is planned anew") {
            try await suite.rows("catalog", "SELECT 1 FROM jobTimes WHERE dueAt > 5").count == 1
        }
        #expect(try await ParseClient.master(suite).find("_JobStatus", [:]).results == [])
        await suite.stop()
    }

    @Test(.timeLimit(.minutes(10))) func aJobRunsOnceWhicheverProcessDies() async throws {
        let suite = try await Self.start()
        let id = try await begin("held", in: suite)
        try await eventually("it runs") { try await marks("held", in: suite).count == 1 }
        // The writer that started it dies; the next writer takes over.
        try await suite.kill("catalog-1")
        try await suite.untilHealthy()
        #expect(try await status(id, in: suite)["status"] == "running")
        // The job's process dies.
        let pid = try #require(try await marks("held", in: suite).first?["pid"]?.intValue)
        #expect(kill(pid_t(pid), SIGKILL) == 0)
        let ended = try await end(of: id, in: suite)
        #expect(ended["status"] == "failed")
        #expect(ended["message"] == "The process of the cloud code ended while it worked on this.", "\(ended)")
        #expect(try await marks("held", in: suite).count == 1)
        // `cloud` dies during the next one.
        let next = try await begin("held", in: suite)
        try await eventually("it runs") { try await marks("held", in: suite).count == 2 }
        try await suite.kill("cloud-1")
        let lost = try await end(of: next, in: suite)
        #expect(lost["message"] == "The process of the cloud code ended before the job did.", "\(lost)")
        #expect(try await marks("held", in: suite).count == 2)
        await suite.stop()
    }
}
