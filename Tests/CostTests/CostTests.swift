import Foundation
import TestSupport
import Testing

/// The cost of reading client input is linear in its size (docs/internals/costs.md).
@Suite(.serialized) struct CostTests {
    static let rows = Cost.json + Cost.gateway + Cost.services

    @Test(arguments: rows) func timeGrowsWithTheInput(_ cost: Cost) throws {
        let growth = try cost.measured()
        #expect(growth.isLinear, "\(cost.name): \(growth)")
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
        #expect(try !square.measured(rounds: 2...2).isLinear)
    }

    /// Cache misses cost a factor once. A quadratic part costs more at each step.
    @Test func aQuadraticPartIsToldFromCacheMisses() {
        func isLinear(_ seconds: (Double) -> Double) -> Bool {
            var growth = TimeGrowth()
            while let multiple = growth.next { growth.add(seconds(Double(multiple))) }
            return growth.isLinear
        }
        #expect(isLinear { $0 })
        #expect(isLinear { size in size * [1: 1, 4: 1.6, 16: 1.9][size, default: 1] })
        #expect(!isLinear { size in size + 0.12 * size * size })
        #expect(!isLinear { size in size * [1: 1, 4: 1.6, 16: 2.1][size, default: 1] })
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
