import ParseProtocol
import Platform
import Testing

/// The next time at which a job runs, decided without a clock.
@Suite struct JobScheduleTests {
    private static func moment(_ iso: String) throws -> Timestamp { try #require(Timestamp(iso: iso)) }

    private static func schedule(_ members: JSON) throws -> JobSchedule {
        var object: JSON = ["jobName": "j", "startAfter": "2030-01-01T10:00:00.000Z"]
        for (key, value) in members.objectValue ?? [:] { object[key] = value }
        return try JobSchedule(object, jobs: ["j"])
    }

    /// The last run, and the expected next run; empty for none.
    @Test(
        arguments: [
            ([:], "", "2030-01-01T10:00:00.000Z"), ([:], "2030-01-01T10:00:01.000Z", ""),
            ([:], "2029-12-31T00:00:00.000Z", "2030-01-01T10:00:00.000Z"),
            (["repeatMinutes": 30], "", "2030-01-01T10:00:00.000Z"),
            (["repeatMinutes": 30], "2030-01-01T10:00:00.000Z", "2030-01-01T10:30:00.000Z"),
            // Runs missed for days are made up for once.
            (["repeatMinutes": 30], "2030-01-05T11:10:00.000Z", "2030-01-05T11:30:00.000Z"),
            (["timeOfDay": "09:00"], "", "2030-01-02T09:00:00.000Z"),
            (["timeOfDay": "10:00:00.000Z"], "", "2030-01-01T10:00:00.000Z"),
            (["timeOfDay": "23:59:59"], "2030-01-01T23:59:59.000Z", "2030-01-02T23:59:59.000Z"),
            // 2030-01-01 is a Tuesday.
            (["timeOfDay": "09:00", "daysOfWeek": [0]], "", "2030-01-06T09:00:00.000Z"),
            (["timeOfDay": "09:00", "daysOfWeek": ["2"]], "", "2030-01-08T09:00:00.000Z"),
            (["timeOfDay": "11:00", "daysOfWeek": [2, 4]], "", "2030-01-01T11:00:00.000Z"),
            (["timeOfDay": "11:00", "daysOfWeek": [2, 4]], "2030-01-01T11:00:00.000Z", "2030-01-03T11:00:00.000Z"),
            (["timeOfDay": "11:00", "daysOfWeek": [2]], "2030-01-01T11:00:00.000Z", "2030-01-08T11:00:00.000Z"),
            (["repeatMinutes": 0, "timeOfDay": "", "daysOfWeek": []], "", "2030-01-01T10:00:00.000Z"),
            (["cron": "*/20 * * * *"], "", "2030-01-01T10:00:00.000Z"),
            (["cron": "*/20 * * * *"], "2030-01-01T10:00:00.400Z", "2030-01-01T10:20:00.000Z"),
            (["cron": "0,30 9-17/4 * * *"], "2030-01-01T10:00:01.000Z", "2030-01-01T13:00:00.000Z"),
            (["cron": "15 4 * * MON"], "", "2030-01-07T04:15:00.000Z"),
            (["cron": "15 4 * * 7"], "", "2030-01-06T04:15:00.000Z"),
            (["cron": "0 0 29 feb *"], "", "2032-02-29T00:00:00.000Z"),
            // One of the two day fields must match: a Friday, or the 13th.
            (["cron": "0 0 13 * 5"], "2030-01-11T00:00:00.000Z", "2030-01-13T00:00:00.000Z"),
            (["cron": "0 0 13 * *"], "2030-01-11T00:00:00.000Z", "2030-01-13T00:00:00.000Z"),
            (["cron": "59 23 31 12 *"], "2030-12-31T23:59:00.000Z", "2031-12-31T23:59:00.000Z"),
        ] as [(JSON, String, String)])
    func theNextTimeFollowsFromTheLast(_ members: JSON, _ last: String, _ next: String) throws {
        let lastRun = last.isEmpty ? nil : try Self.moment(last)
        #expect(try Self.schedule(members).next(after: lastRun)?.iso ?? "" == next)
    }

    @Test(
        arguments: [
            "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "a * * * *",
            "5/2 * * * *", "*/0 * * * *", "3-1 * * * *", "1, * * * *", "0 0 30 2 *", "* * * anf *", "-1 * * * *",
            "1-2-3 * * * *", "",
        ])
    func whatIsNoLineOfCronIsRefused(_ line: String) {
        #expect(throws: ParseError.self) { try CronTimes(line) }
    }

    @Test func daysBefore1970AreDays() throws {
        let schedule = try Self.schedule([
            "startAfter": "1969-12-28T10:00:00.000Z", "timeOfDay": "09:00", "daysOfWeek": [0],
        ])
        #expect(schedule.next(after: nil)?.iso == "1970-01-04T09:00:00.000Z")
    }
}
