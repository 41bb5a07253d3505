import Foundation

extension DenialResult {
    /// The result as a table.
    var report: String {
        var lines = ["\(attack.name): \(attack.summary)"]
        let rate = String(format: "%.0f", Double(attackers.requests) / Double(plan.seconds))
        let outcomes = attackers.outcomes.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)×" }
        lines.append(
            "  attackers  \(min(plan.connections, attack.connections)) connections from "
                + "\(min(plan.addresses, attack.addressesMax)) addresses,"
                + " \(rate)/s in \(plan.seconds) s, \(attackers.answerBytes >> 20) MiB answered:"
                + " \(outcomes.isEmpty ? "no answer" : outcomes.joined(separator: ", "))")
        lines.append(row("honest", ["requests", "p50", "p99", "max", "sign-ins p95", "events p95", "429", "errors"]))
        lines += [
            row("  alone", baseline), row("  attacked", attacked), row("  harmless", crowded),
        ]
        let (before, after) = (Memory.settled(memory.before), Memory.settled(memory.after))
        let sizes = [before, memory.peak, after].map { "\($0 >> 20)" }
        lines.append(
            "  memory     before \(sizes[0]) MiB, peak \(sizes[1]) MiB, 20 s after \(sizes[2]) MiB (\(growth));"
                + " disk +\(addedDiskBytes >> 20) MiB")
        let grown = memory.grown.prefix(4).map { "\($0.replica) +\($0.bytes >> 20)" }
        lines.append("  grown      \(grown.isEmpty ? "none" : grown.joined(separator: ", ")) (MiB)")
        for (problem, count) in attacked.errors.sorted(by: { $0.value > $1.value }).prefix(6) {
            lines.append("  error      \(count)× \(problem)")
        }
        for problem in baseline.errors.keys.sorted().prefix(3) { lines.append("  error before the attack: \(problem)") }
        lines.append(problems.isEmpty ? "  PASS" : "  FAIL       " + problems.joined(separator: "; "))
        return lines.joined(separator: "\n")
    }

    private func row(_ name: String, _ record: ShopperRecord.Result) -> String {
        let summary = record.ordinary.summary
        return row(
            name,
            [
                "\(record.answered)", text(summary.p50), text(summary.p99), text(summary.max),
                text(record.passwords.summary.p95), text(record.events.summary.p95), "\(record.delayed)",
                "\(record.errorCount)",
            ])
    }

    private func row(_ name: String, _ cells: [String]) -> String {
        let widths = [9, 9, 9, 9, 13, 11, 6, 7]
        let padded = zip(cells, widths).map { String(repeating: " ", count: max(1, $1 - $0.count)) + $0 }
        return "  " + name.padding(toLength: 11, withPad: " ", startingAt: 0) + padded.joined()
    }
}
