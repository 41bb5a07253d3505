import Foundation
import ParseProtocol

/// The result of an attack, and whether it is within the bounds.
struct DenialResult {
    struct Memory {
        /// Bytes.
        let before: Int
        let peak: Int
        let after: Int
    }

    let attack: any Attack
    let plan: AttackPlan
    let attackers: AttackTally.Result
    /// The shoppers' experience before the attack, during it and shortly after, and beside as many harmless requests.
    let baseline, attacked, crowded: HonestRecord.Result
    let memory: Memory
    /// Bytes that the attack and the shoppers beside it left on the disk.
    let addedDiskBytes: Int
    /// Replicas whose process ended.
    let endedReplicas: [String]

    /// Milliseconds that 99 of 100 of the shoppers' requests take at most.
    private static let ordinaryMillisecondsMax = 250.0
    /// Milliseconds that 95 of 100 right sign-ins and sign-ups by password take at most.
    private static let passwordMillisecondsMax = 2000.0
    /// Share of the shoppers' requests that may be answered with 429. They did nothing to deserve it.
    private static let delayedShareMax = 0.05
    private static let memoryGrowthMax = 0.2

    /// The bounds that were broken; none when the shop stood.
    var problems: [String] {
        var problems: [String] = []
        let ordinary = attacked.ordinary.summary.p99, password = attacked.passwords.summary.p95
        if ordinary >= Self.ordinaryMillisecondsMax {
            problems.append("honest p99 is \(text(ordinary)), not under \(text(Self.ordinaryMillisecondsMax))")
        }
        if password > Self.passwordMillisecondsMax {
            problems.append("p95 of honest sign-ins is \(text(password)), over \(text(Self.passwordMillisecondsMax))")
        }
        if attacked.errorCount > 0 { problems.append("\(attacked.errorCount) honest requests failed") }
        if attacked.answered == 0 { problems.append("no honest request was answered") }
        if Double(attacked.delayed) > Self.delayedShareMax * Double(attacked.answered) {
            problems.append(
                "\(attacked.delayed) honest requests got 429 beside \(attacked.answered) that were answered")
        }
        if Double(memory.after) > Double(memory.before) * (1 + Self.memoryGrowthMax) {
            problems.append("memory is \(growth) over the start, more than 20%")
        }
        if !endedReplicas.isEmpty { problems.append("processes ended: \(endedReplicas.joined(separator: ", "))") }
        return problems
    }

    var growth: String { "\((100 * (memory.after - memory.before)) / max(memory.before, 1))%" }

    func text(_ milliseconds: Double) -> String {
        String(format: milliseconds < 10 ? "%.1f ms" : "%.0f ms", milliseconds)
    }
}

extension DenialResult {
    /// Adds a line to a file.
    func append(to file: String) throws {
        let line = json.serializedText + "\n"
        let manager = FileManager.default
        guard manager.fileExists(atPath: file) || manager.createFile(atPath: file, contents: nil),
            let handle = FileHandle(forWritingAtPath: file)
        else { throw AttackError("Cannot write \(file).") }
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(line.utf8))
        try handle.close()
    }

    private var json: JSON {
        [
            "attack": .string(attack.name), "seconds": .int(Int64(plan.seconds)),
            "shoppers": .int(Int64(plan.shoppers)),
            "addresses": .int(Int64(plan.addresses)),
            "connections": .int(Int64(min(plan.connections, attack.connections))),
            "attackers": attackers.json, "baseline": json(baseline), "attacked": json(attacked),
            "harmless": json(crowded),
            "memoryBytes": [
                "before": .int(Int64(memory.before)), "peak": .int(Int64(memory.peak)),
                "after": .int(Int64(memory.after)),
            ],
            "addedDiskBytes": .int(Int64(addedDiskBytes)), "problems": .array(problems.map(JSON.string)),
        ]
    }

    private func json(_ record: HonestRecord.Result) -> JSON {
        let (ordinary, password) = (record.ordinary.summary, record.passwords.summary)
        return [
            "answered": .int(Int64(record.answered)), "delayed": .int(Int64(record.delayed)),
            "errors": .object(record.errors.mapValues { .int(Int64($0)) }),
            "p50Milliseconds": JSON(number: ordinary.p50), "p99Milliseconds": JSON(number: ordinary.p99),
            "maxMilliseconds": JSON(number: ordinary.max), "passwords": .int(Int64(record.passwords.count)),
            "passwordP95Milliseconds": JSON(number: password.p95),
        ]
    }
}
