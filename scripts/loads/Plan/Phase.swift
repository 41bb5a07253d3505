/// A stretch of a run in which the rate stays, or goes evenly from one figure to another. It fixes beforehand when each
/// request starts: a slow answer moves no later one.
package struct Phase: Sendable, Equatable {
    /// As reports call it.
    package var name: String
    /// Requests a second at the beginning, 0 or more.
    package var from: Double
    /// Requests a second at the end; one of both is more than 0.
    package var to: Double
    /// How long it lasts, more than 0.
    package var seconds: Double
    /// Whether it is judged; warm-ups are not.
    package var isMeasured: Bool

    /// A phase of an even change, or of none.
    /// - Precondition: a rate and the duration are more than 0.
    package init(_ name: String, from: Double, to: Double? = nil, seconds: Double, isMeasured: Bool = true) {
        let end = to ?? from
        precondition(from >= 0 && end >= 0 && max(from, end) > 0 && seconds > 0, "A phase needs a rate and a duration.")
        (self.name, self.from, self.to, self.seconds, self.isMeasured) = (name, from, end, seconds, isMeasured)
    }

    /// Requests that start in it.
    package var count: Int { Int(((from + to) / 2 * seconds + 1e-6).rounded(.down)) }

    /// Requests a second, after so many seconds.
    package func rate(at time: Double) -> Double { from + (to - from) * min(max(time / seconds, 0), 1) }

    /// When a request starts, in seconds after the phase's beginning.
    /// - Parameter number: 0 for the first, below `count`.
    package func start(of number: Int) -> Double {
        guard number > 0 else { return 0 }
        // Of n = from·t + slope·t²/2 the root that stays exact when the slope is small.
        let slope = (to - from) / seconds, due = Double(number)
        return 2 * due / (from + max(0, from * from + 2 * slope * due).squareRoot())
    }
}
