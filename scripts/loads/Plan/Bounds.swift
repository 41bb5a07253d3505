import Foundation

/// The promise by which a phase is judged.
package struct Bounds: Sendable {
    /// Milliseconds within which 99 of 100 requests are answered, from when they were meant to start.
    package var p99Milliseconds: Double
    /// The share of requests that may fail, 0 to 1.
    package var errorShare: Double

    /// A promise of both.
    package init(p99Milliseconds: Double, errorShare: Double) {
        (self.p99Milliseconds, self.errorShare) = (p99Milliseconds, errorShare)
    }

    /// What was not kept; nothing when the promise was.
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
