import Foundation
import ParseProtocol

/// A completed phase.
struct PhaseResult: Sendable {
    let phase: Phase
    /// Seconds since the start of the run.
    let begin: Double
    let figures: Figures
    /// The broken parts of the promise; empty for a phase that is not judged.
    let problems: [String]

    /// Expected answers per second.
    var throughput: Double { Double(figures.requests - figures.errors) / phase.seconds }

    var json: JSON {
        [
            "name": .string(phase.name), "fromRate": JSON(number: phase.from), "toRate": JSON(number: phase.to),
            "seconds": JSON(number: phase.seconds), "beginSecond": JSON(number: begin),
            "isMeasured": .bool(phase.isMeasured), "throughput": JSON(number: throughput), "figures": figures.json,
            "problems": .array(problems.map(JSON.string)),
        ]
    }
}

/// The highest load that kept the promise.
struct FoundLimit: Sendable {
    /// Requests per second; nil when no tested load kept it.
    let rate: Double?
    let bounds: Bounds
}

/// The report of a run.
struct Report: Sendable {
    let url: String
    let startedAt: Date
    let bounds: Bounds
    let phases: [PhaseResult]
    let record: Record.State
    let samples: [ProcessSample]
    let crowd: (shoppers: Int, waiting: Int, hurried: Int)
    let productCount: Int
    let limit: FoundLimit?

    /// The broken parts of the promise in the judged phases. Not judged in a search, which breaks it on purpose.
    var problems: [String] {
        if let limit, limit.rate == nil { return ["no load that was tried keeps the promise"] }
        return phases.filter { limit == nil || !$0.phase.name.hasPrefix(LoadPlan.trialName) }
            .flatMap { result in result.problems.map { "\(result.phase.name): \($0)" } }
    }

    var json: JSON {
        var members: [String: JSON] = [
            "url": .string(url), "startedAt": .string(startedAt.formatted(.iso8601)),
            "promise": [
                "p99Milliseconds": JSON(number: bounds.p99Milliseconds), "errorShare": JSON(number: bounds.errorShare),
            ],
            "products": .int(Int64(productCount)), "shoppers": .int(Int64(crowd.shoppers)),
            "hurried": .int(Int64(crowd.hurried)),
            "dispatcherLateP99Milliseconds": JSON(number: record.lateness.milliseconds(at: 99)),
            "phases": .array(phases.map(\.json)), "problems": .array(problems.map(JSON.string)),
            "steps": .object(
                Dictionary(uniqueKeysWithValues: record.steps.map { ($0.key.rawValue, $0.value.figures.json) })),
            "errors": .object(record.errors.mapValues { .int(Int64($0)) }),
            "seconds": .array(secondsJSON), "processes": .object(processesJSON),
        ]
        if let limit {
            let rate: JSON = if let rate = limit.rate { JSON(number: rate) } else { .null }
            members["limit"] = rate
        }
        return .object(members)
    }

    private var secondsJSON: [JSON] {
        record.seconds.enumerated().map { index, second in
            var members = second.tally.figures.json.objectValue ?? [:]
            members["second"] = .int(Int64(index))
            members["due"] = .int(Int64(second.due))
            members["finished"] = .int(Int64(second.finished))
            return .object(members)
        }
    }

    private var processesJSON: [String: JSON] {
        Dictionary(grouping: samples, by: \.name).mapValues { samples in
            .array(
                samples.map { sample in
                    [
                        "second": JSON(number: sample.second), "processors": JSON(number: sample.processors),
                        "memoryBytes": .int(Int64(sample.memoryBytes)),
                    ]
                })
        }
    }
}
