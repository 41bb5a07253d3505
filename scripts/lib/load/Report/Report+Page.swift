import Foundation

/// The report as one self-contained page.
extension Report {
    var page: String {
        let date = startedAt.formatted(.iso8601)
        let paragraphs = summary.map { "<p>\(Plot.escaped($0))</p>" }.joined(separator: "\n")
        let figures = (plotsOverTime + plotsOverLoad).map(\.html).joined(separator: "\n")
        return """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>Load of \(Plot.escaped(url))</title><style>\(Self.style)</style></head><body>
            <h1>Load, \(date)</h1>
            \(paragraphs)
            <div class="plots">
            \(figures)
            </div>
            \(tables.map(Self.html).joined(separator: "\n"))
            </body></html>

            """
    }

    // MARK: - Plots

    private var plotsOverTime: [Plot] {
        let seconds = record.seconds.enumerated().map { (x: Double($0), second: $1, figures: $1.tally.figures) }
        func line(_ name: String, _ value: (Record.Second, Figures) -> Double) -> Plot.Series {
            Plot.Series(name, seconds.map { ($0.x, value($0.second, $0.figures)) })
        }
        let asked = seconds.filter { $0.figures.requests > 0 }
        func times(_ name: String, _ value: KeyPath<Figures, Double>) -> Plot.Series {
            Plot.Series(name, asked.map { ($0.x, $0.figures[keyPath: value]) })
        }
        let axis = "seconds"
        return [
            Plot(
                "Requests a second", x: axis,
                series: [
                    line("due") { second, _ in Double(second.due) },
                    line("finished") { second, _ in Double(second.finished) },
                ]),
            Plot(
                "Milliseconds from the intended start", x: axis,
                series: [times("p50", \.p50), times("p99", \.p99), times("p99.9", \.p999)], isLogarithmic: true),
            Plot("Errors a second", x: axis, series: [line("errors") { _, figures in Double(figures.errors) }]),
            Plot("Processors in use", x: axis, series: processes { $0.processors }),
            Plot("Memory (PSS), MB", x: axis, series: processes { Double($0.memoryBytes) / 1_048_576 }),
        ]
    }

    private func processes(_ value: (ProcessSample) -> Double) -> [Plot.Series] {
        Dictionary(grouping: samples, by: \.name).sorted { $0.key < $1.key }.map { name, samples in
            Plot.Series(name, samples.map { ($0.second, value($0)) })
        }
    }

    private var plotsOverLoad: [Plot] {
        let points = loads.sorted { $0.rate < $1.rate }
        guard points.count > 1 else { return [] }
        func line(_ name: String, _ value: (LoadPoint) -> Double) -> Plot.Series {
            Plot.Series(name, points.map { ($0.rate, value($0)) })
        }
        let axis = "requests a second that were due"
        return [
            Plot("Answers a second, by load", x: axis, series: [line("answers", \.throughput)]),
            Plot(
                "Milliseconds, by load", x: axis,
                series: [line("p50", \.figures.p50), line("p99", \.figures.p99), line("p99.9", \.figures.p999)],
                isLogarithmic: true),
            Plot("Errors in 100 requests, by load", x: axis, series: [line("errors", \.errorPercent)]),
        ]
    }

    /// The figures at one rate.
    private struct LoadPoint {
        let rate: Double
        let throughput: Double
        let figures: Figures

        var errorPercent: Double { 100 * Double(figures.errors) / Double(max(figures.requests, 1)) }
    }

    /// One point for each phase with a constant rate, and for each second of a ramp.
    private var loads: [LoadPoint] {
        phases.filter(\.phase.isMeasured).flatMap { result -> [LoadPoint] in
            guard result.phase.from != result.phase.to else {
                return [LoadPoint(rate: result.phase.from, throughput: result.throughput, figures: result.figures)]
            }
            let first = Int(result.begin.rounded(.up)), last = Int(result.begin + result.phase.seconds)
            return (first..<max(first, min(last, record.seconds.count))).map { index in
                let second = record.seconds[index], figures = second.tally.figures
                return LoadPoint(rate: Double(second.due), throughput: Double(second.finished), figures: figures)
            }
        }
    }

    // MARK: - HTML

    private static func html(_ table: Table) -> String {
        func row(_ cells: [String], _ name: String) -> String {
            "<tr>" + cells.map { "<\(name)>\(Plot.escaped($0))</\(name)>" }.joined() + "</tr>"
        }
        let rows = table.rows.map { row($0, "td") }.joined(separator: "\n")
        return "<h2>\(Plot.escaped(table.title))</h2>\n<table>\(row(table.columns, "th"))\n\(rows)</table>"
    }

    /// Ten colours that remain distinguishable with red-green blindness, for light and for dark backgrounds.
    private static let style = """
        :root { color-scheme: light dark; --ink: #1c1f23; --ground: #fff; --faint: #d5d9de; }
        @media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --ground: #15181b; --faint: #3a4047; } }
        body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); margin: 2em auto;
          max-width: 84em; padding: 0 1em; }
        table { border-collapse: collapse; } th, td { padding: .15em .8em; text-align: right;
          border-bottom: 1px solid var(--faint); font-variant-numeric: tabular-nums; }
        th:first-child, td:first-child { text-align: left; }
        .plots { display: flex; flex-wrap: wrap; gap: 1em; } figure { margin: 0; flex: 1 1 34em; max-width: 50em; }
        figcaption { font-weight: 600; } svg { width: 100%; } line { stroke: var(--faint); }
        text { fill: var(--ink); font-size: 11px; } polyline { fill: none; stroke: var(--c); stroke-width: 1.6; }
        circle { fill: var(--c); } .legend span { margin-right: 1em; white-space: nowrap; }
        .legend i { display: inline-block; width: .8em; height: .8em; margin-right: .3em; background: var(--c); }
        .c0 { --c: #3b82d6; } .c1 { --c: #e8871e; } .c2 { --c: #c0489b; } .c3 { --c: #2a9d74; } .c4 { --c: #b59a00; }
        .c5 { --c: #7d6be0; } .c6 { --c: #d1495b; } .c7 { --c: #2aa5b8; } .c8 { --c: #8a8f98; } .c9 { --c: #97713c; }
        """
}
