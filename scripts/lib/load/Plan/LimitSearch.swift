/// Searches for the highest rate that keeps a promise: doubles until the promise is broken, then halves the interval
/// between the highest rate that kept it and the lowest rate that broke it. A rate counts as too high when it broke the
/// promise twice in a row: a pause of the machine can break it once.
package struct LimitSearch: Sendable {
    /// The next action.
    package enum Action: Sendable, Equatable {
        /// Try a rate, in requests per second, and report the result.
        case trial(Double)
        /// The highest rate that kept the promise; nil when none did.
        case found(Double?)
    }

    private enum State {
        case trying(rate: Double, isRepeated: Bool)
        case ended
    }
    private var state: State
    private var kept: Double?
    private var broken: Double?
    private let least: Double
    private let most: Double
    private let precision: Double

    /// A search that begins with `start`.
    /// - Parameters:
    ///   - start: requests per second, more than 0.
    ///   - most: the upper limit, which is also the result if it keeps the promise.
    ///   - precision: the maximum relative error of the result (downwards), more than 0.
    package init(from start: Double, most: Double, precision: Double) {
        precondition(start > 0 && most > 0 && precision > 0, "A search needs a rate and a precision.")
        state = .trying(rate: min(start, most), isRepeated: false)
        (self.most, self.precision) = (most, precision)
        // A shop that breaks its promise at 1 % of the expected rate has a problem other than load.
        least = min(start, most) / 100
    }

    /// The next action.
    package var action: Action {
        switch state {
        case .trying(let rate, _): .trial(rate)
        case .ended: .found(kept)
        }
    }

    /// Records the result of the trial.
    package mutating func note(isKept: Bool) {
        guard case .trying(let rate, let isRepeated) = state else { return }
        if isKept {
            kept = max(rate, kept ?? 0)
        } else if isRepeated {
            broken = min(rate, broken ?? rate)
        } else {
            state = .trying(rate: rate, isRepeated: true)
            return
        }
        state = next().map { State.trying(rate: $0, isRepeated: false) } ?? .ended
    }

    private func next() -> Double? {
        switch (kept, broken) {
        case (let kept?, nil): kept < most ? min(kept * 2, most) : nil
        case (nil, let broken?): broken / 2 >= least ? broken / 2 : nil
        case (let kept?, let broken?): broken > kept * (1 + precision) ? (kept + broken) / 2 : nil
        case (nil, nil): nil
        }
    }
}
