import ParseProtocol
import ProcessKit

/// A page of metrics: Prometheus' text format 0.0.4, or OpenMetrics 1.0, which also has exemplars.
package struct MetricsPage {
    package enum Form: Sendable {
        case prometheus, openMetrics

        /// - Parameter accept: the client's `Accept` header.
        package init(accept: String?) {
            self = AcceptedTypes.include("application/openmetrics-text", in: accept) ? .openMetrics : .prometheus
        }

        package var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    package typealias Labels = [(name: String, value: String)]

    private let form: Form
    /// The lines of each metric, which have to stand together. In order of the first sample.
    private var families: [(metric: Metric, lines: String)] = []
    private var indices: [String: Int] = [:]

    /// A page without metrics.
    package init(_ form: Form) { self.form = form }

    // MARK: - Samples

    /// Adds a sample of a counter or a gauge. No two samples of a metric have the same labels.
    package mutating func add(_ metric: Metric, _ value: Double, _ labels: Labels = []) {
        let suffix = metric.kind == .counter ? "_total" : ""
        let index = index(of: metric)
        families[index].lines += Self.line(metric.name + suffix, labels, Self.number(value)) + "\n"
    }

    /// Adds durations, in seconds.
    package mutating func add(_ metric: Metric, _ row: ResponseTimes.Row, _ labels: Labels = []) {
        let hasExemplars = form == .openMetrics && !row.exemplars.isEmpty
        var lines = ""
        var (count, next) = (UInt64(0), 0)
        func bucket(_ end: String, _ exported: Int) {
            lines += Self.line("\(metric.name)_bucket", labels + [(name: "le", value: end)], "\(count)")
            if hasExemplars, let exemplar = row.exemplars[exported] {
                lines += " # " + Self.text(of: [(name: "trace_id", value: exemplar.trace)])
                lines += " \(Self.number(exemplar.seconds)) \(Double(exemplar.at.milliseconds) / 1000)"
            }
            lines += "\n"
        }
        for (exported, bound) in ResponseTimes.exported.enumerated() {
            while next <= bound, next < row.buckets.count {
                count += row.buckets[next]
                next += 1
            }
            bucket("\(Double(ResponseTimes.bounds[bound]) / 1_000_000)", exported)
        }
        count = row.count
        bucket("+Inf", ResponseTimes.exported.count)
        lines += Self.line("\(metric.name)_sum", labels, Self.number(row.microseconds / 1_000_000)) + "\n"
        lines += Self.line("\(metric.name)_count", labels, "\(count)") + "\n"
        let index = index(of: metric)
        families[index].lines += lines
    }

    private mutating func index(of metric: Metric) -> Int {
        if let index = indices[metric.name] { return index }
        indices[metric.name] = families.count
        families.append((metric: metric, lines: ""))
        return families.count - 1
    }

    // MARK: - Text

    /// The page.
    package var text: String {
        var text = ""
        for (metric, lines) in families {
            // OpenMetrics names the metric, Prometheus' own format the samples.
            let name = metric.name + (metric.kind == .counter && form == .prometheus ? "_total" : "")
            text += "# HELP \(name) \(Self.escaped(metric.help, quotes: form == .openMetrics))\n"
            text += "# TYPE \(name) \(metric.kind.rawValue)\n"
            text += lines
        }
        return form == .openMetrics ? text + "# EOF\n" : text
    }

    private static func line(_ name: String, _ labels: Labels, _ value: String) -> String {
        "\(name)\(labels.isEmpty ? "" : text(of: labels)) \(value)"
    }

    private static func text(of labels: Labels) -> String {
        "{\(labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ","))}"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func number(_ value: Double) -> String {
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return "\(whole)" }
        guard value.isFinite else { return value.isNaN ? "NaN" : value > 0 ? "+Inf" : "-Inf" }
        return "\(value)"
    }
}
