import ParseProtocol

/// Decides what a refund does next, apart from doing it. `RefundRunner` performs each action and reports the event that
/// follows.
///
///     pending ── give back (payments) ──> given back ── finish ──> done
///        └──────── refused ──> fail ──> failed
///
/// Only `pending`, `done` and `failed` are stored: payments answers the same for the same id however often it is asked,
/// so that a refund goes on from `pending` after a crash at any moment.
package struct RefundMachine: Sendable {
    package enum Point: Sendable, Equatable {
        case pending, done
        case failed(ParseError)
    }

    package enum Action: Sendable, Equatable {
        /// Ask payments to give the money back under the refund's id.
        case giveBack
        /// Store that it is done, with the order's new status and what the others must hear, in one transaction.
        case finish(providerId: String)
        /// Store that payments decided against it.
        case fail(ParseError)
        /// Wait, then report `waited`.
        case wait(Duration)
        /// Nil: done. Tell whoever waits.
        case answer(ParseError?)
    }

    private enum State {
        case pending
        case givenBack(providerId: String)
        case refused(ParseError)
        case decided(ParseError?)
    }

    private var state: State
    private var repetitions = 0

    package init(at point: Point) {
        state =
            switch point {
            case .pending: .pending
            case .done: .decided(nil)
            case .failed(let error): .decided(error)
            }
    }

    /// The refund begins, or goes on after a restart.
    package mutating func resume() -> Action { next() }

    package mutating func waited() -> Action { next() }

    /// - Parameter answer: the provider's id of the refund, or how payments failed.
    package mutating func answered(_ answer: Result<String, CheckoutMachine.StepFailure>) -> Action {
        guard case .pending = state else { return next() }
        switch answer {
        case .success(let id): state = .givenBack(providerId: id)
        case .failure(.refused(let error)): state = .refused(error)
        case .failure(.undecided): return again()
        }
        repetitions = 0
        return next()
    }

    /// A `finish` or `fail` was committed.
    package mutating func stored() -> Action {
        switch state {
        case .givenBack: state = .decided(nil)
        case .refused(let error): state = .decided(error)
        case .pending, .decided: break
        }
        return next()
    }

    /// A `finish` or `fail` was not committed.
    package mutating func notStored() -> Action { again() }

    private func next() -> Action {
        switch state {
        case .pending: .giveBack
        case .givenBack(let providerId): .finish(providerId: providerId)
        case .refused(let error): .fail(error)
        case .decided(let error): .answer(error)
        }
    }

    /// 50 ms at first, so that a service that restarts costs little, then up to half a minute: a provider may be away
    /// for hours.
    private mutating func again() -> Action {
        repetitions += 1
        return .wait(.milliseconds(min(30_000, 25 << min(repetitions, 11))))
    }
}
