import Foundation

/// Runs one target: first its corpus, then inputs that are made and mutated until the budget is spent.
struct FuzzRun {
    enum Budget: Sendable {
        case inputs(Int)
        case seconds(Double)
    }

    struct Report {
        var inputs = 0
        var seconds = 0.0
        /// Different words that `run` returned.
        var outcomes = 0
        var failures: [String] = []
        var memoryAtStart = 0
        var memoryAtEnd = 0
        var slowest = Duration.zero
    }

    let target: any FuzzTarget
    let budget: Budget
    let seed: UInt64
    /// The folder in which the input about to run is kept; nil for nowhere.
    var journalFolder: String?
    /// Adds failing inputs to the corpus.
    var keepsFailures = false

    /// Failures after which a run ends: more of them say nothing new.
    private static let failuresMax = 20
    /// Inputs to mutate. Old ones give way.
    private static let poolMax = 1000
    /// Characters of a failure that make it another one.
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

        func execute(_ input: [UInt8], _ label: String) async {
            journal?.write(input)
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
            let took = target.spent - begin
            report.slowest = max(report.slowest, took)
            report.inputs += 1
            if failure == nil, took > target.timeLimit { failure = "An input takes too long: \(took)." }
            guard let failure, known.insert(String(failure.prefix(Self.failurePrefix))).inserted else { return }
            let kept = keepsFailures ? (try? corpus.add(input)) ?? "" : ""
            report.failures.append(
                "\(label)\(kept.isEmpty ? "" : ", kept as \(kept)"): \(failure.prefix(2000))\n  \(Self.shown(input))")
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
            // What is filled once (caches, pools, the allocator) is full after a tenth.
            if warmUpEnd == nil, share >= 0.1 {
                warmUpEnd = report.inputs
                report.memoryAtStart = target.memory
            }
            let isNew = pool.isEmpty || random.chance(40)
            let input = isNew ? target.generate(&random) : mutator.mutated(random.pick(pool), pool, &random)
            if isNew, pool.count < Self.poolMax / 2 { pool.append(input) }
            if pool.count > Self.poolMax { pool.remove(at: random.below(pool.count)) }
            await execute(input, "input \(report.inputs)")
        }
        journal?.finish()
        report.seconds = (ContinuousClock.now - start).seconds
        report.outcomes = outcomes.count
        report.memoryAtEnd = target.memory
        return report
    }

    /// An input as it can be read in a terminal.
    private static func shown(_ input: [UInt8]) -> String {
        let text = String(decoding: input.prefix(1500), as: UTF8.self)
        return text.unicodeScalars.map { $0.value < 0x20 ? $0.escaped(asASCII: true) : String($0) }.joined()
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
