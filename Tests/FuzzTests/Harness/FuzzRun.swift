import Foundation

/// Runs one target: first its corpus, then generated and mutated inputs until the budget is used up.
struct FuzzRun {
    enum Budget: Sendable {
        case inputs(Int)
        case seconds(Double)
    }

    struct Report {
        var inputs = 0
        var seconds = 0.0
        /// The number of different strings that `run` returned.
        var outcomes = 0
        var failures: [String] = []
        var memoryAtStart = 0
        var memoryAtEnd = 0
        var slowest = Duration.zero
    }

    let target: any FuzzTarget
    let budget: Budget
    let seed: UInt64
    /// The folder that stores the next input before it runs; nil for no journal.
    var journalFolder: String?
    /// Adds failing inputs to the corpus.
    var keepsFailures = false
    /// Percentage of inputs that are enlarged to compare the times of several sizes. Most targets then need their own
    /// process, because the time of all threads counts.
    var growthPercent = 0

    /// Maximum number of failures before a run ends.
    private static let failuresMax = 20
    /// Maximum number of inputs kept for mutation. New inputs replace old ones.
    private static let poolMax = 1000
    /// Repetitions of an input that seems to take too long, and per size for one whose time seems to grow too fast: the
    /// shortest time counts.
    private static let rounds = 5
    /// Failures with the same prefix of this length, in characters, count as one.
    private static let failurePrefix = 80

    func run() async throws -> Report {
        var report = Report()
        var random = Seeded(seed)
        let corpus = Corpus(target.name)
        let journal = InputJournal(target.name, folder: journalFolder)
        let watchdog = Watchdog(limit: target.timeLimit * 20, what: target.name)
        defer { watchdog.stop() }
        var known: Set<String> = []
        var outcomes: Set<String> = []
        var pool: [[UInt8]] = []
        let start = ContinuousClock.now
        let growth = Growth(dictionary: target.dictionary)

        func execute(_ input: [UInt8], _ label: String) async {
            journal?.write(input)
            var (took, failure) = await runOnce(input)
            report.inputs += 1
            // Other tests of this process use its time, and the machine may stand still: the shortest time counts.
            for _ in 1..<Self.rounds where failure == nil && took > target.timeLimit {
                let again = await runOnce(input)
                (took, failure) = (min(took, again.took), again.failure)
            }
            report.slowest = max(report.slowest, took)
            if failure == nil, took > target.timeLimit { failure = "An input takes too long: \(took)." }
            if let failure { fail(failure, label, input) }
        }

        func runOnce(_ input: [UInt8]) async -> (took: Duration, failure: String?) {
            let begin = target.spent
            watchdog.begin(.now)
            var failure: String?
            do {
                let outcome = try await target.run(input)
                if outcomes.count < 10_000, outcomes.insert(outcome).inserted { pool.append(input) }
            } catch {
                failure = "\(error)"
            }
            watchdog.end()
            return (target.spent - begin, failure)
        }

        func fail(_ failure: String, _ label: String, _ input: [UInt8]) {
            guard known.insert(String(failure.prefix(Self.failurePrefix))).inserted else { return }
            let kept = keepsFailures ? (try? corpus.add(input)) ?? "" : ""
            report.failures.append(
                "\(label)\(kept.isEmpty ? "" : ", kept as \(kept)"): \(failure.prefix(2000))\n  \(Self.shown(input))")
        }

        func grow(_ input: [UInt8]) async {
            let sizes = [1, 2, 4].map { growth.grown(input, to: $0 * Growth.bytes, random) }
            _ = random.next()
            var least = sizes.map { _ in Double.infinity }
            for _ in 0..<Self.rounds {
                for (index, input) in sizes.enumerated() {
                    journal?.write(input)
                    let begin = target.spent
                    watchdog.begin(.now)
                    _ = try? await target.run(input)
                    watchdog.end()
                    least[index] = min(least[index], (target.spent - begin).seconds)
                    report.inputs += 1
                }
                guard Growth.isTooFast(least) else { return }
            }
            let times = least.map { "\(Int($0 * 1e6)) µs" }.joined(separator: ", ")
            let counts = sizes.map { "\($0.count)" }.joined(separator: ", ")
            fail("The time grows faster than the input: \(times) for \(counts) bytes.", "grown input", sizes[0])
        }

        for entry in corpus.entries {
            await execute(entry.input, "corpus entry \(entry.name)")
            pool.append(entry.input)
        }
        let mutator = Mutator(dictionary: target.dictionary)
        var warmUpEnd: Int?
        report.memoryAtStart = target.memory
        while report.failures.count < Self.failuresMax {
            let seconds = (ContinuousClock.now - start).seconds
            let share: Double
            switch budget {
            case .inputs(let count): share = Double(report.inputs) / Double(max(1, count))
            case .seconds(let limit): share = seconds / limit
            }
            if share >= 1 { break }
            // One-time memory use (caches, pools, the allocator) ends within the first tenth of the run.
            if warmUpEnd == nil, share >= 0.1 {
                warmUpEnd = report.inputs
                report.memoryAtStart = target.memory
            }
            let isNew = pool.isEmpty || random.chance(40)
            let input = isNew ? target.generate(&random) : mutator.mutated(random.pick(pool), pool, &random)
            if isNew, pool.count < Self.poolMax / 2 { pool.append(input) }
            if pool.count > Self.poolMax { pool.remove(at: random.below(pool.count)) }
            if target.measuresGrowth, random.chance(growthPercent) {
                await grow(input)
            } else {
                await execute(input, "input \(report.inputs)")
            }
        }
        journal?.finish()
        report.seconds = (ContinuousClock.now - start).seconds
        report.outcomes = outcomes.count
        report.memoryAtEnd = target.memory
        return report
    }

    /// An input in a form that a terminal can show.
    private static func shown(_ input: [UInt8]) -> String {
        let text = String(decoding: input.prefix(1500), as: UTF8.self)
        return text.unicodeScalars.map { $0.value < 0x20 ? $0.escaped(asASCII: true) : String($0) }.joined()
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
