import Foundation

/// A table of the report, as text and as HTML.
struct Table: Sendable {
    let title: String
    let columns: [String]
    let rows: [[String]]

    /// The first column is left-aligned, the others are right-aligned.
    var text: String {
        let widths = columns.indices.map { column in ([columns] + rows).map { $0[column].count }.max() ?? 0 }
        let lines = ([columns] + rows).map { row in
            row.enumerated().map { column, cell in
                let space = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + space : space + cell
            }.joined(separator: "  ")
        }
        return ([title] + lines.map { "  " + $0 }).joined(separator: "\n")
    }
}

extension Report {
    private static let figureColumns = ["requests", "errors", "sold out", "p50 ms", "p99 ms", "p99.9 ms", "max ms"]

    private static func cells(_ figures: Figures) -> [String] {
        ["\(figures.requests)", "\(figures.errors)", "\(figures.refused)"]
            + [figures.p50, figures.p99, figures.p999, figures.longest].map { String(format: "%.1f", $0) }
    }

    /// The tables of phases, steps, errors and processes.
    var tables: [Table] {
        var tables = [
            Table(
                title: "Load", columns: ["phase", "answers/s"] + Self.figureColumns + ["promise"],
                rows: phases.map { result in
                    let verdict = result.phase.isMeasured ? (result.problems.isEmpty ? "kept" : "broken") : "-"
                    return [result.phase.name, String(format: "%.1f", result.throughput)]
                        + Self.cells(result.figures) + [verdict]
                }),
            Table(
                title: "Steps", columns: ["step"] + Self.figureColumns,
                rows: Step.allCases.compactMap { step in
                    record.steps[step].map { [step.rawValue] + Self.cells($0.figures) }
                }),
        ]
        if !record.errors.isEmpty {
            tables.append(
                Table(
                    title: "Errors", columns: ["what", "times"],
                    rows: record.errors.sorted { $0.value > $1.value }.map { [$0.key, "\($0.value)"] }))
        }
        if !samples.isEmpty { tables.append(processTable) }
        return tables
    }

    private var processTable: Table {
        let groups = Dictionary(grouping: samples, by: \.name).sorted { $0.key < $1.key }
        return Table(
            title: "Processes", columns: ["process", "mean CPU", "highest CPU", "first MB", "highest MB", "last MB"],
            rows: groups.map { name, samples in
                let processors = samples.map(\.processors)
                let megabytes = samples.map { Double($0.memoryBytes) / 1_048_576 }
                let mean = processors.reduce(0, +) / Double(max(processors.count, 1))
                return [name]
                    + [mean, processors.max() ?? 0].map { String(format: "%.2f", $0) }
                    + [megabytes.first ?? 0, megabytes.max() ?? 0, megabytes.last ?? 0].map {
                        String(format: "%.1f", $0)
                    }
            })
    }

    /// Sentences above the tables.
    var summary: [String] {
        var lines = [
            "\(url): \(productCount) products, \(crowd.shoppers) shoppers."
        ]
        if let limit {
            let promise = String(format: "p99 within %.0f ms", limit.bounds.p99Milliseconds)
            lines.append(
                limit.rate.map { "The highest load with \(promise): \(String(format: "%.1f", $0)) requests a second." }
                    ?? "No load that was tried has \(promise).")
        }
        let late = record.lateness.milliseconds(at: 99)
        lines.append(String(format: "Of the times, the load generator's own lateness is %.1f ms (p99).", late))
        if crowd.hurried > 0 {
            lines.append("\(crowd.hurried) times a shopper had to think less than he wanted: allow more --shoppers.")
        }
        return lines + problems.map { "Broken: \($0)." }
    }

    var text: String { (summary + tables.map { "\n" + $0.text }).joined(separator: "\n") }
}
