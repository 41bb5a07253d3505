import Foundation
import TestSupport
import Testing

/// The cost of reading client input is linear in its size (docs/internals/costs.md).
@Suite(.serialized) struct CostTests {
    static let rows = Cost.json + Cost.gateway + Cost.services

    @Test(arguments: rows) func timeGrowsWithTheInput(_ cost: Cost) throws {
        let times = try cost.measured()
        #expect(
            times.ratio <= Cost.ratioMax,
            """
            \(cost.name): \(Int(times.small * 1e6)) µs for \(cost.size), \(Int(times.large * 1e6)) µs for \
            \(cost.size * Cost.growth)
            """)
    }

    /// The store's own functions, on the writer thread.
    @Test func timeOfTheStoreGrowsWithTheInput() async throws {
        try await StoreCosts().check()
    }

    @Test func aCostThatIsTooHighIsFound() throws {
        let square = Cost("square", 100) { n in
            let values = (0..<n).map { "v\($0)" }
            return {
                var known: [String] = []
                for value in values where !known.contains(value) { known.append(value) }
            }
        }
        #expect(try square.measured(rounds: 5).ratio > Cost.ratioMax)
    }

    @Test func theTableHasEveryRow() throws {
        let text = try String(contentsOfFile: "\(checkoutDirectory)/docs/internals/costs.md", encoding: .utf8)
        let documented = text.split(separator: "\n").flatMap { line -> [String] in
            if line.hasPrefix("- `") {
                // - `function`: input; input
                return line.split(separator: ": ", maxSplits: 1).last.map { $0.components(separatedBy: "; ") } ?? []
            }
            guard line.hasPrefix("| `"), !line.contains("Tests") else { return [] }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            return cells.dropFirst(2).prefix(1).map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(documented.sorted() == Self.rows.map(\.name).sorted())
    }
}
