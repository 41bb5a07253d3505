import ArgumentParser
import Foundation

/// The target of the load and its shoppers.
struct SiteOptions: ParsableArguments {
    @Option(help: "The suite, for example http://127.0.0.1:1337/parse.") var url: String
    @Option(help: "The application's id.") var applicationId = "satchel"
    @Option(help: "A file of shares and think times, like scripts/lib/load/shoppers.json.") var mix: String
    @Option(help: "Maximum shoppers, and so connections; 1 to 60000.") var shoppers = 4000
    @Option(help: "Customers with an account, signed up before the run; 0 to 65536.") var accounts = 60
    @Option(help: "Seconds that a request waits for a shopper, and then for its answer; 1 to 120.") var timeout = 30
    @Flag(help: "Each shopper sends its own X-Forwarded-For; for a suite that trusts this machine as a proxy.")
    var forwarded = false
    @Option(help: "The data directory of a suite on this machine, to measure its processes.") var data: String?
    @Flag(help: "Raises every product's stock, with the key in SATCHEL_MASTER_KEY. For a test suite only.")
    var restock = false

    func validate() throws {
        guard (1...60_000).contains(shoppers) else { throw ValidationError("--shoppers must be in 1...60000.") }
        guard (0...65_536).contains(accounts) else { throw ValidationError("--accounts must be in 0...65536.") }
        guard (1...120).contains(timeout) else { throw ValidationError("--timeout must be in 1...120.") }
        if restock, masterKey == nil { throw ValidationError("--restock needs SATCHEL_MASTER_KEY.") }
    }

    /// The master key, if stock should be raised.
    var masterKey: String? {
        guard restock, let key = ProcessInfo.processInfo.environment["SATCHEL_MASTER_KEY"], !key.isEmpty else {
            return nil
        }
        return key
    }
}

/// The amount and duration of the load.
struct PlanOptions: ParsableArguments {
    @Option(help: "Requests a second; with --find-limit, of the first trial.") var rate = 50.0
    @Option(help: "Rates of steps, for example 100,200,400.") var steps: String?
    @Option(help: "Rates of a ramp, for example 50:800.") var ramp: String?
    @Option(help: "Seconds of each phase or trial.") var seconds = 30.0
    @Option(help: "Minutes instead of --seconds; with --find-limit, of the run at --share of the limit.")
    var minutes: Double?
    @Option(help: "Seconds before the first judged phase, in which shoppers arrive.") var warmUp = 5.0
    @Flag(help: "Finds the highest load that keeps the promise.") var findLimit = false
    @Option(help: "The share of the limit at which --minutes runs.") var share = 0.7
    @Option(help: "Maximum requests a second of a search.") var most = 100_000.0
    @Option(help: "Maximum relative error of the limit that a search finds.") var precision = 0.05
    @Option(help: "The promise: 99 of 100 requests are answered within it, for example 100ms or 2s.") var p99 = "250ms"
    @Option(help: "The promise: the share of requests that may fail.") var errors = 0.001

    static let rates = 0.1...1_000_000, durations = 0.5...86_400

    func validate() throws {
        let length = minutes.map { $0 * 60 } ?? seconds
        guard Self.rates.contains(rate), Self.rates.contains(most), stepRates != nil, steps == nil || ramp == nil,
            ramp == nil || rampRates != nil
        else { throw ValidationError("A rate must be in 0.1...1000000: --steps 100,200,400 or --ramp 50:800.") }
        guard Self.durations.contains(seconds), Self.durations.contains(length), (0...3600).contains(warmUp) else {
            throw ValidationError("A phase lasts half a second to a day, --warm-up at most an hour.")
        }
        guard (0.01...1).contains(precision), (0.01...2).contains(share), (0...1).contains(errors) else {
            throw ValidationError("--precision must be in 0.01...1, --share in 0.01...2, --errors in 0...1.")
        }
        guard milliseconds(p99) != nil else { throw ValidationError("--p99 is a time such as 100ms or 2s.") }
        guard !findLimit || (steps == nil && ramp == nil) else {
            throw ValidationError("--find-limit makes steps of its own.")
        }
    }

    /// The promise by which phases are judged.
    var bounds: Bounds { Bounds(p99Milliseconds: milliseconds(p99) ?? 250, errorShare: errors) }

    /// The requested plan, without a search.
    var wish: LoadPlan.Wish {
        var wish = LoadPlan.Wish(
            rate: rate, seconds: minutes.map { $0 * 60 } ?? seconds, warmUpSeconds: warmUp)
        wish.steps = stepRates ?? []
        wish.ramp = rampRates
        return wish
    }

    private var stepRates: [Double]? {
        guard let steps else { return [] }
        return Self.figures(steps, separator: ",", range: Self.rates)
    }

    private var rampRates: (from: Double, to: Double)? {
        guard let ends = ramp.flatMap({ Self.figures($0, separator: ":", range: Self.rates) }), ends.count == 2 else {
            return nil
        }
        return (ends[0], ends[1])
    }

    private static func figures(_ text: String, separator: Character, range: ClosedRange<Double>) -> [Double]? {
        let figures = text.split(separator: separator, omittingEmptySubsequences: false).map { Double($0) ?? -1 }
        return figures.allSatisfy { range.contains($0) } ? figures : nil
    }

    private func milliseconds(_ text: String) -> Double? {
        let units: [(String, Double)] = [("ms", 1), ("s", 1000)]
        guard let (unit, factor) = units.first(where: { text.hasSuffix($0.0) }),
            let figure = Double(text.dropLast(unit.count)), figure > 0, figure * factor <= 120_000
        else { return nil }
        return figure * factor
    }
}
