import ParseProtocol
import TestSupport
import Testing

/// Jobs: started by hand or by schedule, each once, with a status that shows its outcome. A crash only delays them.
@Suite struct JobTests {
    private static func status(_ suite: Suite, _ started: ParseClient.Answer) async throws -> JSON {
        let id = try #require(started.headers.first(name: "X-Parse-Job-Status-Id"))
        let master = ParseClient.master(suite)
        try await eventually("the job has ended") {
            try await master.get("/classes/_JobStatus/\(id)")["status"] != "running"
        }
        return try await master.get("/classes/_JobStatus/\(id)").json
    }

    @Test func aJobRunsAndItsStatusSaysSo() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        for (path, body) in [
            ("/jobs/recountRatings", ["why": "a test"] as JSON),
            ("/jobs", ["jobName": "recountRatings", "why": "a test"]),
        ] {
            let started = try await master.call(.POST, path, body)
            #expect(started.status == 200, "\(started.text)")
            #expect(started.json == [:], "\(started.text)")
            let status = try await Self.status(suite, started)
            #expect(status["jobName"] == "recountRatings", "\(status)")
            #expect(status["source"] == "api", "\(status)")
            #expect(status["status"] == "succeeded")
            #expect(status["params"] == ["why": "a test"])
            #expect(status["finishedAt"]?["__type"] == "Date")
            #expect(status.text("message").contains("products"))
        }
    }

    @Test func recountingMendsWhatIsWrongAndNothingElse() async throws {
        try await Suite.with { suite in
            let shelf = try await Shelf.fill(suite, names: ["Wrong", "Right"])
            let master = ParseClient.master(suite)
            let (wrong, right) = ("/classes/Product/\(shelf.productIds[0])", "/classes/Product/\(shelf.productIds[1])")
            func review(_ id: String) async throws {
                let review = try await Customer.signUp(suite).client.create(
                    "ProductReview", ["product": .pointer("Product", id), "rating": 4, "content": "Fine."])
                #expect(review.status == 201, "\(review.text)")
            }
            try await review(shelf.productIds[0])
            try await suite.tamper("catalog", "UPDATE productRatings SET total = 9, count = 3")
            for id in shelf.productIds { try await review(id) }
            try #require(try await master.get(wrong)["ratingCount"] == 4)
            let kept = try await master.get(right).json
            _ = try await Self.status(suite, try await master.call(.POST, "/jobs/recountRatings"))
            let mended = try await master.get(wrong).json
            #expect(mended["ratingCount"] == 2, "\(mended)")
            #expect(mended["ratingAverage"] == 4, "\(mended)")
            #expect(kept["ratingCount"] == 1)
            let rightAfter = try await master.get(right).json
            #expect(rightAfter == kept)
        }
    }

    @Test(arguments: ["nothing", "constructor", "__proto__", "recountratings", "recountRatings.run", "a%20b", "%00"])
    func anUnknownJobIsRefused(_ name: String) async throws {
        let master = ParseClient.master(try await Suite.shared)
        let answer = try await master.call(.POST, "/jobs/\(name)")
        #expect(answer.code == 141, "\(answer.text)")
        #expect(answer["error"] == "Invalid job.", "\(answer.text)")
        #expect(try await master.call(.POST, "/jobs").code == 141)
        #expect(try await master.call(.POST, "/jobs", ["jobName": [:]]).code == 141)
    }

    @Test func onlyOperatorsStartPlanAndSeeJobs() async throws {
        let suite = try await Suite.shared
        for client in [ParseClient(suite), try await Customer.signUp(suite).client] {
            for answer in [
                try await client.call(.POST, "/jobs/recountRatings"), try await client.get("/cloud_code/jobs"),
                try await client.get("/cloud_code/jobs/data"),
                try await client.call(.POST, "/cloud_code/jobs", ["job_schedule": ["jobName": "sweepFiles"]]),
            ] { #expect(answer.status == 403, "\(answer.text)") }
            for name in ["_JobStatus", "_JobSchedule"] {
                #expect(try await client.find(name).code == 119)
                #expect(try await client.create(name, ["jobName": "sweepFiles"]).code == 119)
            }
        }
        let master = ParseClient.master(suite)
        let forged = try await master.create("_JobStatus", ["jobName": "sweepFiles", "status": "succeeded"])
        #expect(forged.code == 119, "What became of a job is not for clients to write.")
        let admin = try await Customer.admin(suite)
        let started = try await admin.call(.POST, "/jobs/recountRatings", [:])
        #expect(started.status == 200, "\(started.text)")
        let id = started.headers.first(name: "X-Parse-Job-Status-Id") ?? ""
        #expect(try await admin.get("/classes/_JobStatus/\(id)")["jobName"] == "recountRatings")
        #expect(try await admin.create("_JobStatus", ["jobName": "sweepFiles"]).code == 119)
        let planned = try await admin.call(
            .POST, "/cloud_code/jobs",
            ["job_schedule": ["jobName": "sweepFiles", "startAfter": "2039-01-01T00:00:00.000Z"]])
        #expect(planned.status == 201, "\(planned.text)")
        #expect(try await admin.get("/cloud_code/jobs/data")["jobs"]?.arrayValue?.contains("sweepFiles") == true)
        #expect(try await admin.call(.DELETE, "/cloud_code/jobs/\(planned.objectId)").status == 200)
    }

    @Test func aScheduleIsPlannedListedChangedAndEnded() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let schedule: JSON = [
            "jobName": "sweepFiles", "description": .string(Names.random(8)),
            "startAfter": "2039-01-01T00:00:00.000Z", "daysOfWeek": [1, 3], "timeOfDay": "04:30", "params": "{}",
        ]
        let created = try await master.call(.POST, "/cloud_code/jobs", ["job_schedule": schedule])
        #expect(created.status == 201, "\(created.text)")
        let listed = try await master.get("/cloud_code/jobs").json.arrayValue?.first {
            $0.objectId == created.objectId
        }
        #expect(listed?["timeOfDay"] == "04:30")
        #expect(listed?["description"] == schedule["description"])
        let data = try await master.get("/cloud_code/jobs/data")
        #expect(data["jobs"] == ["recountRatings", "sweepFiles"])
        #expect(data["in_use"]?.arrayValue?.contains("sweepFiles") == true)
        let path = "/cloud_code/jobs/\(created.objectId)"
        #expect(try await master.call(.PUT, path, ["job_schedule": ["timeOfDay": "05:00"]]).status == 200)
        let due = try await suite.rows(
            "catalog", "SELECT dueAt FROM jobTimes WHERE schedule = '\(created.objectId)'")
        // Monday, 2039-01-03.
        #expect(due == [[.int(Timestamp(iso: "2039-01-03T05:00:00.000Z")?.milliseconds ?? 0)]])
        #expect(try await master.call(.DELETE, path).status == 200)
        #expect(try await suite.rows("catalog", "SELECT 1 FROM jobTimes WHERE schedule = '\(created.objectId)'") == [])
    }

    @Test(
        arguments: [
            ["jobName": "nothing"], [:], ["jobName": 7], ["jobName": "sweepFiles", "startAfter": "soon"],
            ["jobName": "sweepFiles", "timeOfDay": "25:00"], ["jobName": "sweepFiles", "timeOfDay": 4],
            ["jobName": "sweepFiles", "daysOfWeek": [1]],
            ["jobName": "sweepFiles", "daysOfWeek": [7], "timeOfDay": "04:00"],
            ["jobName": "sweepFiles", "daysOfWeek": ["x"], "timeOfDay": "04:00"],
            ["jobName": "sweepFiles", "repeatMinutes": -1], ["jobName": "sweepFiles", "repeatMinutes": 1.5],
            ["jobName": "sweepFiles", "repeatMinutes": 9_007_199_254_740_991],
            ["jobName": "sweepFiles", "repeatMinutes": 5, "timeOfDay": "04:00"],
        ] as [JSON])
    func aScheduleThatMeansNothingIsRefused(_ schedule: JSON) async throws {
        let master = ParseClient.master(try await Suite.shared)
        for answer in [
            try await master.call(.POST, "/cloud_code/jobs", ["job_schedule": schedule]),
            try await master.create("_JobSchedule", schedule),
        ] {
            #expect(answer.status == 400, "\(answer.text)")
            #expect([141, 142, 111].contains(answer.code), "\(answer.text)")
        }
        #expect(try await master.call(.POST, "/cloud_code/jobs", ["job_schedule": 5]).code == 107)
    }

    @Test func aJobRunsAtItsTimeOnceAndSurvivesACrash() async throws {
        try await Suite.with { suite in
            let master = ParseClient.master(suite)
            let once = try await master.call(
                .POST, "/cloud_code/jobs", ["job_schedule": ["jobName": "sweepFiles", "lastRun": 5]])
            #expect(once.status == 201, "\(once.text)")
            // Due now, and then in half an hour, which is after the test.
            let begin = Timestamp(milliseconds: Timestamp.now.milliseconds - 90 * 60_000)
            let every: JSON = [
                "jobName": "recountRatings", "repeatMinutes": 60, "startAfter": .string(begin.iso),
                "params": "{\"a\":1}",
            ]
            let repeated = try await master.call(.POST, "/cloud_code/jobs", ["job_schedule": every])
            let byHand = try await master.call(.POST, "/jobs/recountRatings", ["byHand": true])
            try await suite.kill("catalog-1")
            try await suite.untilHealthy()
            #expect(byHand.status == 200)
            var statuses: [JSON] = []
            try await eventually("all three have run: \(statuses)", within: .seconds(60)) {
                statuses = try await master.find("_JobStatus").results
                return statuses.count { $0["status"] == "succeeded" } >= 3
            }
            #expect(statuses.count == 3, "Each time counts once.")
            #expect(statuses.count { $0["source"] == "schedule" } == 2, "Each time counts once.")
            #expect(statuses.contains { $0["params"] == ["a": 1] })
            // The one-time schedule is finished; the repeated one is due within the hour.
            let lastRun = try await master.get("/classes/_JobSchedule/\(repeated.objectId)")["lastRun"]?.intValue ?? 0
            let due = try await suite.rows("catalog", "SELECT schedule, dueAt FROM jobTimes")
            #expect(due.count == 1)
            #expect(due.first?.at(0)?.stringValue == repeated.objectId)
            let next = due.first?.at(1)?.intValue ?? 0
            #expect(next > lastRun)
            #expect(next <= lastRun + 3_600_000)
        }
    }
}
