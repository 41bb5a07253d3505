import Foundation
import Testing

/// Checkouts, refunds, the outbox and mails of whole shops, on virtual time, with faults that come from a seed.
///
/// `scripts/simulate` sets the variables below. A simulation runs on its own thread, so that other tests may run at the
/// same time, but no second simulation.
@Suite(.serialized) struct SimulationTests {
    private static let environment = ProcessInfo.processInfo.environment

    private static func number(_ name: String) -> UInt64? {
        environment["SATCHEL_SIMULATE_\(name)"].flatMap { UInt64($0) }
    }

    /// A failed seed as text.
    private static func text(_ ending: Ending) -> String {
        let faults = ending.struck.map { "  \($0.milliseconds) ms: \($0.fault.rawValue) (\($0.number))" }
        return (["seed \(ending.seed)"] + ending.findings.map { "  \($0)" } + faults).joined(separator: "\n")
    }

    /// More failures mostly repeat the first ones.
    private static let shrunkMax = 5

    /// A failed seed with the shortest history that still fails.
    private static func told(
        _ ending: Ending, _ simulator: Simulator, _ options: Options, isShrunk: Bool
    ) throws -> String {
        guard isShrunk else { return text(ending) }
        let (shrunk, smaller) = try simulator.shrink(ending, options)
        let told = try simulator.told(shrunk.seed, smaller)
        return (told.history + [text(told)]).joined(separator: "\n")
    }

    @Test func fiveHundredSeedsAreClean() async throws {
        let (failed, missing) = try await Simulator.run { simulator -> ([String], Set<Fault>) in
            var failed: [String] = []
            var missing = Set(Fault.allCases)
            for seed in 1...500 {
                let ending = try simulator.run(UInt64(seed))
                missing.subtract(ending.struck.map(\.fault))
                guard ending.failed else { continue }
                failed.append(try Self.told(ending, simulator, Options(), isShrunk: failed.count < Self.shrunkMax))
            }
            return (failed, missing)
        }
        #expect(failed.isEmpty, "\(failed.joined(separator: "\n"))")
        #expect(missing.isEmpty, "These faults never struck: \(missing.map(\.rawValue).sorted())")
    }

    @Test func aSeedHasOneHistory() async throws {
        let histories = try await Simulator.run { simulator in
            try [1, 2, 3, 4, 5, 1, 2, 3, 4, 5].map { try simulator.told($0, Options()).history }
        }
        #expect(Array(histories[..<5]) == Array(histories[5...]))
        #expect(Set(histories).count == 5)
    }

    @Test(arguments: Plant.allCases) func aPlantedBugIsFound(_ plant: Plant) async throws {
        let found = try await Simulator.run { simulator in
            try (1...1000).first { try simulator.run(UInt64($0), Options(plant: plant)).failed }
        }
        #expect(found != nil, "No seed finds \(plant.rawValue).")
    }

    /// The run of `scripts/simulate`.
    @Test(.enabled(if: SimulationTests.environment["SATCHEL_SIMULATE_SEEDS"] != nil), .timeLimit(.minutes(600)))
    func simulate() async throws {
        let from = Self.number("FROM") ?? 1
        let count = Self.number("SEEDS") ?? 1
        let replays = Self.environment["SATCHEL_SIMULATE_REPLAY"] != nil
        let options = Options(plant: Self.environment["SATCHEL_SIMULATE_PLANT"].flatMap { Plant(rawValue: $0) })
        let start = ContinuousClock.now
        let failed = try await Simulator.run { simulator -> Int in
            var failed = 0
            for seed in from..<(from + count) {
                if replays {
                    let ending = try simulator.told(seed, options)
                    for line in ending.history { print("simulate: \(line)") }
                    for line in Self.text(ending).split(separator: "\n") { print("simulate: \(line)") }
                    failed += ending.failed ? 1 : 0
                    continue
                }
                let ending = try simulator.run(seed, options)
                guard ending.failed else { continue }
                failed += 1
                let told = try Self.told(ending, simulator, options, isShrunk: failed <= Self.shrunkMax)
                for line in told.split(separator: "\n") { print("simulate: \(line)") }
            }
            return failed
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print("simulate: \(count) seeds, \(failed) failed, \(Int(Double(count) / seconds)) seeds a second")
        #expect(failed == 0)
    }
}
