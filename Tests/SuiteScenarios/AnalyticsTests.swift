import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Apps' events and the gateway's counts become consistent statistics, for admins only.
@Suite struct AnalyticsTests {
    private static let hour: Int64 = 3_600_000

    private static func iso(_ milliseconds: Int64) -> JSON { .string(Timestamp(milliseconds: milliseconds).iso) }

    /// The sum of a graph's values.
    private static func total(_ points: JSON?) -> Int64 {
        (points?.arrayValue ?? []).reduce(0) { $0 + ($1["value"]?.intValue ?? 0) }
    }

    @Test func eventsAreKeptWithTheirDimensions() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let name = "Tap\(Names.random(6))"
        for index in 0..<3 {
            let event: JSON = [
                "at": ["__type": "Date", "iso": "2024-05-06T07:08:09.123Z"],
                "dimensions": ["screen": "bag", "index": .string("\(index)")],
            ]
            let answer = try await customer.client.call(.POST, "/events/\(name)", event)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json == [:], "\(answer.text)")
        }
        #expect(try await ParseClient(suite).call(.POST, "/events/AppOpened", [:]).json == [:])
        #expect(try await customer.client.run("analyticsEvents", ["name": .string(name)]).code == 119)
        let admin = try await Customer.admin(suite)
        let listed = try await admin.run("analyticsEvents", ["name": .string(name), "limit": 2])
        let events = try #require(listed.result.arrayValue, "\(listed.text)")
        #expect(events.map { $0.at("dimensions", "index") } == ["2", "1"])
        #expect(events[0].at("at", "iso") == "2024-05-06T07:08:09.123Z")
        #expect(events[0]["userId"] == .string(customer.userId))
        #expect(try await admin.run("analyticsEvents", ["name": "AppOpened"]).result.arrayValue?.isEmpty == false)
    }

    @Test func eventsMakeSeriesWithoutGapsAndTopLists() async throws {
        let suite = try await Suite.shared
        let (client, admin) = (ParseClient(suite), try await Customer.admin(suite))
        let name = "View\(Names.random(6))"
        let now = Timestamp.now.milliseconds
        for (daysAgo, brand) in [(0, "Aqua"), (2, "Aqua"), (2, "Bloom"), (2, "Aqua"), (9, "Bloom")] as [(Int64, String)]
        {
            let event: JSON = [
                "at": ["__type": "Date", "iso": Self.iso(now - daysAgo * 24 * Self.hour)],
                "dimensions": ["brand": .string(brand), "kind": ""],
            ]
            #expect(try await client.call(.POST, "/events/\(name)", event).json == [:])
        }
        let range: [String: JSON] = ["from": Self.iso(now - 5 * 24 * Self.hour), "to": Self.iso(now + 1)]
        func ask(_ function: String, _ parameters: [String: JSON]) async throws -> JSON {
            try await admin.run(function, .object(parameters.merging(range) { own, _ in own })).result
        }
        let days = try await ask("analyticsSeries", ["metric": .string("event:\(name)")])
        #expect(days["points"]?.arrayValue?.count == 6)
        #expect(days["points"]?.arrayValue?.compactMap { $0["value"]?.intValue } == [0, 0, 0, 3, 0, 1])
        let hours = try await ask("analyticsSeries", ["metric": .string("event:\(name)"), "interval": "hour"])
        #expect(Self.total(hours["points"]) == 4)
        #expect((hours["points"]?.arrayValue?.count ?? 0) >= 5 * 24)
        let top = try await ask("analyticsTop", ["name": .string(name), "dimension": "brand"])
        #expect(top == [["value": "Aqua", "count": 3], ["value": "Bloom", "count": 1]])
        let names = try await admin.run("analyticsNames").result
        // The shared suite may have more names than a list.
        let listed = names["names"]?.arrayValue?.first { $0["name"] == .string(name) }
        #expect(listed?["lastAt"]?.wireType == "Date" || names["more"] == true, "\(names)")
        let dimensions = try await admin.run("analyticsNames", ["name": .string(name)]).result
        #expect(dimensions == ["names": [["name": "brand"], ["name": "kind"]], "more": false])
        #expect(try await client.run("analyticsNames").code == 119)
        let lines = try await ask("analyticsSeries", ["metric": .string("event:\(name)"), "dimension": "brand"])
        #expect(lines["series"]?.arrayValue?.map { $0.text("value") } == ["Aqua", "Bloom"])
        #expect(Self.total(lines.at("series", 0, "points")) == 3)
    }

    @Test func activeUsersAreCountedOncePerDayWeekAndMonth() async throws {
        try await Suite.with { suite in
            try await untilDayIsNotEnding()
            let admin = try await Customer.admin(suite)
            let customers = [try await Customer.signUp(suite), try await Customer.signUp(suite)]
            for (index, customer) in customers.enumerated() {
                var client = customer.client
                client.installationId = "device-\(index)"
                for _ in 0..<2 { _ = try await client.call(.POST, "/events/AppOpened", ["push_hash": "promo-7"]) }
                let before: JSON = ["__type": "Date", "iso": Self.iso(Timestamp.now.milliseconds - 40 * Self.hour)]
                _ = try await client.call(.POST, "/events/AppOpened", ["at": before])
            }
            let active = try await admin.run("analyticsActiveUsers").result
            #expect(active["users"] == 2, "\(active.serializedText)")
            #expect(active["installations"] == 2, "\(active.serializedText)")
            let days = active["days"]?.arrayValue?.compactMap { $0["users"]?.intValue } ?? []
            #expect(days.count >= 30)
            #expect(days.reduce(0, +) == 4)
            #expect(days.last == 2)
            let weeks = active["weeks"]?.arrayValue?.compactMap { $0["users"]?.intValue } ?? []
            #expect(weeks == [2] || weeks == [2, 2])
            let months = active["months"]?.arrayValue?.compactMap { $0["users"]?.intValue } ?? []
            #expect(months == [2] || months == [2, 2])
            let series = try await admin.run("analyticsSeries", ["metric": "activeUsers"]).result
            #expect(Self.total(series["points"]) == 4)
            let opens = try await admin.run("analyticsSeries", ["metric": "opens"]).result
            #expect(Self.total(opens["points"]) == 6)
            let push = try await admin.run("pushOpens", ["pushHash": "promo-7"]).result
            #expect(push["opens"] == 4)
            #expect(push.at("firstAt", "__type") == "Date")
            #expect(try await admin.run("pushOpens", ["pushHash": "none"]).result["opens"] == 0)
        }
    }

    /// Three devices on the same day. One returns the next day, another one today.
    @Test func thoseWhoComeBackAreCountedInTheirCohort() async throws {
        try await Suite.with { suite in
            try await untilDayIsNotEnding()
            let admin = try await Customer.admin(suite)
            let visits: [(device: String, daysAgo: Int64)] = [
                ("a", 3), ("b", 3), ("c", 3), ("b", 2), ("b", 2), ("a", 0), ("d", 0),
            ]
            for (device, daysAgo) in visits {
                var client = ParseClient(suite)
                client.installationId = "device-\(device)"
                let at = Timestamp.now.advanced(by: .seconds(-86_400 * daysAgo)).wire
                let answer = try await client.call(.POST, "/events/AppOpened", ["at": at])
                #expect(answer.status == 200, "\(answer.text)")
            }
            let from = Self.iso(Timestamp.now.milliseconds - 3 * 24 * Self.hour)
            let days = try await admin.run("analyticsRetention", ["interval": "day", "from": from]).result
            #expect(days["kind"] == "installations")
            let cohorts = days["cohorts"]?.arrayValue ?? []
            #expect(cohorts.map { $0["size"] } == [3, 0, 0, 1], "\(days.serializedText)")
            #expect(cohorts.map { $0["returned"] } == [[1, 0, 1], [0, 0], [0], []])
            let users = try await admin.run("analyticsRetention", ["kind": "users"]).result
            #expect(users["cohorts"]?.arrayValue?.allSatisfy { $0["size"] == 0 } == true)
            let weeks = try await admin.run("analyticsRetention", ["from": from]).result["cohorts"]?.arrayValue ?? []
            #expect(weeks.reduce(0) { $0 + ($1["size"]?.intValue ?? 0) } == 4)
        }
    }

    @Test func aSaleAndItsRefundAreInTheFigures() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let shelf = try await Shelf.fill(suite, names: ["Soap"], prices: [3.5])
        func sales() async throws -> JSON {
            let all = try await admin.run("analyticsSales", ["interval": "hour"]).result.arrayValue ?? []
            return all.first { $0["currency"] == "usd" }?["totals"] ?? [:]
        }
        func number(_ name: String, _ json: JSON) -> Int64 { json[name]?.intValue ?? 0 }
        let before = try await sales()
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run(
            "addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 3])
        let bought = try await customer.client.run(
            "checkout",
            ["tokenId": "tok_visa", "idempotencyKey": .string(Names.random(12)), "shippingAddress": Customer.address])
        #expect(bought.result["orderNo"] != nil, "\(bought.text)")
        try await eventually("the sale is counted") { number("orders", try await sales()) > number("orders", before) }
        let after = try await sales()
        #expect(number("grossMinorUnits", after) - number("grossMinorUnits", before) >= 1050)
        #expect(number("pieces", after) - number("pieces", before) >= 3)
        let order = bought.result.text("orderId")
        #expect(try await customer.client.run("cancelOrder", ["orderId": .string(order)]).status == 200)
        try await eventually("the refund is counted") {
            number("refundedMinorUnits", try await sales()) - number("refundedMinorUnits", after) >= 1050
        }
        #expect(number("cancelled", try await sales()) > number("cancelled", after))
        let series = try await admin.run("analyticsSeries", ["metric": "sales", "interval": "hour"]).result
        #expect(series["points"]?.arrayValue?.isEmpty == false)
    }

    /// The gateway counts requests without any code in the app: by class, verb, device and SDK, from headers and from
    /// tunnelled bodies.
    @Test func requestsAreCountedByClassVerbAndSDK() async throws {
        try await Suite.with { suite in
            let master = ParseClient.master(suite)
            let made = try await master.create("Gauge", ["level": 1])
            let tunnelled = ParseClient(suite, style: .tunnelled)
            for _ in 0..<5 { _ = try await tunnelled.get("/classes/Gauge/\(made.objectId)") }
            let headers = [("X-Parse-Application-Id", "satchel"), ("X-Parse-Client-Version", "i1.19")]
            for _ in 0..<3 { _ = try await master.send(.GET, "/classes/Gauge/none", headers: headers) }
            _ = try await master.send(.GET, "/classes/Gauge", headers: [])
            // The last requests, for which the test waits below.
            for index in 0..<40 { _ = try await master.send(.GET, "/classes/Strange\(index)", headers: headers) }

            let admin = try await Customer.admin(suite)
            func groups(_ by: String) async throws -> [String: (count: Int64, failed: Int64)] {
                let rows = try await admin.run("analyticsRequests", ["groupBy": .string(by)]).result.arrayValue ?? []
                return Dictionary(
                    rows.map { ($0.text(by), ($0["count"]?.intValue ?? 0, $0["failed"]?.intValue ?? 0)) },
                    uniquingKeysWith: { first, _ in first })
            }
            try await eventually("the gateway reports what it counted") { try await groups("sdk")["ios"]?.count == 43 }
            let classes = try await groups("class")
            #expect(classes["Gauge"]?.count == 10, "\(classes)")
            #expect(classes["Gauge"]?.failed == 4, "\(classes)")
            #expect(classes["(other)"]?.count == 40, "\(classes)")
            #expect(classes["Strange1"] == nil, "\(classes)")
            #expect(try await groups("sdk")["js"]?.count == 5)
            #expect(try await groups("deviceType")["web"]?.count == 5)
            #expect(try await groups("verb")["GET"]?.count ?? 0 >= 49)
            let series = try await admin.run("analyticsSeries", ["metric": "requests", "interval": "hour"]).result
            #expect(Self.total(series["points"]) >= 50)
        }
    }

    /// A stopping gateway delivers its counts. If the analytics service is down, counts that reached the gateway are
    /// not lost.
    @Test func countsSurviveTheEndOfTheGatewayAndOfAnalytics() async throws {
        try await Suite.with { suite in
            let client = ParseClient(suite)
            for _ in 0..<7 { _ = try await client.get("/classes/Store/none") }
            try await suite.kill("analytics-1")
            for _ in 0..<7 { _ = try await client.get("/classes/Store/none") }
            let gateway = try #require(suite.processId(of: "gateway-1"))
            try await suite.untilHealthy()
            #expect(Foundation.kill(gateway, SIGTERM) == 0)
            try await eventually("the gateway is started again", within: .seconds(30)) {
                suite.processId(of: "gateway-1").map { $0 != gateway } ?? false
            }
            try await suite.untilHealthy()
            let rows = try await suite.rows(
                "analytics",
                "SELECT coalesce(sum(count), 0) FROM requestHours WHERE target = 'Store' AND statusClass = 4")
            #expect(rows.first?.at(0) == 14)
        }
    }

    @Test func eventsThatWereAnsweredSurviveAKill() async throws {
        try await Suite.with { suite in
            let name = "Survivor"
            let answered = try await withThrowingTaskGroup(of: Int.self) { group in
                for worker in 0..<8 {
                    group.addTask {
                        var count = 0
                        for index in 0..<60 {
                            let body: JSON = [
                                "dimensions": ["worker": .string("\(worker)"), "index": .string("\(index)")]
                            ]
                            let answer = try? await ParseClient(suite).call(.POST, "/events/\(name)", body)
                            if answer?.status == 200 { count += 1 }
                        }
                        return count
                    }
                }
                try await suite.kill("analytics-1")
                return try await group.reduce(0, +)
            }
            #expect(answered > 0)
            try await suite.untilHealthy()
            let rows = try await suite.rows("analytics", "SELECT count(*) FROM events WHERE name = 'Survivor'")
            #expect((rows.first?.at(0)?.intValue ?? 0) >= Int64(answered))
            let sums = try await suite.rows("analytics", "SELECT sum(count) FROM eventHours WHERE name = 'Survivor'")
            #expect(sums.first?.at(0) == rows.first?.at(0), "The roll-ups and the log are of one transaction.")
        }
    }

    /// A deleted account is removed from its events, sets and crash reports; the shop's statistics remain unchanged.
    @Test func aDeletedAccountIsForgotten() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let customer = try await Customer.signUp(suite)
        let name = "Last\(Names.random(6))"
        _ = try await customer.client.call(.POST, "/events/\(name)", [:])
        try await customer.open(by: name)
        let project = try await master.run("createCrashProject", ["name": "Forgetful"]).result
        var sdk = ParseClient(suite)
        sdk.url = suite.url.replacingOccurrences(of: "/parse", with: "")
        let event: JSON = [
            "message": .string("for \(customer.email)"),
            "user": ["id": .string(customer.userId), "email": .string(customer.email)],
        ]
        let path = "/api/\(project.text("projectId"))/store/?sentry_key=\(project.text("key"))"
        #expect(try await sdk.send(.POST, path, body: event.serialized).status == 200)
        let id = customer.userId
        let eventText = Suite.keepsFiles ? "CAST(event AS TEXT)" : "encode(event, 'escape')"
        let stored = "\(eventText) || message || coalesce(userId, '')"
        let isNamed = "\(stored) LIKE '%\(id)%' OR \(stored) LIKE '%\(customer.email)%'"
        let queries = [
            ("analytics", "SELECT count(*) FROM events WHERE userId = '\(id)'"),
            ("analytics", "SELECT count(*) FROM activeIds WHERE id = '\(id)'"),
            ("analytics", "SELECT count(*) FROM visits WHERE id = '\(id)'"),
            ("analytics", "SELECT count(*) FROM pushTaps WHERE userId = '\(id)'"),
            ("crash", "SELECT count(*) FROM crashEvents WHERE \(isNamed)"),
            ("crash", "SELECT count(*) FROM issues WHERE title LIKE '%\(customer.email)%'"),
        ]
        func traces() async throws -> [Int64] {
            var counts: [Int64] = []
            for (service, sql) in queries {
                counts.append(try await suite.rows(service, sql).first?.at(0)?.intValue ?? -1)
            }
            return counts
        }
        #expect(try await traces() == [2, 1, 1, 1, 1, 1])
        #expect(try await master.call(.DELETE, "/users/\(id)").status == 200)
        try await eventually("the account is forgotten") { try await traces() == [0, 0, 0, 0, 0, 0] }
        let counted = try await master.run("analyticsSeries", ["metric": .string("event:\(name)")]).result
        #expect(Self.total(counted["points"]) == 1)
    }

    @Test(
        arguments: [
            ("analyticsSeries", ["metric": "profit"], 142), ("analyticsSeries", [:], 142),
            ("analyticsSeries", ["metric": "event:line\nbreak"], 160), ("analyticsSeries", ["metric": ["opens"]], 142),
            ("analyticsSeries", ["metric": "opens", "interval": "minute"], 142),
            ("analyticsSeries", ["metric": "opens", "from": "2001-01-01T00:00:00.000Z"], 142),
            ("analyticsSeries", ["metric": "requests", "dimension": "x"], 142),
            ("analyticsSeries", ["metric": "opens", "dimension": 7], 142),
            ("analyticsSeries", ["metric": "opens", "dimension": "x", "interval": "hour"], 142),
            ("analyticsTop", ["name": "Tap"], 142), ("analyticsTop", ["name": 7, "dimension": "x"], 160),
            ("analyticsTop", ["name": "Tap", "dimension": "x", "limit": 0], 142),
            ("analyticsActiveUsers", ["from": "2020-01-01T00:00:00.000Z", "to": "2022-01-01T00:00:00.000Z"], 142),
            ("analyticsRetention", ["interval": "month"], 142),
            ("analyticsRetention", ["from": "2020-01-01T00:00:00.000Z"], 142),
            ("analyticsSales", ["from": 5], 142), ("analyticsRequests", ["groupBy": "user"], 142),
            ("pushOpens", [:], 142), ("pushOpens", ["pushHash": []], 142), ("pushOpens", ["pushHash": ["a", ""]], 142),
            ("pushOpens", ["pushHash": .array((0...100).map { .string("\($0)") })], 142),
        ] as [(String, JSON, Int)])
    func questionsThatMakeNoSenseAreRefused(function: String, parameters: JSON, code: Int) async throws {
        let suite = try await Suite.shared
        #expect(try await Customer.admin(suite).run(function, parameters).code == code)
        #expect(try await ParseClient(suite).run(function, parameters).code == 119)
    }
}
