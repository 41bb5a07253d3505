import BagService
import MessageBus
import ParseProtocol
import Synchronization
import Testing

/// The next step of a checkout from every stored state and after every failure. No I/O.
@Suite struct CheckoutMachineTests {
    static let lines = [
        Checkout.Line(itemId: "i1", productId: "soap", quantity: 2),
        Checkout.Line(itemId: "i2", productId: "comb", quantity: 1),
    ]
    static let reservation = Reservation(
        products: [
            "soap": .init(name: "Soap", unitPriceMinorUnits: 350),
            "comb": .init(name: "Comb", unitPriceMinorUnits: 1200),
        ], currency: "usd")
    static let declined = ParseError(.scriptFailed, "Your card was declined.", details: ["code": "card_declined"])

    static func checkout(_ lines: [Checkout.Line] = lines, amount: Int64? = nil) -> Checkout {
        Checkout(
            id: "co_1", orderId: "o1", customerId: "u1", lines: lines, expectedAmount: amount,
            source: .token("tok_visa"),
            email: "")
    }

    static func machine(at point: CheckoutState = .started, amount: Int64? = nil) -> CheckoutMachine {
        CheckoutMachine(checkout(amount: amount), at: point)
    }

    /// The order as the reservation prices it.
    static func priced() throws -> PricedOrder {
        var machine = machine()
        guard case .store(.reserved(let order)) = machine.reservationAnswered(.success(reservation)) else {
            throw ParseError.internalError
        }
        return order
    }

    // MARK: Stored states

    @Test func startedReserves() {
        var machine = Self.machine()
        #expect(machine.resume() == .reserve(["soap": 2, "comb": 1]))
    }

    @Test func linesOfOneProductAreReservedTogether() {
        let lines = Self.lines + [Checkout.Line(itemId: "i3", productId: "soap", quantity: 3)]
        var machine = CheckoutMachine(Self.checkout(lines), at: .started)
        #expect(machine.resume() == .reserve(["soap": 5, "comb": 1]))
    }

    @Test func reservedCharges() throws {
        let order = try Self.priced()
        #expect(order.totalMinorUnits == 1900)
        #expect(order.lines.map(\.name) == ["Soap", "Comb"])
        var machine = Self.machine(at: .reserved(order))
        // The reservation may have expired while no process drove the checkout.
        #expect(machine.resume() == .reserve(["soap": 2, "comb": 1]))
        #expect(machine.reservationAnswered(.failure(.undecided)) == .wait(.milliseconds(50)))
        #expect(machine.waited() == .reserve(["soap": 2, "comb": 1]))
        #expect(machine.reservationAnswered(.success(Self.reservation)) == .charge(order))
    }

    private static let short = ParseError(.validationError, "Soap is sold out.")

    /// The outcome of a query for a charge whose reservation is gone, and the next action.
    struct Found: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: Result<String, CheckoutMachine.StepFailure>
        let action: @Sendable (PricedOrder) -> CheckoutMachine.Action
    }

    static let found = [
        Found(testDescription: "made", answer: .success("ch_1")) { .store(.charged($0, chargeId: "ch_1")) },
        Found(testDescription: "never made", answer: .failure(.refused(.objectNotFound))) { _ in
            .fail(short, holdsStock: false)
        },
        Found(testDescription: "declined", answer: .failure(.refused(declined))) { _ in
            .fail(declined, holdsStock: false)
        },
        Found(testDescription: "undecided", answer: .failure(.undecided)) { _ in .wait(.milliseconds(50)) },
    ]

    @Test(arguments: found) func withoutTheGoodsNoFirstChargeIsMade(_ charge: Found) throws {
        let order = try Self.priced()
        var machine = Self.machine(at: .reserved(order))
        #expect(machine.resume() == .reserve(["soap": 2, "comb": 1]))
        #expect(machine.reservationAnswered(.failure(.refused(Self.short))) == .findCharge)
        #expect(machine.chargeFound(charge.answer) == charge.action(order))
    }

    /// Payments may have recorded by then that the charge will never be made, so the reservation is not tried again.
    @Test func aLostAnswerAboutAChargeIsAskedForAgain() throws {
        let order = try Self.priced()
        var machine = Self.machine(at: .reserved(order))
        _ = machine.resume()
        _ = machine.reservationAnswered(.failure(.refused(Self.short)))
        for _ in 0..<20 {
            _ = machine.chargeFound(.failure(.undecided))
            #expect(machine.waited() == .findCharge)
        }
        #expect(machine.chargeFound(.success("ch_1")) == .store(.charged(order, chargeId: "ch_1")))
        #expect(machine.notStored() != .charge(order))
        #expect(machine.waited() == .findCharge)
        _ = machine.chargeFound(.success("ch_1"))
        #expect(machine.stored() == .placeOrder(order, chargeId: "ch_1"))
    }

    @Test func aChargeThatMayHaveBeenMadeIsLookedForAlsoWithoutARestart() throws {
        let order = try Self.priced()
        let clock = Clock()
        var machine = CheckoutMachine(Self.checkout(), at: .started, now: { clock.now })
        _ = machine.resume()
        _ = machine.reservationAnswered(.success(Self.reservation))
        #expect(machine.stored() == .charge(order))
        _ = machine.chargeAnswered(.failure(.undecided))
        clock.advance(CheckoutMachine.reservationFreshFor)
        #expect(machine.waited() == .reserve(["soap": 2, "comb": 1]))
        #expect(machine.reservationAnswered(.failure(.refused(Self.short))) == .findCharge)
    }

    @Test func anOldReservationIsMadeAgainBeforeTheFirstCharge() throws {
        let order = try Self.priced()
        let clock = Clock()
        var machine = CheckoutMachine(Self.checkout(), at: .started, now: { clock.now })
        _ = machine.resume()
        #expect(machine.reservationAnswered(.success(Self.reservation)) == .store(.reserved(order)))
        clock.advance(CheckoutMachine.reservationFreshFor)
        #expect(machine.stored() == .reserve(["soap": 2, "comb": 1]))
        let short = ParseError(.validationError, "Soap is sold out.")
        #expect(machine.reservationAnswered(.failure(.refused(short))) == .fail(short, holdsStock: false))
    }

    @Test func aChargeThatStaysUndecidedKeepsItsReservation() throws {
        let order = try Self.priced()
        let clock = Clock()
        var machine = CheckoutMachine(Self.checkout(), at: .started, now: { clock.now })
        _ = machine.resume()
        _ = machine.reservationAnswered(.success(Self.reservation))
        #expect(machine.stored() == .charge(order))
        _ = machine.chargeAnswered(.failure(.undecided))
        #expect(machine.waited() == .charge(order))
        clock.advance(CheckoutMachine.reservationFreshFor)
        _ = machine.chargeAnswered(.failure(.undecided))
        #expect(machine.waited() == .reserve(["soap": 2, "comb": 1]))
        #expect(machine.reservationAnswered(.success(Self.reservation)) == .charge(order))
    }

    private final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { time.withLock { $0 } }
        func advance(_ duration: Duration) { time.withLock { $0 += duration } }
    }

    @Test func chargedMakesTheOrder() throws {
        let order = try Self.priced()
        var machine = Self.machine(at: .charged(order, chargeId: "ch_1"))
        #expect(machine.resume() == .placeOrder(order, chargeId: "ch_1"))
    }

    @Test func madeAnswersTheStoredReceipt() {
        var machine = Self.machine(at: .decided(.success([1, 2, 3])))
        #expect(machine.resume() == .answer(.success([1, 2, 3])))
    }

    @Test func failedAnswersTheStoredReason() {
        var machine = Self.machine(at: .decided(.failure(Self.declined)))
        #expect(machine.resume() == .answer(.failure(Self.declined)))
    }

    @Test func everyPointIsStoredBeforeTheNextStep() throws {
        let order = try Self.priced()
        var machine = Self.machine(amount: 1900)
        _ = machine.resume()
        #expect(machine.reservationAnswered(.success(Self.reservation)) == .store(.reserved(order)))
        #expect(machine.stored() == .charge(order))
        // The charge is stored with the order.
        #expect(machine.chargeAnswered(.success("ch_1")) == .placeOrder(order, chargeId: "ch_1"))
        #expect(machine.decided(.success([7])) == .answer(.success([7])))
    }

    // MARK: Failures

    @Test func shortStockFailsWithTheCatalogsWords() {
        let short = ParseError(.validationError, "Only 3 of Soap are left.", details: ["available": 3])
        var machine = Self.machine()
        #expect(machine.reservationAnswered(.failure(.refused(short))) == .fail(short, holdsStock: false))
    }

    @Test func aProductThatIsGoneIsNotANotFoundOfTheOrder() {
        var machine = Self.machine()
        guard
            case .fail(let error, holdsStock: false) = machine.reservationAnswered(.failure(.refused(.objectNotFound)))
        else {
            Issue.record("An unexpected action.")
            return
        }
        #expect(error.code == .validationError)
    }

    @Test(arguments: [0, 1899, 1901, 190_000]) func anAmountThatDoesNotMatchFailsAndReleases(amount: Int64) {
        var machine = Self.machine(amount: amount)
        let error = ParseError(.validationError, "The amount \(amount) does not match the order's total 1900.")
        #expect(machine.reservationAnswered(.success(Self.reservation)) == .fail(error, holdsStock: true))
    }

    /// T8b: a free order is placed without a charge, also after a restart, but never without its products.
    @Test func aTotalOfNothingIsNotCharged() throws {
        let free = Reservation(
            products: Self.reservation.products.mapValues { .init(name: $0.name, unitPriceMinorUnits: 0) },
            currency: "usd")
        var machine = Self.machine(amount: 0)
        guard case .store(let point) = machine.reservationAnswered(.success(free)), case .reserved(let order) = point
        else {
            Issue.record("An unexpected action.")
            return
        }
        #expect(machine.stored() == .placeOrder(order, chargeId: ""))
        #expect(machine.notStored() == .wait(.milliseconds(50)))
        #expect(machine.waited() == .placeOrder(order, chargeId: ""))
        var resumed = Self.machine(at: point, amount: 0)
        guard case .reserve = resumed.resume() else {
            Issue.record("After a restart the reservation may have been released.")
            return
        }
        let gone = ParseError(.validationError, "Sold out.")
        #expect(resumed.reservationAnswered(.failure(.refused(gone))) == .fail(gone, holdsStock: false))
    }

    @Test(arguments: [(1_000_000, 999)]) func aTotalThatCannotBeChargedFails(price: Int64, quantity: Int) {
        let lines = [Checkout.Line(itemId: "i1", productId: "soap", quantity: quantity)]
        var machine = CheckoutMachine(Self.checkout(lines), at: .started)
        let answer = Reservation(products: ["soap": .init(name: "Soap", unitPriceMinorUnits: price)], currency: "usd")
        guard case .fail(let error, holdsStock: true) = machine.reservationAnswered(.success(answer)) else {
            Issue.record("An unexpected action.")
            return
        }
        #expect(error.code == .validationError)
    }

    @Test(arguments: [-1, 1_000_000_001, nil] as [Int64?]) func pricesThatCannotBeEndInAnError(price: Int64?) {
        let products = price.map { ["soap": Reservation.Product(name: "Soap", unitPriceMinorUnits: $0)] } ?? [:]
        var machine = Self.machine()
        #expect(
            machine.reservationAnswered(.success(Reservation(products: products, currency: "usd")))
                == .fail(.internalError, holdsStock: true))
    }

    @Test func aDeclineFailsAndReleases() throws {
        var machine = Self.machine(at: .reserved(try Self.priced()))
        #expect(machine.chargeAnswered(.failure(.refused(Self.declined))) == .fail(Self.declined, holdsStock: true))
    }

    // MARK: Lost answers

    @Test func aLostAnswerIsAskedForAgainAndNeverTakenForAFailure() throws {
        let order = try Self.priced()
        var machine = Self.machine(at: .reserved(order))
        _ = machine.reservationAnswered(.success(Self.reservation))
        var pauses: [Duration] = []
        for _ in 0..<1000 {
            guard case .wait(let pause) = machine.chargeAnswered(.failure(.undecided)) else {
                Issue.record("An unexpected action.")
                return
            }
            pauses.append(pause)
            #expect(machine.waited() == .charge(order))
        }
        #expect(pauses.first == .milliseconds(50))
        #expect(pauses.max() == .seconds(5))
        #expect(machine.chargeAnswered(.success("ch_1")) == .placeOrder(order, chargeId: "ch_1"))
    }

    @Test func aLostReservationIsAskedForAgain() {
        var machine = Self.machine()
        #expect(machine.reservationAnswered(.failure(.undecided)) == .wait(.milliseconds(50)))
        #expect(machine.waited() == .reserve(["soap": 2, "comb": 1]))
    }

    /// If the first attempt to create the order fails, the charge is stored, so that not only the process's memory
    /// knows of it.
    @Test func aChargeWhoseOrderCannotBeMadeIsStoredByItself() throws {
        let order = try Self.priced()
        let charged = CheckoutMachine.Action.store(.charged(order, chargeId: "ch_1"))
        var machine = Self.machine(at: .reserved(order))
        _ = machine.reservationAnswered(.success(Self.reservation))
        #expect(machine.chargeAnswered(.success("ch_1")) == .placeOrder(order, chargeId: "ch_1"))
        #expect(machine.notStored() == .wait(.milliseconds(50)))
        #expect(machine.waited() == charged)
        #expect(machine.notStored() == .wait(.milliseconds(100)))
        #expect(machine.waited() == charged)
        #expect(machine.stored() == .placeOrder(order, chargeId: "ch_1"))
        #expect(machine.notStored() == .wait(.milliseconds(50)))
        #expect(machine.waited() == .placeOrder(order, chargeId: "ch_1"))
    }

    /// The process that continues after a crash finds the products reserved and requests the same charge.
    @Test func aChargeThatWasNotStoredIsAskedForAgainUnderTheSameId() throws {
        let order = try Self.priced()
        var machine = Self.machine(at: .reserved(order))
        _ = machine.resume()
        #expect(machine.reservationAnswered(.success(Self.reservation)) == .charge(order))
    }

    @Test func anOrderThatCouldNotBeMadeIsMadeLater() throws {
        let order = try Self.priced()
        var machine = Self.machine(at: .charged(order, chargeId: "ch_1"))
        #expect(machine.notStored() == .wait(.milliseconds(50)))
        #expect(machine.waited() == .placeOrder(order, chargeId: "ch_1"))
    }

    @Test func anAnswerToAnEarlierStepChangesNothing() throws {
        let order = try Self.priced()
        var machine = Self.machine(at: .charged(order, chargeId: "ch_1"))
        #expect(machine.chargeAnswered(.failure(.refused(Self.declined))) == .placeOrder(order, chargeId: "ch_1"))
        #expect(machine.reservationAnswered(.failure(.undecided)) == .placeOrder(order, chargeId: "ch_1"))
    }

    @Test(arguments: [(101, false), (141, false), (142, false)]) func decisionsAreRefusals(code: Int32, retriable: Bool)
    {
        let failure = BusFailure(code: code, "no", retriable: retriable)
        let refused = CheckoutMachine.StepFailure.refused(ParseError(.init(rawValue: Int(code)), "no"))
        #expect(CheckoutMachine.StepFailure(charging: failure) == refused)
        #expect(CheckoutMachine.StepFailure(reserving: failure) == refused)
    }

    @Test(arguments: [
        (1, false), (2, true), (2, false), (100, false), (107, false), (108, false), (124, false), (141, true),
    ])
    func everythingElseLeavesAChargeUndecided(code: Int32, retriable: Bool) {
        #expect(CheckoutMachine.StepFailure(charging: BusFailure(code: code, "?", retriable: retriable)) == .undecided)
    }

    @Test(arguments: [103, 107, 108, 111, 119] as [Int32]) func aReservationIsNotAskedForForever(code: Int32) {
        let error = ParseError(.init(rawValue: Int(code)), "no")
        #expect(
            CheckoutMachine.StepFailure(reserving: BusFailure(code: code, "no", retriable: false)) == .refused(error))
        #expect(CheckoutMachine.StepFailure(reserving: BusFailure(code: code, "no", retriable: true)) == .undecided)
    }

    @Test(arguments: [1, 2, 100, 124] as [Int32]) func temporaryErrorsLeaveAReservationUndecided(code: Int32) {
        #expect(CheckoutMachine.StepFailure(reserving: BusFailure(code: code, "?", retriable: false)) == .undecided)
    }
}
