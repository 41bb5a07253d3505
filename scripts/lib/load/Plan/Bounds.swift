import Foundation

/// The promise, which is the service level objective (SLO) by which a phase is judged.
package struct Bounds: Sendable {
    /// Maximum milliseconds for 99 of 100 requests, from their scheduled start.
    package var p99Milliseconds: Double
    /// The share of requests that may fail, 0 to 1.
    package var errorShare: Double

    /// A promise with both limits.
    package init(p99Milliseconds: Double, errorShare: Double) {
        (self.p99Milliseconds, self.errorShare) = (p99Milliseconds, errorShare)
    }

    /// The broken parts of the promise; empty when it was kept.
    package func problems(of figures: Figures) -> [String] {
        guard figures.requests > 0 else { return ["no request was made"] }
        var problems: [String] = []
        if figures.p99 > p99Milliseconds {
            problems.append(
                String(format: "p99 is %.1f ms, more than %.1f ms", figures.p99, p99Milliseconds))
        }
        let share = Double(figures.errors) / Double(figures.requests)
        if share > errorShare {
            problems.append("\(figures.errors) of \(figures.requests) requests failed")
        }
        return problems
    }
}
