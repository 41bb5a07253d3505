import ParseProtocol
import ServiceKit

/// The state machine of a checkout. No I/O: it decides the next action.
///
/// `CheckoutRunner` performs each action and reports the resulting event. Every step may be repeated: catalog and
/// payments recognise the checkout's id, and the ledger changes a row only in the expected state (`StepAlreadyTaken`).
/// After a crash `resume` continues from the stored state. An old reservation is renewed before the charge. If the
/// renewal is refused and a charge may have been made, payments is asked for the state of the charge. A first charge is
/// never made without a reservation.
///
///     started ── reserve ──> reserved ── charged or total 0, order placed ──> decided (receipt)
///        │                     ├── charged, placing failed ────> charged ── order placed ──> decided (receipt)
///        │                     ├── given up, already charged ──> charged ── order placed ──> decided (receipt)
///        └──────── fail ───────┴── fail ──> decided (reason)
///
/// A charge is stored in the transaction that places the order. Until that commit the checkout is `reserved`, and the
/// stored state does not say whether the customer was charged. The next driver asks payments under the same id and gets
/// the same answer. The charge is stored separately, as `charged`, only when the order cannot be placed at once.
///
/// A checkout is given up when it is undecided past its time limit or the customer's account was deleted. Payments then
/// abandons the charge at the provider. The checkout fails once payments confirms that nothing was charged. If the
/// charge was already made, the order is placed; after the deletion of the account the charge is refunded instead.
///
/// While the customer has to confirm the charge with the bank, the checkout stays `reserved` and no process drives it.
/// When a client repeats its request, and every few seconds (`CheckoutRunner.pollUnconfirmedCharges`), a
/// driver asks payments for the charge again.
///
/// A failure needs no intermediate state: its reply, the end of the checkout and the message that releases the
/// reservation are one transaction. The outbox repeats the message until the catalog confirms it.
package struct CheckoutMachine: Sendable {
    package enum Action: Sendable, Equatable {
        /// Ask the catalog to reserve these quantities by product under the checkout's id.
        case reserve([String: Int])
        /// Ask payments to charge the order's total under the checkout's id.
        case charge(PricedOrder)
        /// Ask payments for the state of the charge, without making one.
        case findCharge
        /// Store the state, then report `stored` or `notStored`.
        case store(CheckoutState)
        /// Assign the order number, mark the order as placed and queue the messages to other services, in one
        /// transaction. `chargeId` is empty for an order that costs nothing.
        case placeOrder(PricedOrder, chargeId: String)
        /// Store the failure and release the reservation, in one transaction. `holdsStock`: the reservation is known to
        /// exist.
        case fail(ParseError, holdsStock: Bool)
        /// The customer has to confirm the charge: store that, and give the secret to all waiting requests. This
        /// machine has ended, unless the runner reports `notStored` or calls `giveUp`.
        case awaitConfirmation(clientSecret: String)
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
        case needsConfirmation(String)
    }

    private enum Position {
        case at(CheckoutState)
        case storing(CheckoutState, from: CheckoutState)
    }

    /// How long the checkout trusts a reservation before it reserves again; far less than a reservation's lifetime.
    package static let reservationFreshFor = Duration.seconds(600)

    private let checkout: Checkout
    private let now: @Sendable () -> ContinuousClock.Instant
    private var position: Position
    /// Retries of the current step.
    private var repetitions = 0
    /// The time at which the catalog last confirmed the reservation. Nil after a restart: the catalog may have released
    /// the stock meanwhile.
    private var reservedAt: ContinuousClock.Instant?
    /// Whether payments may have been asked for the charge. True after a restart in `reserved`, because the stored
    /// state does not say.
    private var mayBeCharged = false
    /// The charge of `charged` is not in the database yet: it is stored together with the order.
    private var isChargeUnstored = false
    /// An attempt to place the order failed, so the charge is stored separately before the next one.
    private var mustStoreCharge = false
    /// Why the checkout is being given up: the stock is gone, its time limit has passed, or the customer's account was
    /// deleted. No charge may start from then on; a charge that was already made still places the order.
    private var giveUpReason: ParseError?
    /// When an undecided checkout is given up; nil for never.
    private let deadline: ContinuousClock.Instant?
    /// The customer has to confirm the charge, and the reservation still holds.
    private let awaitsConfirmation: Bool

    /// - Parameters:
    ///   - timeLeft: time until an undecided checkout is given up; nil for no limit.
    ///   - awaitsConfirmation: the customer has to confirm the charge. Payments is asked without a new reservation.
    package init(
        _ checkout: Checkout, at state: CheckoutState, timeLeft: Duration? = nil, awaitsConfirmation: Bool = false,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.checkout = checkout
        self.now = now
        self.awaitsConfirmation = awaitsConfirmation
        deadline = timeLeft.map { now() + $0 }
        position = .at(state)
        if case .reserved(let order) = state { mayBeCharged = order.totalMinorUnits > 0 }
    }

    // MARK: Events

    /// Starts the checkout, or continues it after a restart.
    package mutating func resume() -> Action {
        if case .storing(_, let from) = position { position = .at(from) }
        return next()
    }

    package mutating func waited() -> Action { next() }

    /// Ends the checkout without an order, unless its charge was already made.
    package mutating func giveUp(_ reason: ParseError) -> Action {
        if giveUpReason == nil { giveUpReason = reason }
        return next()
    }

    package mutating func reservationAnswered(_ answer: Result<Reservation, StepFailure>) -> Action {
        if case .at(.reserved) = position { return reservedAgain(answer) }
        guard case .at(.started) = position else { return next() }
        switch answer {
        case .success(let reservation):
            reservedAt = now()
            switch price(reservation) {
            case .success(let order): return store(.reserved(order), from: .started)
            case .failure(let error): return .fail(error, holdsStock: true)
            }
        case .failure(.undecided), .failure(.needsConfirmation): return again()
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
        case .failure(.undecided), .failure(.needsConfirmation): return again()
        case .failure(.refused(let error)):
            guard mayBeCharged else { return .fail(Self.publicReason(error), holdsStock: false) }
            if giveUpReason == nil { giveUpReason = Self.publicReason(error) }
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
        guard case .at(.reserved(let order)) = position, let giveUpReason else { return next() }
        switch answer {
        case .success(let chargeId): return store(.charged(order, chargeId: chargeId), from: .reserved(order))
        case .failure(.undecided), .failure(.needsConfirmation): return again()
        case .failure(.refused(let error)):
            return .fail(
                error.code == .objectNotFound ? giveUpReason : error,
                holdsStock: reservedAt != nil || awaitsConfirmation)
        }
    }

    package mutating func chargeAnswered(_ answer: Result<String, StepFailure>) -> Action {
        guard case .at(.reserved(let order)) = position else { return next() }
        switch answer {
        case .success(let chargeId):
            position = .at(.charged(order, chargeId: chargeId))
            repetitions = 0
            isChargeUnstored = true
            return next()
        case .failure(.undecided): return again()
        case .failure(.needsConfirmation(let secret)): return .awaitConfirmation(clientSecret: secret)
        case .failure(.refused(let error)): return .fail(error, holdsStock: true)
        }
    }

    /// The state of the last `store` action is committed.
    package mutating func stored() -> Action {
        if case .storing(let state, _) = position { position = .at(state) }
        (isChargeUnstored, mustStoreCharge) = (false, false)
        repetitions = 0
        return next()
    }

    /// A `store`, `placeOrder` or `fail` was not committed. The previous step is repeated and has the same outcome.
    package mutating func notStored() -> Action {
        if case .storing(_, let from) = position { position = .at(from) }
        if case .at(.charged) = position, isChargeUnstored { mustStoreCharge = true }
        return again()
    }

    /// `placeOrder` or `fail` was committed with this reply.
    package mutating func decided(_ outcome: CheckoutOutcome) -> Action {
        position = .at(.decided(outcome))
        return next()
    }

    // MARK: Decisions

    private mutating func next() -> Action {
        if let deadline, giveUpReason == nil, isUndecided, now() >= deadline { giveUpReason = Self.tooLate }
        switch (position, giveUpReason) {
        case (.at(.started), let giveUpReason?): return .fail(giveUpReason, holdsStock: false)
        case (.at(.reserved), let giveUpReason?):
            return mayBeCharged ? .findCharge : .fail(giveUpReason, holdsStock: reservedAt != nil)
        default: return step()
        }
    }

    /// The error of a checkout whose payment was still undecided at the deadline.
    package static let tooLate = ParseError(
        .scriptFailed, "The payment was not decided in time and is given up; nothing was charged. Please try again.",
        details: ["type": "api_error", "code": "payment_undecided"])

    /// Whether the checkout waits for the catalog or payments; only then does the deadline apply.
    private var isUndecided: Bool {
        switch position {
        case .at(.started): true
        case .at(.reserved(let order)): order.totalMinorUnits > 0
        default: false
        }
    }

    private mutating func step() -> Action {
        switch position {
        case .storing(let state, _): return .store(state)
        case .at(.started): return reserve
        case .at(.reserved(let order)):
            guard awaitsConfirmation || reservedAt.map({ now() < $0 + Self.reservationFreshFor }) == true else {
                return reserve
            }
            guard order.totalMinorUnits > 0 else { return .placeOrder(order, chargeId: "") }
            mayBeCharged = true
            return .charge(order)
        case .at(.charged(let order, let chargeId)):
            let charged = CheckoutState.charged(order, chargeId: chargeId)
            return mustStoreCharge ? store(charged, from: charged) : .placeOrder(order, chargeId: chargeId)
        case .at(.decided(let outcome)): return .answer(outcome)
        }
    }

    private var reserve: Action {
        .reserve(Dictionary(checkout.lines.map { ($0.productId, $0.quantity) }, uniquingKeysWith: { $0 + $1 }))
    }

    private mutating func store(_ state: CheckoutState, from: CheckoutState) -> Action {
        position = .storing(state, from: from)
        return .store(state)
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
