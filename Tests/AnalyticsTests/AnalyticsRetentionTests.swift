import AnalyticsService
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// Retention: each id is in one cohort and counts once for each later day and week, in any order of its events.
@Suite struct AnalyticsRetentionTests {
    private let sandbox: SandboxStore

    init() async throws { sandbox = try await SandboxStore(analyticsPlan) }

    /// Thursday, 2 May 2030.
    private static let thursday: Int64 = 22_036

    private func come(_ id: String, daysAgo: Int64, user: String? = nil) async throws {
        let at = Timestamp.now.advanced(by: .seconds(-86_400 * daysAgo))
        let event = try Event(name: "AppOpened", body: JSON.object(["at": at.wire]).serialized)
        let caller = Caller(userId: user, installationId: id)
        try await sandbox.store.write { try EventIntake.take(event, by: caller, in: $0) }
    }

    private func figures(_ parameters: JSON) async throws -> JSON {
        try await sandbox.store.read { try CohortFigures(parameters).all($0) }
    }

    private static func daysAgo(_ days: Int64) -> JSON {
        .string(Timestamp.now.advanced(by: .seconds(-86_400 * days)).iso)
    }

    // MARK: - Without a store

    @Test func weeksBeginOnMonday() {
        let monday = Self.thursday - 3
        #expect(Visits.day(ofWeek: Visits.week(of: Self.thursday)) == monday)
        #expect(Visits.week(of: monday + 6) == Visits.week(of: monday))
        #expect(Visits.week(of: monday - 1) == Visits.week(of: monday) - 1)
    }

    @Test func aDayAndAWeekCountOnce() {
        var visits = Visits(on: Self.thursday)
        for day in [0, 1, 1, 4, 5, 4] { visits.add(Self.thursday + Int64(day)) }
        #expect(visits.days == 0b110011)
        #expect(visits.weeks == 0b11)
        #expect(visits.firstDay == Self.thursday)
        #expect(visits.lastDay == Self.thursday + 5)
    }

    /// Devices send events that they collected offline.
    @Test func theOrderOfReportsDoesNotMatter() {
        let days = [0, 2, 3, 9, 20, 29].map { Self.thursday + $0 }
        var inOrder = Visits(on: days[0])
        for day in days { inOrder.add(day) }
        for _ in 0..<20 {
            let shuffled = days.shuffled()
            var visits = Visits(on: shuffled[0])
            for day in shuffled { visits.add(day) }
            #expect(visits == inOrder, "\(shuffled)")
        }
    }

    @Test func whatIsTooLateForABitIsLeftOut() {
        var visits = Visits(on: Self.thursday)
        visits.add(Self.thursday + Visits.laterMax)
        #expect(visits.days == 1 << 62 | 1)
        visits.add(Self.thursday + Visits.laterMax + 1)
        visits.add(Self.thursday + 10_000)
        #expect(visits.days == 1 << 62 | 1)
        #expect(visits.lastDay == Self.thursday + 10_000)
        visits.add(Self.thursday - 1)
        #expect(visits.days == 0b11, "The greatest bit is moved out, not into the sign.")
        #expect(visits.weeks > 0)
    }

    @Test(
        arguments: [
            ["kind": "devices"], ["kind": 1], ["interval": "month"], ["interval": 7], ["periods": 0], ["periods": 63],
            ["periods": 1.5], ["periods": "12"], ["from": "2020-01-01T00:00:00.000Z"],
            ["interval": "day", "from": AnalyticsRetentionTests.daysAgo(70)],
            ["from": AnalyticsRetentionTests.daysAgo(1), "to": AnalyticsRetentionTests.daysAgo(2)],
        ] as [JSON])
    func figuresThatCannotBeAreRefused(parameters: JSON) async {
        #expect(await parseError { _ = try CohortFigures(parameters) }?.code == .validationError)
    }

    // MARK: - With a store

    @Test func eachIsInTheCohortOfItsFirstDay() async throws {
        try await come("a", daysAgo: 3, user: "u1")
        try await come("b", daysAgo: 3)
        try await come("a", daysAgo: 1, user: "u1")
        try await come("a", daysAgo: 1, user: "u1")
        try await come("c", daysAgo: 0, user: "u1")
        // Before all others, but reported last.
        try await come("b", daysAgo: 5)
        let answer = try await figures(["interval": "day", "from": Self.daysAgo(6), "periods": 4])
        let cohorts = answer["cohorts"]?.arrayValue ?? []
        #expect(cohorts.map { $0["size"]?.intValue } == [0, 1, 0, 1, 0, 0, 1])
        #expect(cohorts[1]["returned"] == [0, 1, 0, 0], "b")
        #expect(cohorts[3]["returned"] == [0, 1, 0], "a")
        #expect(cohorts[6]["returned"] == [], "c")
        #expect(answer["since"] == cohorts[1]["at"])
        #expect(answer["complete"] == true)
        let asked: JSON = ["kind": "users", "interval": "day", "from": Self.daysAgo(3)]
        let user = try await figures(asked)["cohorts"]?.arrayValue?.first
        #expect(user?["size"] == 1)
        #expect(user?["returned"] == [0, 1, 1])
        let weeks = try await figures(["from": Self.daysAgo(6)])["cohorts"]?.arrayValue ?? []
        #expect(weeks.reduce(0) { $0 + ($1["size"]?.intValue ?? 0) } == 3)
    }

    @Test func aDeletedAccountLeavesItsFigureAndNotItsName() async throws {
        try await come("a", daysAgo: 2, user: "u1")
        try await sandbox.store.write { try ActiveIds.forget("u1", in: $0) }
        #expect(try await sandbox.count("SELECT count(*) FROM visits WHERE id = 'u1'") == 0)
        #expect(try await sandbox.count("SELECT count(*) FROM visits WHERE kind = 0 AND id LIKE 'deleted:%'") == 1)
    }

    /// An id without events for longer than the retention time is removed; an id that returns in time is not.
    @Test func thoseWhoStayAwayAreForgotten() async throws {
        for id in ["a", "b", "c"] { try await come(id, daysAgo: 1) }
        let store = sandbox.store
        try await store.write { _ = try $0.execute("UPDATE visits SET firstDay = 1, lastDay = 1 WHERE id <> 'c'") }
        let today = Hour(of: .now).day
        let stale = try await store.read { try VisitLog.stale(today: today, $0) }
        #expect(stale.count == 2)
        try await come("a", daysAgo: 0)
        try await store.write { try VisitLog.remove(stale, today: today, in: $0) }
        #expect(try await sandbox.count("SELECT count(*) FROM visits WHERE id IN ('a', 'c')") == 2)
        #expect(try await sandbox.count("SELECT count(*) FROM visits") == 2)
        #expect(try await sandbox.count("SELECT ids FROM visitTotals WHERE kind = 1") == 2)
        let rest = try await store.read { try VisitLog.stale(today: today, $0) }
        #expect(rest.isEmpty)
    }

    /// Over the limit, new ids are not tracked, and the answer reports that.
    @Test func aBoundIsSaid() async throws {
        try await come("a", daysAgo: 1)
        try await sandbox.store.write { _ = try $0.execute("UPDATE visitTotals SET ids = 1000000") }
        try await come("b", daysAgo: 1)
        try await come("a", daysAgo: 0)
        let answer = try await figures(["interval": "day", "from": Self.daysAgo(1)])
        #expect(answer["complete"] == false)
        let cohort = answer["cohorts"]?.arrayValue?.first
        #expect(cohort?["size"] == 1)
        #expect(cohort?["returned"] == [1])
    }
}
