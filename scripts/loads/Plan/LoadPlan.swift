/// The phases of a run that looks for no limit, and those that a search for one puts together.
package struct LoadPlan: Sendable {
    /// What is asked for on the command line.
    package struct Wish: Sendable {
        /// Requests a second.
        package var rate: Double
        /// Rates of steps, one after the other; they replace `rate`.
        package var steps: [Double]
        /// Rates at both ends of a ramp; it replaces `rate`.
        package var ramp: (from: Double, to: Double)?
        /// How long each phase lasts.
        package var seconds: Double
        /// How long shoppers arrive before anything is judged; 0 or more.
        package var warmUpSeconds: Double

        /// A wish for one rate.
        package init(rate: Double, seconds: Double, warmUpSeconds: Double) {
            (self.rate, self.seconds, self.warmUpSeconds) = (rate, seconds, warmUpSeconds)
            (steps, ramp) = ([], nil)
        }
    }

    /// The name of a search's trials begins with it.
    package static let trialName = "trial"

    package private(set) var phases: [Phase]

    /// The phases in their order: a warm-up, and what was wished for.
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

    /// The phases of a search's trial. At first shoppers arrive and queues of the trial before end.
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
