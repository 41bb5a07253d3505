/// The phases of a run without a search, and of the trials of a search.
package struct LoadPlan: Sendable {
    /// The requested load from the command line.
    package struct Wish: Sendable {
        /// Requests per second.
        package var rate: Double
        /// Rates of consecutive steps; they replace `rate`.
        package var steps: [Double]
        /// Rates at both ends of a ramp; it replaces `rate`.
        package var ramp: (from: Double, to: Double)?
        /// The duration of each phase.
        package var seconds: Double
        /// The duration of the unjudged warm-up in which shoppers arrive; 0 or more.
        package var warmUpSeconds: Double

        /// A request for one rate.
        package init(rate: Double, seconds: Double, warmUpSeconds: Double) {
            (self.rate, self.seconds, self.warmUpSeconds) = (rate, seconds, warmUpSeconds)
            (steps, ramp) = ([], nil)
        }
    }

    /// Prefix of the names of a search's trials.
    package static let trialName = "trial"

    package private(set) var phases: [Phase]

    /// The phases in order: a warm-up, then the requested ones.
    package init(_ wish: Wish) {
        if let ramp = wish.ramp {
            let name = "ramp \(Self.text(ramp.from)) to \(Self.text(ramp.to))/s"
            phases = [Phase(name, from: ramp.from, to: ramp.to, seconds: wish.seconds)]
        } else {
            let rates = wish.steps.isEmpty ? [wish.rate] : wish.steps
            phases = rates.map { Phase("\(Self.text($0))/s", from: $0, seconds: wish.seconds) }
        }
        if let first = phases.first, let warmUp = Self.warmUp(to: max(first.from, 1), seconds: wish.warmUpSeconds) {
            phases.insert(warmUp, at: 0)
        }
    }

    /// The phases of a search's trial: a warm-up, in which shoppers arrive and queues of the previous trial drain, and
    /// the measured phase.
    package static func trial(rate: Double, seconds: Double, warmUpSeconds: Double) -> [Phase] {
        let trial = Phase("\(trialName) \(text(rate))/s", from: rate, seconds: seconds)
        return [warmUp(to: rate, seconds: warmUpSeconds), trial].compactMap { $0 }
    }

    private static func warmUp(to rate: Double, seconds: Double) -> Phase? {
        seconds > 0 ? Phase("warm-up", from: rate / 10, to: rate, seconds: seconds, isMeasured: false) : nil
    }

    private static func text(_ rate: Double) -> String {
        rate == rate.rounded() ? "\(Int(rate))" : "\((rate * 10).rounded() / 10)"
    }
}
