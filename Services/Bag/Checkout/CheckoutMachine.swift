import ParseProtocol
import ServiceKit

/// The state machine of a checkout. No I/O: it decides the next action.
///
/// `CheckoutRunner` performs each action and reports the resulting event. Every step is idempotent: reservation and
/// charge by the checkout's id, storing because it is one transaction. After a crash `resume` continues from the stored
/// point. An old reservation is renewed before the charge. If the renewal is refused and a charge may have been made,
/// payments is asked for the state of the charge. A first charge is never made without a reservation.
///
///     started ── reserve ──> reserved ── charge, make ─────────────────> decided (receipt)
///        │                     ├── find charge ──> charged ── make ──> decided (receipt)
///        │                     └── make (costs nothing) ────────────> decided (receipt)
///        └───────── fail ──────┴──────── fail ───────────────────────> decided (reason)
///
/// A charge is stored in the transaction that places the order. Until that commit the checkout is `reserved`, and the
/// stored state does not say whether the customer was charged. The next driver asks payments under the same id and gets
/// the same answer. The charge is stored separately, as `charged`, only when the order cannot be placed at once.
///
/// A checkout is given up when it is undecided past its time limit or the customer's account was deleted. Payments then
/// abandons the charge at the provider. The checkout fails once payments confirms that nothing was charged. If the
/// charge was already made, the order is placed.
///
/// While the customer has to confirm the charge with the bank, the checkout stays `reserved` and no process drives it.
/// When a client repeats its request, and every few seconds (`CheckoutRunner.lookAfterActions`), a driver asks payments
/// for the charge again.
///
/// A failure needs no intermediate point: its reply, the end of the checkout and the message that releases the
/// reservation are one transaction. The outbox repeats the message until the catalog confirms it.
package struct CheckoutMachine: Sendable {
    package enum Action: Sendable, Equatable {
        /// Ask the catalog to reserve these quantities by product under the checkout's id.
        case reserve([String: Int])
        /// Ask payments to charge the order's total under the checkout's id.
        case charge(PricedOrder)
        /// Ask payments for the state of the charge, without making one.
        case findCharge
        /// Store the point, then report `stored` or `notStored`.
        case store(RecoveryPoint)
        /// Assign the order number, mark the order as placed and queue the messages to other services, in one
        /// transaction. `chargeId` is empty for an order that costs nothing.
        case make(PricedOrder, chargeId: String)
        /// Store the failure and release the reservation, in one transaction. `holdsStock`: the reservation is known to
        /// exist.
        case fail(ParseError, holdsStock: Bool)
        /// The customer has to confirm the charge: store that, and give the secret to all waiting requests. This
        /// machine has ended, unless the runner reports `notStored` or calls `giveUp`.
        case awaitAction(clientSecret: String)
        /// Wait, then report `waited`.
        case wait(Duration)
        /// Done: send the outcome to all waiting requests.
        case answer(CheckoutOutcome)
    }

    /// How a step at another service failed.
    package enum StepFailure: Error, Equatable {
        /// The answer was lost or the service is unavailable. The step may or may not have been carried out.
        case undecided
        /// The service refused the step.
        case refused(ParseError)
        /// Nothing is decided before the customer has confirmed the charge, with this secret.
        case needsAction(String)
    }

    private enum State {
        case at(RecoveryPoint)
        case storing(RecoveryPoint, from: RecoveryPoint)
    }

    /// How long the checkout trusts a reservation before it reserves again; far less than a reservation's lifetime.
    package static let reservationFreshFor = Duration.seconds(600)

    private let checkout: Checkout
    private let now: @Sendable () -> ContinuousClock.Instant
    private var state: State
    /// Retries of the current step.
    private var repetitions = 0
    /// When the catalog last confirmed the reservation. Nil after a restart: the catalog may have released the stock
    /// meanwhile.
    private var reservedAt: ContinuousClock.Instant?
    /// Whether payments may have been asked for the charge. True after a restart in `reserved`, because the stored
    /// state does not say.
    private var mayBeCharged = false
    /// The charge of `charged` is not stored yet; it is stored together with the order.
    private var chargeIsKnownHere = false
    /// An attempt to place the order failed, so the charge is stored separately before the next one.
    private var mustStoreCharge = false
    /// Why the checkout is being given up: the stock is gone, its time limit has passed, or the customer's account was
    /// deleted. No charge may start from then on; a charge that was already made still places the order.
    private var refusal: ParseError?
    /// When an undecided checkout is given up; nil for never.
    private let deadline: ContinuousClock.Instant?
    /// The customer has to confirm the charge, and the reservation still holds.
    private let awaitsAction: Bool

    /// - Parameters:
    ///   - timeLeft: time until an undecided checkout is given up; nil for no limit.
    ///   - awaitsAction: the customer has to confirm the charge. Payments is asked without a new reservation.
    package init(
        _ checkout: Checkout, at point: RecoveryPoint, timeLeft: Duration? = nil, awaitsAction: Bool = false,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.checkout = checkout
        self.now = now
        self.awaitsAction = awaitsAction
        deadline = timeLeft.map { now() + $0 }
        state = .at(point)
        if case .reserved(let order) = point { mayBeCharged = order.totalMinorUnits > 0 }
    }

    // MARK: Events

    /// Starts the checkout, or continues it after a restart.
    package mutating func resume() -> Action {
        if case .storing(_, let from) = state { state = .at(from) }
        return next()
    }

    package mutating func waited() -> Action { next() }

    /// Ends the checkout without an order, unless its charge was already made.
    package mutating func giveUp(_ reason: ParseError) -> Action {
        if refusal == nil { refusal = reason }
        return next()
    }

    package mutating func reservationAnswered(_ answer: Result<Reservation, StepFailure>) -> Action {
        if case .at(.reserved) = state { return reservedAgain(answer) }
        guard case .at(.started) = state else { return next() }
        switch answer {
        case .success(let reservation):
            reservedAt = now()
            switch price(reservation) {
            case .success(let order): return store(.reserved(order), from: .started)
            case .failure(let error): return .fail(error, holdsStock: true)
            }
        case .failure(.undecided), .failure(.needsAction): return again()
        case .failure(.refused(let error)): return .fail(Self.publicReason(error), holdsStock: false)
        }
    }

    /// The bag belongs to the client, so "not found" means that one of its products is gone.
    private static func publicReason(_ error: ParseError) -> ParseError {
        guard error.code == .objectNotFound else { return error }
        return ParseError(.validationError, "A product in the bag is not for sale any more.", details: error.details)
    }

    /// Keeps the stored prices. The catalog has the same prices for this reservation.
    private mutating func reservedAgain(_ answer: Result<Reservation, StepFailure>) -> Action {
        switch answer {
        case .failure(.undecided), .failure(.needsAction): return again()
        case .failure(.refused(let error)):
            guard mayBeCharged else { return .fail(Self.publicReason(error), holdsStock: false) }
            if refusal == nil { refusal = Self.publicReason(error) }
            repetitions = 0
            return next()
        case .success:
            reservedAt = now()
            return next()
        }
    }

    /// The answer to `findCharge`. If the customer was charged, the order is placed although its reservation may be
    /// gone. Otherwise payments never makes the charge, and the checkout fails.
    package mutating func chargeFound(_ answer: Result<String, StepFailure>) -> Action {
        guard case .at(.reserved(let order)) = state, let refusal else { return next() }
        switch answer {
        case .success(let chargeId): return store(.charged(order, chargeId: chargeId), from: .reserved(order))
        case .failure(.undecided), .failure(.needsAction): return again()
        case .failure(.refused(let error)):
            return .fail(error.code == .objectNotFound ? refusal : error, holdsStock: reservedAt != nil || awaitsAction)
        }
    }

    package mutating func chargeAnswered(_ answer: Result<String, StepFailure>) -> Action {
        guard case .at(.reserved(let order)) = state else { return next() }
        switch answer {
        case .success(let chargeId):
            state = .at(.charged(order, chargeId: chargeId))
            repetitions = 0
            chargeIsKnownHere = true
            return next()
        case .failure(.undecided): return again()
        case .failure(.needsAction(let secret)): return .awaitAction(clientSecret: secret)
        case .failure(.refused(let error)): return .fail(error, holdsStock: true)
        }
    }

    /// The point of the last `store` action is committed.
    package mutating func stored() -> Action {
        if case .storing(let point, _) = state { state = .at(point) }
        (chargeIsKnownHere, mustStoreCharge) = (false, false)
        repetitions = 0
        return next()
    }

    /// A `store`, `make` or `fail` was not committed. The previous step is repeated and has the same outcome.
    package mutating func notStored() -> Action {
        if case .storing(_, let from) = state { state = .at(from) }
        if case .at(.charged) = state, chargeIsKnownHere { mustStoreCharge = true }
        return again()
    }

    /// `make` or `fail` was committed with this reply.
    package mutating func decided(_ outcome: CheckoutOutcome) -> Action {
        state = .at(.decided(outcome))
        return next()
    }

    // MARK: Decisions

    private mutating func next() -> Action {
        if let deadline, refusal == nil, isUndecided, now() >= deadline { refusal = Self.tooLate }
        switch (state, refusal) {
        case (.at(.started), let refusal?): return .fail(refusal, holdsStock: false)
        case (.at(.reserved), let refusal?):
            return mayBeCharged ? .findCharge : .fail(refusal, holdsStock: reservedAt != nil)
        default: return step()
        }
    }

    /// The error of a checkout whose payment was still undecided at the deadline.
    package static let tooLate = ParseError(
        .scriptFailed, "The payment was not decided in time and is given up; nothing was charged. Please try again.",
        details: ["type": "api_error", "code": "payment_undecided"])

    /// Whether the checkout waits for the catalog or payments; only then does the deadline apply.
    private var isUndecided: Bool {
        switch state {
        case .at(.started): true
        case .at(.reserved(let order)): order.totalMinorUnits > 0
        default: false
        }
    }

    private mutating func step() -> Action {
        switch state {
        case .storing(let point, _): return .store(point)
        case .at(.started): return reserve
        case .at(.reserved(let order)):
            guard awaitsAction || reservedAt.map({ now() < $0 + Self.reservationFreshFor }) == true else {
                return reserve
            }
            guard order.totalMinorUnits > 0 else { return .make(order, chargeId: "") }
            mayBeCharged = true
            return .charge(order)
        case .at(.charged(let order, let chargeId)):
            let charged = RecoveryPoint.charged(order, chargeId: chargeId)
            return mustStoreCharge ? store(charged, from: charged) : .make(order, chargeId: chargeId)
        case .at(.decided(let outcome)): return .answer(outcome)
        }
    }

    private var reserve: Action {
        .reserve(Dictionary(checkout.lines.map { ($0.productId, $0.quantity) }, uniquingKeysWith: { $0 + $1 }))
    }

    private mutating func store(_ point: RecoveryPoint, from: RecoveryPoint) -> Action {
        state = .storing(point, from: from)
        return .store(point)
    }

    /// Short at first, so that a restart of a service costs little.
    private static let backoff = Backoff(first: .milliseconds(50), longest: .seconds(5))

    /// Waits before repeating the same step.
    private mutating func again() -> Action {
        repetitions += 1
        return .wait(Self.backoff.pause(afterFailures: repetitions))
    }

    private func price(_ reservation: Reservation) -> Result<PricedOrder, ParseError> {
        var lines: [PricedOrder.Line] = []
        for line in checkout.lines {
            guard let product = reservation.products[line.productId],
                (0...Price.minorUnitsMax).contains(product.unitPriceMinorUnits),
                (1...Quantity.max).contains(line.quantity)
            else { return .failure(.internalError) }
            lines.append(
                PricedOrder.Line(
                    itemId: line.itemId, productId: line.productId, name: product.name, quantity: line.quantity,
                    unitPriceMinorUnits: product.unitPriceMinorUnits))
        }
        var order = PricedOrder(lines: lines, currency: reservation.currency)
        if let discount = checkout.discount {
            do { try order.apply(discount) } catch { return .failure(error) }
        }
        let total = order.totalMinorUnits
        if let expected = checkout.expectedAmount, expected != total {
            return .failure(
                ParseError(.validationError, "The amount \(expected) does not match the order's total \(total)."))
        }
        guard total > 0 else { return .success(order) }  // It is never negative, so the order costs nothing.
        guard checkout.source != .nothing else { return .failure(CheckoutRequest.needsOneSource) }
        guard Price.chargeable.contains(total) else {
            return .failure(ParseError(.validationError, "A total of \(total) cannot be charged."))
        }
        return .success(order)
    }
}
