import ParseProtocol
import ServiceKit

/// Decides what a checkout does next, apart from doing it.
///
/// `CheckoutRunner` performs each action and reports the event that follows. Every step repeats safely: reservation and
/// charge by the checkout's id, storing because it is one transaction. After a crash `resume` goes on from what is
/// stored; what was reserved some time ago is reserved again before it is charged. When that is refused and a charge
/// may have been made, payments is asked what became of it; a first charge is never made without the goods.
///
///     started ── reserve ──> reserved ── charge, make ─────────────────> decided (receipt)
///        │                     ├── find charge ──> charged ── make ──> decided (receipt)
///        │                     └── make (costs nothing) ────────────> decided (receipt)
///        └───────── fail ──────┴──────── fail ───────────────────────> decided (reason)
///
/// A charge is stored with the order that is made of it. Until that is committed the checkout is `reserved`, of which
/// nobody knows whether it was charged: whoever goes on asks payments under the same id, and gets the same answer. Only
/// when the order cannot be made at once is the charge stored by itself, as `charged`.
///
/// A failure needs no point between: its reply, the end of the checkout and the message that releases the reservation
/// are one transaction, and the message is delivered until the catalog has it.
package struct CheckoutMachine: Sendable {
    package enum Action: Sendable, Equatable {
        /// Ask the catalog to reserve these pieces per product under the checkout's id.
        case reserve([String: Int])
        /// Ask payments to take the order's total under the checkout's id.
        case charge(PricedOrder)
        /// Ask payments what became of the charge, without making one.
        case findCharge
        /// Store the point, then report `stored` or `notStored`.
        case store(RecoveryPoint)
        /// Number the order, mark it made and tell the others, in one transaction. `chargeId` is empty for an order
        /// that costs nothing.
        case make(PricedOrder, chargeId: String)
        /// Store the failure and release the reservation, in one transaction. `holdsStock`: pieces were reserved for
        /// certain.
        case fail(ParseError, holdsStock: Bool)
        /// Wait, then report `waited`.
        case wait(Duration)
        /// Done: tell whoever waits.
        case answer(CheckoutOutcome)
    }

    /// The way in which a step at another service ended without success.
    package enum StepFailure: Error, Equatable {
        /// The answer was lost or the service is away: whether it was carried out is not known, or it certainly was
        /// not.
        case undecided
        /// The service decided against it.
        case refused(ParseError)
    }

    private enum State {
        case at(RecoveryPoint)
        case storing(RecoveryPoint, from: RecoveryPoint)
    }

    /// A reservation is counted on for so long and then made again, which is far less than it lives.
    package static let reservationTrusted = Duration.seconds(600)

    private let checkout: Checkout
    private let now: @Sendable () -> ContinuousClock.Instant
    private var state: State
    /// Repetitions of the present step.
    private var repetitions = 0
    /// The time at which the catalog was last asked; nil when that was before a restart, so that the stock may have
    /// been given back.
    private var reservedAt: ContinuousClock.Instant?
    /// Payments may have been asked. From the disk nobody knows, and a charge that was made must not be lost.
    private var mayBeCharged = false
    /// The charge of `charged` is not stored yet: it will be with the order.
    private var chargeIsKnownHere = false
    /// That took more than one attempt, so that the charge is stored by itself.
    private var mustStoreCharge = false
    /// The refusal of the stock, once it cannot be had any more. Nothing may be charged from then on; a charge that was
    /// made counts.
    private var stockRefusal: ParseError?

    package init(
        _ checkout: Checkout, at point: RecoveryPoint, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.checkout = checkout
        self.now = now
        state = .at(point)
        if case .reserved(let order) = point { mayBeCharged = order.totalMinorUnits > 0 }
    }

    // MARK: Events

    /// The checkout begins, or goes on after a restart.
    package mutating func resume() -> Action {
        if case .storing(_, let from) = state { state = .at(from) }
        return next()
    }

    package mutating func waited() -> Action { next() }

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
        case .failure(.undecided): return again()
        case .failure(.refused(let error)): return .fail(Self.publicReason(error), holdsStock: false)
        }
    }

    /// The bag is the client's own; when something is not found, it is a product of it that is gone.
    private static func publicReason(_ error: ParseError) -> ParseError {
        guard error.code == .objectNotFound else { return error }
        return ParseError(.validationError, "A product in the bag is not sold any more.", details: error.details)
    }

    /// The prices stay those that were stored, which are also the catalog's for this reservation.
    private mutating func reservedAgain(_ answer: Result<Reservation, StepFailure>) -> Action {
        switch answer {
        case .failure(.undecided): return again()
        case .failure(.refused(let error)):
            guard mayBeCharged else { return .fail(Self.publicReason(error), holdsStock: false) }
            stockRefusal = Self.publicReason(error)
            repetitions = 0
            return next()
        case .success:
            reservedAt = now()
            return next()
        }
    }

    /// Payments knows whether the money was taken. If it was, the order is made of what is left; if not, it never will
    /// be.
    package mutating func chargeFound(_ answer: Result<String, StepFailure>) -> Action {
        guard case .at(.reserved(let order)) = state, let stockRefusal else { return next() }
        switch answer {
        case .success(let chargeId): return store(.charged(order, chargeId: chargeId), from: .reserved(order))
        case .failure(.undecided): return again()
        case .failure(.refused(let error)):
            return .fail(error.code == .objectNotFound ? stockRefusal : error, holdsStock: false)
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
        case .failure(.refused(let error)): return .fail(error, holdsStock: true)
        }
    }

    /// The point of the last `store` is on the disk.
    package mutating func stored() -> Action {
        if case .storing(let point, _) = state { state = .at(point) }
        (chargeIsKnownHere, mustStoreCharge) = (false, false)
        repetitions = 0
        return next()
    }

    /// A `store`, `make` or `fail` was not committed. The step before it is taken again, which has the same outcome.
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
        switch state {
        case .storing(let point, _): return .store(point)
        case .at(.started): return reserve
        case .at(.reserved) where stockRefusal != nil: return .findCharge
        case .at(.reserved(let order)):
            guard let reservedAt, now() < reservedAt + Self.reservationTrusted else { return reserve }
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

    /// Waits before the same step is taken again: 50 ms at first, so that a service that restarts costs little, then up
    /// to 5 s.
    private mutating func again() -> Action {
        repetitions += 1
        return .wait(.milliseconds(min(5000, 25 << min(repetitions, 10))))
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
        let order = PricedOrder(lines: lines, currency: reservation.currency)
        let total = order.totalMinorUnits
        if let expected = checkout.expectedAmount, expected != total {
            return .failure(
                ParseError(.validationError, "The amount \(expected) does not match the order's total \(total)."))
        }
        guard total > 0 else { return .success(order) }  // Prices are not negative: it costs nothing.
        guard checkout.source != .nothing else { return .failure(CheckoutRequest.needsOneSource) }
        guard Price.chargeable.contains(total) else {
            return .failure(ParseError(.validationError, "A total of \(total) cannot be charged."))
        }
        return .success(order)
    }
}
