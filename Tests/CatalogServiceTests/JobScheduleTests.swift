import CatalogService
import ParseProtocol
import Testing

/// The next time at which a job runs, decided without a clock.
@Suite struct JobScheduleTests {
    private static func moment(_ iso: String) throws -> Timestamp { try #require(Timestamp(iso: iso)) }

    private static func schedule(_ members: JSON) throws -> JobSchedule {
        var object: JSON = ["jobName": "j", "startAfter": "2030-01-01T10:00:00.000Z"]
        for (key, value) in members.objectValue ?? [:] { object[key] = value }
        return try JobSchedule(object, jobs: ["j"])
    }

    /// Last run, then the next one; empty for none.
    @Test(
        arguments: [
            ([:], "", "2030-01-01T10:00:00.000Z"), ([:], "2030-01-01T10:00:01.000Z", ""),
            ([:], "2029-12-31T00:00:00.000Z", "2030-01-01T10:00:00.000Z"),
            (["repeatMinutes": 30], "", "2030-01-01T10:00:00.000Z"),
            (["repeatMinutes": 30], "2030-01-01T10:00:00.000Z", "2030-01-01T10:30:00.000Z"),
            // What was missed for days is made up for once.
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
        ] as [(JSON, String, String)])
    func theNextTimeFollowsFromTheLast(_ members: JSON, _ last: String, _ next: String) throws {
        let lastRun = last.isEmpty ? nil : try Self.moment(last)
        #expect(try Self.schedule(members).next(after: lastRun)?.iso ?? "" == next)
    }

    @Test func daysBefore1970AreDays() throws {
        let schedule = try Self.schedule([
            "startAfter": "1969-12-28T10:00:00.000Z", "timeOfDay": "09:00", "daysOfWeek": [0],
        ])
        #expect(schedule.next(after: nil)?.iso == "1970-01-04T09:00:00.000Z")
    }
}
