/// A part of a run with a constant or linearly changing rate. All start times are fixed beforehand, so a slow answer
/// delays no later request.
package struct Phase: Sendable, Equatable {
    /// The name in reports.
    package var name: String
    /// Requests per second at the start, 0 or more.
    package var from: Double
    /// Requests per second at the end; one of the two must be more than 0.
    package var to: Double
    /// The duration, more than 0.
    package var seconds: Double
    /// Whether it is judged; warm-ups are not.
    package var isMeasured: Bool

    /// A phase with a linearly changing or constant rate.
    /// - Precondition: a rate and the duration are more than 0.
    package init(_ name: String, from: Double, to: Double? = nil, seconds: Double, isMeasured: Bool = true) {
        let end = to ?? from
        precondition(from >= 0 && end >= 0 && max(from, end) > 0 && seconds > 0, "A phase needs a rate and a duration.")
        (self.name, self.from, self.to, self.seconds, self.isMeasured) = (name, from, end, seconds, isMeasured)
    }

    /// The number of requests that start in it.
    package var count: Int { Int(((from + to) / 2 * seconds + 1e-6).rounded(.down)) }

    /// Requests per second at a time, in seconds after the start.
    package func rate(at time: Double) -> Double { from + (to - from) * min(max(time / seconds, 0), 1) }

    /// When a request starts, in seconds after the start of the phase.
    /// - Parameter number: 0 for the first, below `count`.
    package func start(of number: Int) -> Double {
        guard number > 0 else { return 0 }
        // The root of n = from·t + slope·t²/2, in the form that stays exact for small slopes.
        let slope = (to - from) / seconds, due = Double(number)
        return 2 * due / (from + max(0, from * from + 2 * slope * due).squareRoot())
    }
}
