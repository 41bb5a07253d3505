import CrashService
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// Reports, sessions and devices per day: each counts once, on its day and for its version, within limits.
@Suite struct CrashFigureTests {
    private let sandbox: SandboxStore

    init() async throws { sandbox = try await SandboxStore(crashPlan) }

    private static func report(
        _ id: String, device: String? = "d1", release: String = "shop@1.0.0", status: String = "ok",
        daysAgo: Int64 = 0
    ) -> JSON {
        var report: JSON = [
            "sid": .string(id), "status": .string(status), "attrs": ["release": .string(release)],
            "started": .string(Timestamp.now.advanced(by: .seconds(-86_400 * daysAgo)).iso),
        ]
        report["did"] = device.map(JSON.string)
        return report
    }

    private func tell(_ reports: JSON..., projectId: Int64 = 1) async throws {
        try await sandbox.store.write { transaction in
            for report in reports {
                guard let session = AppSession(report, projectId: projectId, now: transaction.now) else { continue }
                try SessionLog.add(session, projectId: projectId, in: transaction)
            }
        }
    }

    private func crash(_ id: Int, level: String = "fatal", release: String = "shop@1.0.0") async throws {
        let digits = String(id, radix: 16)
        let event = StoredEvent(
            [
                "exception": ["values": [["type": .string("E\(level)"), "value": "x"]]], "release": .string(release),
                "level": .string(level),
            ], eventId: String(repeating: "0", count: 32 - digits.count) + digits)
        try await sandbox.store.write { try IssueLog.add(event, projectId: 1, in: $0) }
    }

    private func figures(_ parameters: JSON = [:]) async throws -> JSON {
        try await sandbox.store.read { try CrashFigures(parameters).crashFree($0) }
    }

    private static func numbers(_ figures: JSON?) -> [Int64?] {
        ["sessions", "crashedSessions", "devices", "crashedDevices"].map { figures?[$0]?.intValue }
    }

    // MARK: - Sessions

    @Test func aSessionCountsOnceHoweverOftenItIsTold() async throws {
        let begin = Self.report("s1")
        let end = Self.report("s1", status: "exited")
        try await tell(begin, begin, end)
        try await tell(end, Self.report("S1"), Self.report("s2"))
        let all = try await figures()
        #expect(Self.numbers(all["points"]?.arrayValue?.last) == [2, 0, 1, 0])
        #expect(Self.numbers(all["releases"]?.arrayValue?.first) == [2, 0, 1, 0])
    }

    /// An app reports the end of a crashed session at its next start, possibly without the session's beginning.
    @Test func aCrashCountsOnceOnTheDayOfItsSession() async throws {
        try await tell(Self.report("s1", daysAgo: 2), Self.report("s2", daysAgo: 2), Self.report("s3", device: nil))
        for _ in 0..<2 { try await tell(Self.report("s1", status: "crashed", daysAgo: 2)) }
        try await tell(Self.report("s4", device: "d2", status: "crashed", daysAgo: 2))
        let points = try await figures(["from": .string(Timestamp.now.advanced(by: .seconds(-259_200)).iso)])["points"]
        #expect(points?.arrayValue?.map(Self.numbers) == [[0, 0, 0, 0], [3, 2, 2, 2], [0, 0, 0, 0], [1, 0, 0, 0]])
    }

    @Test func versionsAndProjectsAreToldApart() async throws {
        try await tell(Self.report("s1"), Self.report("s2", release: "shop@2.0.0", status: "crashed"))
        try await tell(Self.report("s1"), projectId: 2)
        let first = try await figures(["projectId": "1"])
        #expect(first["releases"]?.arrayValue?.compactMap { $0["release"] } == ["shop@1.0.0", "shop@2.0.0"])
        #expect(Self.numbers(first["points"]?.arrayValue?.last) == [2, 1, 2, 1], "A device counts for each version.")
        let newer = try await figures(["release": "shop@2.0.0"])
        #expect(Self.numbers(newer["points"]?.arrayValue?.last) == [1, 1, 1, 1])
        let none = try await figures(["projectId": "7"])
        #expect(Self.numbers(none["points"]?.arrayValue?.last) == [0, 0, 0, 0])
    }

    @Test(
        arguments: [
            [:], [], "s", ["sid": "a"], ["sid": 7, "started": "2030-01-01T00:00:00Z"],
            ["sid": "", "started": "2030-01-01T00:00:00Z"], ["sid": "a", "started": "2029-11-01T00:00:00Z"],
            ["sid": "a", "started": "2030-01-09T00:00:00Z"], ["sid": "a", "started": 1_700_000_000],
        ] as [JSON])
    func whatIsNoSessionOrNotOfTheseDaysIsNotCounted(report: JSON) throws {
        let now = try #require(Timestamp(iso: "2030-01-02T12:00:00.000Z"))
        #expect(AppSession(report, projectId: 1, now: now) == nil)
        let early: JSON = ["sid": "a", "started": "2029-12-04T00:00:00.123456Z", "status": "abnormal"]
        let session = try #require(AppSession(early, projectId: 1, now: now))
        #expect(!session.isCrashed)
        #expect(session.release.isEmpty)
        #expect(session.device == nil)
        // PostgreSQL cannot store this version.
        let odd: JSON = ["sid": "a", "started": "2030-01-01T00:00:00Z", "attrs": ["release": "1\0"]]
        #expect(AppSession(odd, projectId: 1, now: now)?.release == "")
    }

    // MARK: - Reports

    @Test func reportsAreCountedByDayOfAnIssueAndOfAll() async throws {
        for id in 0..<40 { try await crash(id) }
        try await crash(39)
        try await crash(40, level: "error", release: "shop@2.0.0")
        let issue = try await sandbox.count("SELECT id FROM issues WHERE title LIKE 'Efatal%'")
        let (one, all) = try await sandbox.store.read { reader in
            (try CrashFigures([:]).trend(issueId: issue, reader), try CrashFigures([:]).trend(issueId: nil, reader))
        }
        #expect(one["points"]?.arrayValue?.count ?? 0 >= 30)
        #expect(one["points"]?.arrayValue?.last?["reports"] == 40)
        #expect(all["points"]?.arrayValue?.last?["reports"] == 41)
        #expect(all["points"]?.arrayValue?.last?["crashes"] == 40)
    }

    @Test func versionsPastTheBoundAreCountedTogether() async throws {
        let count = Int(CrashDays.releasesMax) + 5
        for id in 0..<count { try await crash(id, release: "shop@1.0.\(id)") }
        try await crash(count, release: "shop@1.0.0")
        #expect(try await sandbox.count("SELECT count(*) FROM releaseDays") == CrashDays.releasesMax + 1)
        #expect(try await sandbox.count("SELECT sum(reports) FROM releaseDays") == Int64(count) + 1)
        #expect(try await sandbox.count("SELECT reports FROM releaseDays WHERE release = '(other)'") == 5)
        #expect(try await sandbox.count("SELECT reports FROM releaseDays WHERE release = 'shop@1.0.0'") == 2)
    }

    @Test func figuresAndMarksAreNotKeptForEver() async throws {
        try await crash(1)
        try await tell(Self.report("s1", status: "crashed", daysAgo: 29), Self.report("s2"))
        let store = sandbox.store
        #expect(try await store.write { try CrashRetention.removeSome(in: $0) } == false)
        #expect(try await sandbox.count("SELECT count(*) FROM sessionMarks") == 6)
        try await store.write { transaction in
            for table in ["releaseDays", "issueDays", "sessionMarks", "sessionMarkDays"] {
                _ = try transaction.execute("UPDATE \(table) SET day = day - 401")
            }
        }
        #expect(try await store.write { try CrashRetention.removeSome(in: $0) })
        for table in ["releaseDays", "issueDays", "sessionMarks", "sessionMarkDays"] {
            #expect(try await sandbox.count("SELECT count(*) FROM \(table)") == 0, "\(table)")
        }
    }

    @Test func aSessionOfTheOldestDayIsRememberedWestOfGreenwich() async throws {
        try await tell(Self.report("s1"))
        let (store, oldest) = (sandbox.store, AppSession.daysKnown + 1)
        try await store.write { _ = try $0.execute("UPDATE sessionMarks SET day = day - \(oldest)") }
        #expect(try await store.write { try CrashRetention.removeSome(in: $0) } == false)
        try await store.write { _ = try $0.execute("UPDATE sessionMarks SET day = day - 1") }
        #expect(try await store.write { try CrashRetention.removeSome(in: $0) })
    }

    @Test func aSessionThatBeginsTomorrowByTheDevicesClockHasOneDay() throws {
        let report: JSON = ["sid": "a", "started": "2030-01-03T00:30:00Z"]
        let days = try ["2030-01-02T23:50:00.000Z", "2030-01-03T00:10:00.000Z"].map { text in
            AppSession(report, projectId: 1, now: try #require(Timestamp(iso: text)))?.day
        }
        #expect(days[0] != nil)
        #expect(days[0] == days[1])
    }
}
