import Foundation
import TestSupport
import Testing

/// The parts of `scripts/bench` that need no measuring: the comparison of two runs, and the statistics.
struct BenchmarkTests {
    /// A run with five rounds of creates and of a page's time. Other members of the page have their defaults.
    private static func run(creates: [Double], page: [Double]) -> String {
        """
        {"workloads": [
            {"name": "create", "title": "creates", "rounds": \(creates),
             "limit": "plain SQLite", "limit_rounds": [1000, 1000, 1000]},
            {"name": "page", "title": "a page", "unit": "ms", "better": "less", "rounds": \(page)}
        ]}
        """
    }

    private static func compare(_ first: String, _ second: String) async throws -> [Substring] {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        for (name, text) in [("A.json", first), ("B.json", second)] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path(name)))
        }
        return try await Command.run(
            ["\(checkoutDirectory)/scripts/bench", "compare", folder.path("A.json"), folder.path("B.json")]
        ).split(separator: "\n")
    }

    @Test func aChangeThatEveryRoundShowsIsMarked() async throws {
        let lines = try await Self.compare(
            Self.run(creates: [200, 210, 220], page: [2, 2.1, 2.2]),
            Self.run(creates: [300, 310, 320], page: [3, 3.1, 3.2]))
        let creates = try #require(lines.first { $0.contains("creates") })
        #expect(creates.contains("| 210 /s | 310 /s | 0.210 | 0.310 | +47.6 % | **better** |"), "\(creates)")
        // For times, less is better.
        let page = try #require(lines.first { $0.contains("a page") })
        #expect(page.contains("| 2.10 ms | 3.10 ms | - | - | +47.6 % | **worse** |"), "\(page)")
    }

    @Test func aChangeWithinTheSpreadOfTheRoundsIsNot() async throws {
        let lines = try await Self.compare(
            Self.run(creates: [200, 210, 300], page: [2, 2.1, 3]),
            Self.run(creates: [290, 310, 320], page: [2.9, 3, 3.2]))
        #expect(lines.filter { $0.contains("within noise") }.count == 2, "\(lines)")
    }

    @Test func aFileThatIsNoRunIsRefused() async throws {
        let run = Self.run(creates: [1, 2, 3], page: [1, 2, 3])
        let refusal = await #expect(throws: Command.Failed.self) { try await Self.compare(run, "[]") }
        #expect(refusal?.description.contains("is no result of scripts/bench") == true)
    }

    /// The driver's own tests, in Python's standard library.
    @Test func theStatisticsHold() async throws {
        _ = try await Command.run(
            ["/usr/bin/python3", "-B", "-m", "unittest", "discover", "-s", "\(checkoutDirectory)/scripts/lib/bench"])
    }
}
