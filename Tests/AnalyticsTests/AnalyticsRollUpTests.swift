import AnalyticsService
import GatewayService
import Messages
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// Roll-ups: each event counts once, in the right hour and day, and the number of values is limited.
@Suite struct AnalyticsRollUpTests {
    private let sandbox: SandboxStore

    init() async throws { sandbox = try await SandboxStore(analyticsPlan) }

    private func take(
        _ name: String, dimensions: [String: JSON] = [:], at: Timestamp? = nil, pushHash: String? = nil,
        by caller: Caller = Caller(userId: "u1", installationId: "i1")
    ) async throws {
        var body: [String: JSON] = ["dimensions": .object(dimensions)]
        body["at"] = at?.wire
        body["push_hash"] = pushHash.map(JSON.string)
        let event = try Event(name: name, body: JSON.object(body).serialized)
        try await sandbox.store.write { try EventIntake.take(event, by: caller, in: $0) }
    }

    @Test func aLateEventCountsOnItsDayAndAFutureOneNow() async throws {
        let now = Timestamp.now
        let yesterday = now.advanced(by: .seconds(-86_400))
        try await take("AppOpened", at: yesterday)
        try await take("AppOpened", at: now.advanced(by: .seconds(900_000)))
        try await take("AppOpened", at: now.advanced(by: .seconds(-40 * 86_400)))
        let (past, today) = (Hour(of: yesterday).day, Hour(of: now).day)
        let sum = "SELECT coalesce(sum(count), 0) FROM eventHours WHERE name = 'AppOpened' AND hour / 24"
        #expect(try await sandbox.count("\(sum) = \(past)") == 1)
        #expect(try await sandbox.count("\(sum) >= \(today)") == 2)
        #expect(
            try await sandbox.count("SELECT count(*) FROM events WHERE happenedAt > \(now.milliseconds + 60_000)") == 0)
        #expect(try await sandbox.count("SELECT count(*) FROM activeDays WHERE day = \(past) AND count = 1") == 2)
    }

    @Test func hoursBeforeAndAfter1970RoundDown() {
        #expect(Hour(of: Timestamp(milliseconds: 0)).number == 0)
        #expect(Hour(of: Timestamp(milliseconds: 3_599_999)).number == 0)
        #expect(Hour(of: Timestamp(milliseconds: 3_600_000)).number == 1)
        #expect(Hour(of: Timestamp(milliseconds: -1)).number == -1)
        #expect(Hour(of: Timestamp(milliseconds: .min)).number < 0)
    }

    @Test func valuesPastTheBoundAreCountedTogether() async throws {
        let count = EventCounts.valuesMax + 10
        for index in 0..<count { try await take("Tap", dimensions: ["item": .string("v\(index)")]) }
        try await take("Tap", dimensions: ["item": "v0"])
        let condition = "FROM dimensionDays WHERE name = 'Tap' AND dimension = 'item'"
        #expect(try await sandbox.count("SELECT count(*) \(condition)") == EventCounts.valuesMax + 1)
        #expect(try await sandbox.count("SELECT sum(count) \(condition)") == count + 1)
        #expect(try await sandbox.count("SELECT count \(condition) AND value = '(other)'") == 10)
        #expect(try await sandbox.count("SELECT count \(condition) AND value = 'v0'") == 2)
    }

    /// Where every replica writes, an event is counted after it was accepted.
    @Test func anEventThatPostgreSQLCannotStoreIsRefusedBeforeItIsCounted() throws {
        for dimensions in [["screen": "a\0b"], ["a\0b": "bag"]] as [JSON] {
            let body: JSON = ["dimensions": dimensions]
            #expect(throws: ParseError.self) { try Event(name: "Tap", body: body.serialized) }
        }
        let body: JSON = ["push_hash": "a\0b"]
        #expect(try Event(name: "AppOpened", body: body.serialized).pushHash == nil)
    }

    /// T6b: events of maximum size do not exceed the log's size limit.
    @Test(.enabled(if: testsRunOnSQLite)) func theOldestEventsGoWhenTheFileIsTooLarge() async throws {
        let text = JSON.string(String(repeating: "x", count: 500))
        let wide = Dictionary(uniqueKeysWithValues: (0..<8).map { ("\($0)", text) })
        for index in 0..<300 { try await take("Wide\(index % 3)", dimensions: wide) }
        let store = sandbox.store
        #expect(try await store.write { try EventLog.shrink(to: 100 << 20, in: $0) } == false)
        #expect(try await sandbox.count("SELECT count(*) FROM events") == 300)
        #expect(try await store.write { try EventLog.shrink(to: 500_000, in: $0) })
        #expect(try await sandbox.count("SELECT count(*) FROM events") == 0)
        #expect(try await store.write { try EventLog.shrink(to: 500_000, in: $0) } == false)
    }

    @Test func eventNamesPastTheBoundAreCountedTogether() async throws {
        for index in 0..<520 { try await take("Name\(index)") }
        try await take("AppOpened")
        #expect(try await sandbox.count("SELECT count(DISTINCT name) FROM eventHours") == 502)
        #expect(try await sandbox.count("SELECT sum(count) FROM eventHours WHERE name = '(other)'") == 20)
        #expect(try await sandbox.count("SELECT sum(count) FROM eventHours WHERE name = 'AppOpened'") == 1)
    }

    @Test func theSameUserIsActiveOnceADay() async throws {
        for _ in 0..<3 { try await take("AppOpened") }
        try await take("AppOpened", by: Caller(userId: "u2", installationId: "i1"))
        try await take("AppOpened", by: Caller())
        #expect(try await sandbox.count("SELECT count FROM activeDays WHERE kind = 0") == 2)
        #expect(try await sandbox.count("SELECT count FROM activeDays WHERE kind = 1") == 1)
    }

    @Test func opensByPushAreCountedByHash() async throws {
        for _ in 0..<2 { try await take("AppOpened", pushHash: "abc") }
        try await take("Tap", pushHash: "abc")
        #expect(try await sandbox.count("SELECT opens FROM pushOpens WHERE pushHash = 'abc'") == 2)
    }

    // MARK: - Sales

    private func made(_ id: String, total: Int64, at: Timestamp) -> OrderMade {
        OrderMade.with {
            ($0.orderID, $0.userID, $0.totalMinorUnits, $0.currency, $0.pieces) = (id, "u1", total, "usd", 2)
            $0.madeAt = at.milliseconds
        }
    }

    private func changed(_ id: String, status: Int32, refunded: Int64, at: Timestamp) -> OrderChanged {
        OrderChanged.with {
            ($0.orderID, $0.status, $0.refundedMinorUnits, $0.currency) = (id, status, refunded, "usd")
            $0.changedAt = at.milliseconds
        }
    }

    @Test func refundsComeOffOnTheirDayOnce() async throws {
        let now = Timestamp.now
        let before = now.advanced(by: .seconds(-3 * 86_400))
        let partly = changed("o1", status: 2, refunded: 400, at: now.advanced(by: .milliseconds(-1)))
        let rest = changed("o1", status: -1, refunded: 600, at: now)
        let order = made("o1", total: 1000, at: before)
        let shipped = changed("o1", status: 2, refunded: 0, at: now)
        try await sandbox.store.write { transaction in
            for _ in 0..<2 {
                try SalesLog.add(order, in: transaction)
                for change in [partly, rest, shipped] { try SalesLog.add(change, in: transaction) }
            }
        }
        let today = "FROM salesHours WHERE currency = 'usd' AND hour = \(Hour(of: now).number)"
        let then = "FROM salesHours WHERE currency = 'usd' AND hour = \(Hour(of: before).number)"
        #expect(try await sandbox.count("SELECT grossMinorUnits \(then)") == 1000)
        #expect(try await sandbox.count("SELECT orders * 10 + pieces \(then)") == 12)
        #expect(try await sandbox.count("SELECT refundedMinorUnits \(today)") == 1000)
        #expect(try await sandbox.count("SELECT refunds * 10 + cancelled \(today)") == 21)
        #expect(try await sandbox.count("SELECT orders \(today)") == 0)
    }

    @Test func absurdAmountsAreBounded() async throws {
        let (order, change) = (made("big", total: .max, at: .now), changed("big", status: -1, refunded: .min, at: .now))
        let early = made("early", total: -5, at: Timestamp(milliseconds: .min))
        try await sandbox.store.write {
            try SalesLog.add(order, in: $0)
            try SalesLog.add(change, in: $0)
            try SalesLog.add(early, in: $0)
        }
        #expect(try await sandbox.count("SELECT sum(grossMinorUnits) FROM salesHours") == 1_000_000_000_000)
        #expect(try await sandbox.count("SELECT sum(refundedMinorUnits) FROM salesHours") == 0)
    }

    // MARK: - Requests

    @Test func aReportOfRequestsIsCountedOncePerNumber() async throws {
        var tally = RequestTally(gateway: "g1")
        let kind = RequestKind(target: "Product", verb: "GET", sdk: .js, statusClass: 2)
        let hour = Hour(of: .now).number
        tally.add([kind: 5], hour: hour)
        let sent = tally.message()
        let first = try #require(sent)
        tally.add([kind: 2], hour: hour)
        let repeated = tally.message()
        #expect(repeated == first, "A message that is not acknowledged is repeated as it was.")
        tally.acknowledged()
        let next = tally.message()
        let second = try #require(next)
        tally.acknowledged()
        let nothing = tally.message()
        #expect(nothing == nil)
        try await sandbox.store.write { transaction in
            for report in [first, first, second, first, second] { try RequestCountsLog.add(report, in: transaction) }
        }
        #expect(
            try await sandbox.count("SELECT sum(count) FROM requestHours WHERE target = 'Product' AND sdk = 'js'") == 7)
    }

    @Test func waitingCountsAreBounded() throws {
        var tally = RequestTally(gateway: "g1")
        for batch in 0..<30 {
            let counts = (0..<1000).map { index in
                (RequestKind(target: "C\(batch)x\(index)", verb: "GET", sdk: .unknown, statusClass: 2), UInt64(1))
            }
            tally.add(Dictionary(uniqueKeysWithValues: counts), hour: 1)
        }
        let sent = tally.message()
        let message = try #require(sent)
        #expect(message.counts.count == 20_001)
        #expect(message.counts.reduce(0) { $0 + $1.count } == 30_000)
    }

    @Test(arguments: [
        ("js5.3.0", ClientSDK.js, "web"), ("php2.4.0", .php, "server"), ("i1.19", .ios, "ios"),
        ("a1.2", .android, "android"),
        ("swift6.1.0", .swift, "ios"), ("", .unknown, "unknown"), ("5.3", .other, "unknown"),
        ("constructor1", .other, "unknown"), (String(repeating: "js-", count: 100_000), .other, "unknown"),
    ])
    func anSDKIsKnownByItsVersion(version: String, sdk: ClientSDK, deviceType: String) {
        #expect(ClientSDK(version: version) == sdk)
        #expect(sdk.deviceType == deviceType)
    }

    // MARK: - Ranges

    @Test func aRangeIncludesTheIntervalsOfBothEnds() throws {
        let range = try SeriesRange(["from": "2024-05-06T07:08:09.000Z", "to": "2024-05-08T00:00:00.001Z"], zone: .utc)
        #expect(range.buckets.count == 3)
        #expect(range.moment(of: range.buckets.lowerBound).iso == "2024-05-06T00:00:00.000Z")
        let hours = try SeriesRange(
            [
                "interval": "hour", "from": "2024-05-06T07:08:09.000Z",
                "to": ["__type": "Date", "iso": "2024-05-06T09:00:00.000Z"],
            ], zone: .utc)
        #expect(hours.buckets.count == 2)
        #expect(try SeriesRange([:], zone: .utc).buckets.count >= 30)
    }

    @Test(
        arguments: [
            ["interval": "week"], ["interval": 5], ["from": 7], ["from": "yesterday"],
            ["from": "2024-05-06T00:00:00.000Z", "to": "2024-05-06T00:00:00.000Z"],
            ["from": "2020-01-01T00:00:00.000Z", "to": "2024-01-01T00:00:00.000Z"],
            ["from": "0001-01-01T00:00:00.000Z", "to": "9999-12-31T23:59:59.999Z"],
            ["from": "1969-12-31T00:00:00.000Z", "to": "1970-01-02T00:00:00.000Z"],
            ["interval": "hour", "from": "2024-01-01T00:00:00.000Z", "to": "2024-04-01T00:00:00.000Z"],
        ] as [JSON])
    func aRangeThatCannotBeIsRefused(parameters: JSON) async {
        #expect(await parseError { _ = try SeriesRange(parameters, zone: .utc) }?.code == .validationError)
    }
}
