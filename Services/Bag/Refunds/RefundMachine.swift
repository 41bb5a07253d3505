import ParseProtocol
import ServiceKit

/// The state machine of a refund. No I/O: it decides the next action. `RefundRunner` performs each action and reports
/// the resulting event.
///
///     pending ── refund (payments) ──> refunded ── finish ──> done
///        └────── refused ──> fail ──> failed
///
/// Only `pending`, `done` and `failed` are stored. Payments gives the same answer for the same id however often it is
/// asked, so a refund continues from `pending` after a crash at any moment.
package struct RefundMachine: Sendable {
    package enum StoredState: Sendable, Equatable {
        case pending, done
        case failed(ParseError)
    }

    package enum Outcome: Sendable, Equatable {
        case done
        case refused(ParseError)
    }

    package enum Action: Sendable, Equatable {
        /// Ask payments to refund under the refund's id.
        case refund
        /// Store the completed refund with the order's new status and the messages to other services, in one
        /// transaction.
        case finish(providerId: String)
        /// Store that payments refused.
        case fail(ParseError)
        /// Wait, then report `waited`.
        case wait(Duration)
        /// Done: send the outcome to all waiting requests.
        case answer(Outcome)
    }

    private enum State {
        case pending
        case refunded(providerId: String)
        case refused(ParseError)
        case decided(Outcome)
    }

    private var state: State
    private var repetitions = 0

    package init(at stored: StoredState) {
        state =
            switch stored {
            case .pending: .pending
            case .done: .decided(.done)
            case .failed(let error): .decided(.refused(error))
            }
    }

    /// Starts the refund, or continues it after a restart.
    package mutating func resume() -> Action { next() }

    package mutating func waited() -> Action { next() }

    /// - Parameter answer: the provider's id of the refund, or how payments failed.
    package mutating func answered(_ answer: Result<String, CheckoutMachine.StepFailure>) -> Action {
        guard case .pending = state else { return next() }
        switch answer {
        case .success(let id): state = .refunded(providerId: id)
        case .failure(.refused(let error)): state = .refused(error)
        case .failure(.undecided), .failure(.needsConfirmation): return again()
        }
        repetitions = 0
        return next()
    }

    /// A `finish` or `fail` was committed.
    package mutating func stored() -> Action {
        switch state {
        case .refunded: state = .decided(.done)
        case .refused(let error): state = .decided(.refused(error))
        case .pending, .decided: break
        }
        return next()
    }

    /// A `finish` or `fail` was not committed.
    package mutating func notStored() -> Action { again() }

    private func next() -> Action {
        switch state {
        case .pending: .refund
        case .refunded(let providerId): .finish(providerId: providerId)
        case .refused(let error): .fail(error)
        case .decided(let outcome): .answer(outcome)
        }
    }

    /// Short at first, so that a restart of a service costs little; later long, because a provider may be unavailable
    /// for hours.
    private static let backoff = Backoff(first: .milliseconds(50), longest: .seconds(30))

    private mutating func again() -> Action {
        repetitions += 1
        return .wait(Self.backoff.pause(afterFailures: repetitions))
    }
}
