import ParseProtocol
import TestSupport
import Testing

/// The history of the suite's figures: each gateway sends its minutes to analytics.
@Suite struct FigureHistoryTests {
    private static func points(_ client: ParseClient, _ period: [String: JSON]) async throws -> [JSON] {
        try await client.get("/operations/history", period).json["points"]?.arrayValue ?? []
    }

    private static func sum(_ name: String, of points: [JSON]) -> Int64 {
        points.reduce(0) { $0 + ($1[name]?.intValue ?? 0) }
    }

    @Test(.timeLimit(.minutes(10))) func requestsOfAllGatewaysAreInMinutesAndHours() async throws {
        try await Suite.with(scale: "gateway=2", settings: ["SATCHEL_TEST_FIGURES_MILLISECONDS": "200"]) { suite in
            let master = ParseClient.master(suite)
            for _ in 0..<40 { #expect(try await master.find("Category").status == 200) }
            for _ in 0..<5 { #expect(try await master.get("/classes/Category/nobody").status == 404) }
            try await eventually("both gateways have told their figures") {
                try await suite.rows(
                    "analytics", "SELECT DISTINCT gateway FROM pastFigures WHERE span = 1 ORDER BY gateway")
                    == [["gateway-1"], ["gateway-2"]]
            }
            for period: [String: JSON] in [["hours": 1], ["days": 1]] {
                try await eventually("the requests are told for \(period)") {
                    let points = try await Self.points(master, period)
                    return Self.sum("requests", of: points) >= 45 && Self.sum("refused", of: points) >= 5
                }
            }
            let points = try await Self.points(master, ["hours": 24])
            let last = try #require(points.last { $0["p99"]?.isNull == false })
            #expect((last["p50"]?.doubleValue ?? -1) > 0)
            #expect((last["p99"]?.doubleValue ?? 0) >= (last["p50"]?.doubleValue ?? 1))
            #expect(points.contains { ($0["memory"]?.intValue ?? 0) > 10_000_000 })
            for name in ["waiting", "live", "outbox", "outboxAge", "mailsFailed", "pushesFailed", "paymentsFailed"] {
                #expect(last[name]?.intValue != nil, "\(name)")
            }
            #expect(try await master.get("/operations/history").json["step"] == 60)
            #expect(try await master.get("/operations/history", ["days": 30]).json["step"] == 3600)
            for wrong: [String: JSON] in [["days": 31], ["days": 0], ["hours": 25], ["hours": "x"]] {
                #expect(try await master.get("/operations/history", wrong).code == 142, "\(wrong)")
            }
        }
    }
}
