import Foundation
import VirtualThread

/// The end of a seed.
struct Ending: Sendable {
    let seed: UInt64
    let findings: [String]
    let struck: [Struck]
    let history: [String]

    var failed: Bool { !findings.isEmpty }
}

/// Runs seeds, one after the other, on one thread.
final class Simulator {
    private let bench: Bench
    /// More pieces of work than any seed has.
    private static let stepsMax = 3_000_000

    private init() throws { bench = try Bench() }

    /// Runs `body` on a new thread. A simulator never leaves its thread.
    static func run<T: Sendable>(_ body: @escaping @Sendable (Simulator) throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try body(Simulator()) }) }
            thread.name = "simulation"
            thread.stackSize = 16 << 20
            thread.start()
        }
    }

    func run(_ seed: UInt64, _ options: Options = Options()) throws -> Ending {
        let thread = VirtualThread(seed: seed)
        thread.isOrderly = options.isOrderly
        thread.begin()
        defer { thread.end() }
        let world = World(bench, thread, seed: seed, options)
        Task { await world.run(options.shoppers) }
        var steps = 0
        while !world.isDone, steps < Self.stepsMax, thread.step() { steps += 1 }
        if !world.isDone { world.findings.append("The seed does not end.") }
        world.end()
        while steps < 2 * Self.stepsMax, thread.step() { steps += 1 }
        world.forget()
        try bench.revert()
        return Ending(
            seed: seed, findings: world.findings, struck: world.weather.struck, history: world.history)
    }

    /// The shortest history that still fails: without faults and customers that it does not need.
    func shrink(_ failed: Ending, _ options: Options) throws -> (ending: Ending, options: Options) {
        var best = (ending: failed, options: options)
        func tries(_ change: (inout Options) -> Void) throws -> Bool {
            var smaller = best.options
            change(&smaller)
            let ending = try run(failed.seed, smaller)
            guard ending.failed else { return false }
            best = (ending, smaller)
            return true
        }
        _ = try tries { $0.isOrderly = true }
        for shoppers in [[0], [1], [2], [0, 1], [0, 2], [1, 2]] {
            if try tries({ $0.shoppers = shoppers }) { break }
        }
        var part = best.ending.struck.count
        while part > 0 {
            var place = 0
            while place < best.ending.struck.count {
                let numbers = best.ending.struck.map(\.number)
                let kept = Set(numbers[..<place] + numbers[min(place + part, numbers.count)...])
                // Where it succeeds, other faults are at this place now.
                if try !tries({ $0.allowed = kept }) { place += part }
            }
            part /= 2
        }
        return best
    }

    /// Runs a seed with its history.
    func told(_ seed: UInt64, _ options: Options) throws -> Ending {
        var options = options
        options.keepsHistory = true
        return try run(seed, options)
    }
}
