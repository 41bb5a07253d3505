import Foundation
import ParseProtocol

/// The result of an attack, checked against the limits.
struct DenialResult {
    /// Memory in bytes.
    struct Memory {
        /// By replica.
        let before: [String: Int]
        let peak: Int
        /// By replica.
        let after: [String: Int]

        /// Excludes Node processes: V8 keeps its heap up to its own limit.
        static func settled(_ bytes: [String: Int]) -> Int {
            bytes.reduce(0) { $1.key == "node" ? $0 : $0 + $1.value }
        }

        /// The replicas that grew most.
        var grown: [(replica: String, bytes: Int)] {
            after.map { ($0.key, $0.value - before[$0.key, default: 0]) }.filter { $0.bytes >= 1 << 20 }
                .sorted { $0.bytes > $1.bytes }
        }
    }

    let attack: any Attack
    let plan: AttackPlan
    let attackers: AttackTally.Result
    /// The shoppers' measurements before the attack, during and shortly after it, and during the harmless crowd.
    let baseline, attacked, crowded: ShopperRecord.Result
    let memory: Memory
    /// Disk space used by the attack and the concurrent shoppers, in bytes.
    let addedDiskBytes: Int
    /// Replicas whose process ended.
    let endedReplicas: [String]

    /// Maximum 99th percentile of the shoppers' requests, in milliseconds.
    private static let ordinaryMillisecondsMax = 250.0
    /// Maximum 95th percentile of valid sign-ins and sign-ups by password, in milliseconds.
    private static let passwordMillisecondsMax = 2000.0
    /// Maximum 95th percentile of an honest live query's events, in milliseconds.
    private static let eventMillisecondsMax = 1000.0
    /// Maximum share of the shoppers' requests that may be answered with 429 although they are honest.
    private static let delayedShareMax = 0.05
    private static let memoryGrowthMax = 0.2

    /// The exceeded limits; empty when the shop withstood the attack.
    var problems: [String] {
        var problems: [String] = []
        let ordinary = attacked.ordinary.summary.p99, password = attacked.passwords.summary.p95
        if ordinary >= Self.ordinaryMillisecondsMax {
            problems.append("honest p99 is \(text(ordinary)), not under \(text(Self.ordinaryMillisecondsMax))")
        }
        if password > Self.passwordMillisecondsMax {
            problems.append("p95 of honest sign-ins is \(text(password)), over \(text(Self.passwordMillisecondsMax))")
        }
        let event = attacked.events.summary.p95
        if event > Self.eventMillisecondsMax {
            problems.append("p95 of honest events is \(text(event)), over \(text(Self.eventMillisecondsMax))")
        }
        if attacked.errorCount > 0 { problems.append("\(attacked.errorCount) honest requests failed") }
        if attacked.answered == 0 { problems.append("no honest request was answered") }
        if Double(attacked.delayed) > Self.delayedShareMax * Double(attacked.answered) {
            problems.append(
                "\(attacked.delayed) honest requests got 429 beside \(attacked.answered) that were answered")
        }
        let (before, after) = (Memory.settled(memory.before), Memory.settled(memory.after))
        if Double(after) > Double(before) * (1 + Self.memoryGrowthMax) {
            problems.append("memory is \(growth) over the start, more than 20%")
        }
        if !endedReplicas.isEmpty { problems.append("processes ended: \(endedReplicas.joined(separator: ", "))") }
        return problems
    }

    var growth: String {
        let (before, after) = (Memory.settled(memory.before), Memory.settled(memory.after))
        return "\((100 * (after - before)) / max(before, 1))%"
    }

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
            "addresses": .int(Int64(min(plan.addresses, attack.addressesMax))),
            "connections": .int(Int64(min(plan.connections, attack.connections))),
            "attackers": attackers.json, "baseline": json(baseline), "attacked": json(attacked),
            "harmless": json(crowded),
            "memoryBytes": [
                "before": .object(memory.before.mapValues { .int(Int64($0)) }), "peak": .int(Int64(memory.peak)),
                "after": .object(memory.after.mapValues { .int(Int64($0)) }),
            ],
            "addedDiskBytes": .int(Int64(addedDiskBytes)), "problems": .array(problems.map(JSON.string)),
        ]
    }

    private func json(_ record: ShopperRecord.Result) -> JSON {
        let (ordinary, password) = (record.ordinary.summary, record.passwords.summary)
        return [
            "answered": .int(Int64(record.answered)), "delayed": .int(Int64(record.delayed)),
            "errors": .object(record.errors.mapValues { .int(Int64($0)) }),
            "p50Milliseconds": JSON(number: ordinary.p50), "p99Milliseconds": JSON(number: ordinary.p99),
            "maxMilliseconds": JSON(number: ordinary.max), "passwords": .int(Int64(record.passwords.count)),
            "passwordP95Milliseconds": JSON(number: password.p95),
            "events": .int(Int64(record.events.count)),
            "eventP95Milliseconds": JSON(number: record.events.summary.p95),
        ]
    }
}
