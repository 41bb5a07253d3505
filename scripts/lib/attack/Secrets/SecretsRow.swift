import Foundation

/// The result of one probe.
struct SecretsRow {
    private let probe: Probe
    private let findings: Interrogation.Findings
    private let statuses: [Int: Int]
    private let statistic: RankStatistic

    /// A result that random guessing reaches with a lower probability than this counts as learned.
    private static let chanceMin = 0.001

    init(_ probe: Probe, _ findings: Interrogation.Findings, statuses: [Int: Int]) {
        (self.probe, self.findings, self.statuses) = (probe, findings, statuses)
        statistic = RankStatistic(hits: findings.hits, misses: findings.misses)
    }

    /// The signs that reveal the secret; empty when there is none.
    var problems: [String] {
        var problems: [String] = []
        if findings.hitAnswers != findings.missAnswers { problems.append("the answer reveals the secret") }
        if !statistic.nearlySure.contains(0.5) { problems.append("the time reveals the secret") }
        let luck = chance(ofAtLeast: findings.learnt, in: findings.places, each: 1 / Double(probe.alphabet.count))
        if luck < Self.chanceMin { problems.append("characters were guessed") }
        return problems
    }

    static let header = line(
        "probe", "statuses", "hit", "miss", "AUC", "95 % CI", "learnt", "")

    var text: String {
        let interval = statistic.likely
        return Self.line(
            probe.name, statuses.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)×" }.joined(separator: ", "),
            number(findings.hits.median), number(findings.misses.median), number(statistic.area),
            "\(number(interval.lowerBound))-\(number(interval.upperBound))",
            "\(findings.learnt) of \(findings.places)",
            problems.isEmpty ? refusal : "FAIL: " + problems.joined(separator: ", "))
    }

    /// The refusal, when all requests were refused; otherwise empty.
    private var refusal: String {
        guard statuses.keys.allSatisfy({ $0 >= 400 }), let answer = findings.hitAnswers.first else { return "" }
        return String(answer.prefix(100))
    }

    private func number(_ value: Double) -> String { String(format: "%.3f", value) }

    private static func line(_ name: String, _ cells: String...) -> String {
        let widths = [14, 9, 9, 7, 13, 9]
        let padded = zip(cells, widths).map { String(repeating: " ", count: max(1, $1 - $0.count)) + $0 }
        return name.padding(toLength: 34, withPad: " ", startingAt: 0) + padded.joined() + "  " + (cells.last ?? "")
    }
}
