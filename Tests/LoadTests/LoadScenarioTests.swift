import Foundation
import Load
import ParseProtocol
import TestSupport
import Testing

/// A short load run against a real suite: every step occurs, nothing fails, and the shop's data matches the report.
@Suite struct LoadScenarioTests {
    private static let mix: JSON = [
        "shares": ["browse": 1, "search": 1, "product": 1, "favourite": 2, "bag": 1, "checkout": 2, "history": 1],
        "thinkSeconds": [:], "visitRequests": 8, "customerShare": 0.5, "productExponent": 1, "brandExponent": 1,
    ]

    @Test func aShortLoadReportsEveryStepAndNoError() async throws {
        try await Suite.with(settings: ["SATCHEL_TRUSTED_PROXIES": "127.0.0.1"]) { suite in
            for brand in ["Rose", "Sea"] {
                let names = (1...20).map { "\(brand) Cream \($0)" }
                _ = try await Shelf.fill(suite, names: names, stock: 1_000_000)
            }
            let folder = "\(suite.dataDirectory)/load"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data(Self.mix.serialized).write(to: URL(fileURLWithPath: "\(folder)/mix.json"))
            let output = try await Command.run([
                "\(checkoutDirectory)/.build/release/satchel-load", "--url", suite.url, "--mix", "\(folder)/mix.json",
                "--rate", "60", "--seconds", "3", "--warm-up", "0", "--accounts", "4", "--forwarded", "--errors", "0",
                "--p99", "10s", "--data", suite.dataDirectory, "--json", "\(folder)/load.json", "--html",
                "\(folder)/load.html",
            ])
            let report = try JSON(
                parsing: Array(FileManager.default.contents(atPath: "\(folder)/load.json") ?? Data()))
            #expect(report["errors"] == [:], "\(output)")
            #expect(report["problems"] == [], "\(output)")
            let steps = report["steps"]?.objectValue ?? [:]
            #expect(Set(steps.keys) == Set(Step.allCases.map(\.rawValue)), "\(output)")
            #expect(report["phases"]?.arrayValue?.first?["figures"]?["requests"] == 180)
            #expect(report["phases"]?.arrayValue?.first?["figures"]?["p99Milliseconds"]?.doubleValue ?? 0 > 0)
            let processes = report["processes"]?.objectValue ?? [:]
            #expect(processes["gateway-1"] != nil && processes["load"] != nil, "\(processes.keys)")

            let orders = try await ParseClient.master(suite).find(
                "Order", ["orderStatus": 1], ["limit": 0, "count": 1])
            #expect(orders["count"] == steps["checkout"]?["requests"])
            let page = try String(contentsOfFile: "\(folder)/load.html", encoding: .utf8)
            #expect(page.contains("<svg") && page.contains("gateway-1") && !page.contains("<script"))
        }
    }

    @Test func theUsualShoppersAreAMix() throws {
        let file = "\(checkoutDirectory)/scripts/lib/load/shoppers.json"
        let mix = try Mix(json: JSON(parsing: Array(FileManager.default.contents(atPath: file) ?? Data())))
        #expect(Set(mix.shares.keys) == Set(Step.chosen))
        #expect(Set(mix.thinkSeconds.keys) == Set(Step.allCases))
    }
}
