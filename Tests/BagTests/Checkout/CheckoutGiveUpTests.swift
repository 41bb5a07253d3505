import BagService
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import Synchronization
import Testing

/// A checkout that must no longer become an order: it timed out, its customer's account was deleted, or an operator
/// freed the bag.
@Suite struct CheckoutGiveUpTests {
    private final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { time.withLock { $0 } }
        func advance(_ duration: Duration) { time.withLock { $0 += duration } }
    }

    private static let limit = Duration.seconds(60)
    private static let gone = ParseError(.invalidSessionToken, "Gone.")

    private static func machine(at point: CheckoutState, _ clock: Clock) -> CheckoutMachine {
        CheckoutMachine(CheckoutMachineTests.checkout(), at: point, timeLeft: limit, now: { clock.now })
    }

    // MARK: The machine, from each stored state

    @Test func beforeTheLimitNothingIsGivenUp() throws {
        let (clock, order) = (Clock(), try CheckoutMachineTests.priced())
        var machine = Self.machine(at: .reserved(order), clock)
        _ = machine.resume()
        #expect(machine.reservationAnswered(.success(CheckoutMachineTests.reservation)) == .charge(order))
        clock.advance(Self.limit - .seconds(1))
        _ = machine.chargeAnswered(.failure(.undecided))
        #expect(machine.waited() == .charge(order))
    }

    @Test func startedFailsWithoutAskingPayments() {
        let clock = Clock()
        var machine = Self.machine(at: .started, clock)
        clock.advance(Self.limit)
        #expect(machine.resume() == .fail(CheckoutMachine.tooLate, holdsStock: false))
    }

    /// The time ran out between the reservation and the first charge.
    @Test func reservedHereAndNeverChargedFailsAtOnce() {
        let clock = Clock()
        var machine = Self.machine(at: .started, clock)
        _ = machine.resume()
        _ = machine.reservationAnswered(.success(CheckoutMachineTests.reservation))
        clock.advance(Self.limit)
        #expect(machine.stored() == .fail(CheckoutMachine.tooLate, holdsStock: true))
    }

    static let found: [Result<String, CheckoutMachine.StepFailure>] = [
        .failure(.undecided), .failure(.refused(.objectNotFound)),
        .failure(.refused(CheckoutMachineTests.declined)), .success("ch_1"),
    ]

    /// For a checkout read from the disk, it is unknown whether it was charged.
    @Test(arguments: found) func reservedFailsOnlyWhenNothingWasCharged(
        answer: Result<String, CheckoutMachine.StepFailure>
    ) throws {
        let (clock, order) = (Clock(), try CheckoutMachineTests.priced())
        var machine = Self.machine(at: .reserved(order), clock)
        clock.advance(Self.limit)
        #expect(machine.resume() == .findCharge)
        let action = machine.chargeFound(answer)
        switch answer {
        case .success: #expect(action == .store(.charged(order, chargeId: "ch_1")))
        case .failure(.undecided):
            #expect(action == .wait(.milliseconds(50)))
            #expect(machine.waited() == .findCharge)
        case .failure(.refused(let error)):
            let reason = error == .objectNotFound ? CheckoutMachine.tooLate : error
            #expect(action == .fail(reason, holdsStock: false))
        case .failure(.needsConfirmation): Issue.record("CheckoutConfirmationTests has these.")
        }
    }

    @Test func chargedMakesTheOrderHoweverLate() throws {
        let (clock, order) = (Clock(), try CheckoutMachineTests.priced())
        var machine = Self.machine(at: .charged(order, chargeId: "ch_1"), clock)
        clock.advance(Self.limit)
        #expect(machine.resume() == .placeOrder(order, chargeId: "ch_1"))
    }

    @Test func decidedStaysDecided() {
        let clock = Clock()
        var machine = Self.machine(at: .decided(.success([7])), clock)
        clock.advance(Self.limit)
        #expect(machine.resume() == .answer(.success([7])))
    }

    @Test func aChargeIsNotMadeAfterTheLimit() throws {
        let (clock, order) = (Clock(), try CheckoutMachineTests.priced())
        var machine = Self.machine(at: .reserved(order), clock)
        _ = machine.resume()
        #expect(machine.reservationAnswered(.success(CheckoutMachineTests.reservation)) == .charge(order))
        clock.advance(Self.limit)
        // An answer that was already in flight counts.
        var answered = machine
        #expect(answered.chargeAnswered(.success("ch_1")) == .placeOrder(order, chargeId: "ch_1"))
        _ = machine.chargeAnswered(.failure(.undecided))
        for _ in 0..<3 {
            #expect(machine.waited() == .findCharge)
            _ = machine.chargeFound(.failure(.undecided))
        }
    }

    @Test func anAccountThatIsDeletedIsNotChargedAnyMore() throws {
        let order = try CheckoutMachineTests.priced()
        var started = CheckoutMachineTests.machine()
        #expect(started.giveUp(Self.gone) == .fail(Self.gone, holdsStock: false))
        var reserved = CheckoutMachineTests.machine(at: .reserved(order))
        #expect(reserved.giveUp(Self.gone) == .findCharge)
        #expect(reserved.chargeFound(.failure(.refused(.objectNotFound))) == .fail(Self.gone, holdsStock: false))
        var charged = CheckoutMachineTests.machine(at: .charged(order, chargeId: "ch_1"))
        // The ledger creates no order from it and refunds the money.
        #expect(charged.giveUp(Self.gone) == .placeOrder(order, chargeId: "ch_1"))
    }

    // MARK: The stored side

    /// Starts a checkout and stores that its products are reserved.
    private static func reserved(_ bag: BagStore) async throws -> (id: String, order: String) {
        let (order, item) = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1", keys: ["client:a"])
        let checkout = Checkout(
            id: id, orderId: order, customerId: "u1", lines: [.init(itemId: item, productId: "soap", quantity: 2)],
            expectedAmount: nil, source: .token("tok_visa"), email: "")
        var machine = CheckoutMachine(checkout, at: .started)
        guard
            case .store(let point) = machine.reservationAnswered(.success(CheckoutLedgerTests.Catalog.reservation))
        else { throw ParseError.internalError }
        try await bag.ledger.store(point, of: checkout)
        return (id, order)
    }

    private static func undone(_ bag: BagStore) throws -> [String] {
        try bag.events.all(PaymentsCalls.undoCharge).map(\.operationID)
    }

    @Test func aCheckoutOfLongAgoFailsAndFreesTheBag() async throws {
        let bag = try await BagStore()
        let (id, order) = try await Self.reserved(bag)
        _ = try await bag.store.write { try $0.execute("UPDATE checkouts SET createdAt = createdAt - 900000") }
        let services = CheckoutLedgerTests.Catalog()
        let outcome = await CheckoutLedgerTests.runner(bag, services).outcome(of: id, within: .seconds(20))
        #expect(outcome == .failure(CheckoutMachine.tooLate))
        #expect(services.seen.withLock { $0.charges.isEmpty && $0.looks == 1 })
        #expect(bag.events.kinds == [CatalogCalls.releaseReservation.kind])
        #expect(try await bag.start(by: "u1", keys: ["client:a"]) == id)
        try await CheckoutLedgerTests.make(try await bag.start(by: "u1", keys: ["client:b"]), in: bag)
        #expect(try await bag.document("Order", order)?["orderNo"] == 1_000_001)
    }

    /// The deletion message arrives before or after the charge; `nil`: the charge was never made.
    @Test(arguments: ["ch_before", nil]) func aDeletedAccountGetsNoOrderAndItsMoneyBack(made: String?) async throws {
        let bag = try await BagStore()
        let (id, order) = try await Self.reserved(bag)
        try await bag.store.write { try AccountDeletion.forget("u1", in: $0) }
        #expect(try await bag.document("Order", order) != nil)
        let services = CheckoutLedgerTests.Catalog(made: made)
        let outcome = await CheckoutLedgerTests.runner(bag, services).outcome(of: id, within: .seconds(20))
        guard case .failure(let error) = outcome else {
            Issue.record("There is no customer.")
            return
        }
        #expect(error.code == .invalidSessionToken)
        #expect(services.seen.withLock { $0.charges.isEmpty })
        #expect(try Self.undone(bag) == (made == nil ? [] : [id]))
        #expect(bag.events.kinds.contains(CatalogCalls.releaseReservation.kind))
        #expect(try bag.events.all(MailCalls.send).isEmpty)
        // The rest of the deletion, which waited for the payment, is complete.
        #expect(try await bag.document("Order", order) == nil)
        #expect(await parseCode { _ = try await bag.start(by: "u1") } == 142)
    }

    @Test func anAccountThatIsDeletedDuringTheChargeGetsItsMoneyBack() async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1")
        final class Deleting: CheckoutStepping {
            let catalog = CheckoutLedgerTests.Catalog()
            let bag: BagStore
            init(_ bag: BagStore) { self.bag = bag }
            func reserve(
                _ products: [String: Int], for checkout: Checkout
            ) async -> Result<
                Reservation, CheckoutMachine.StepFailure
            > { await catalog.reserve(products, for: checkout) }
            func charge(
                _ order: PricedOrder, for checkout: Checkout
            ) async -> Result<
                String, CheckoutMachine.StepFailure
            > {
                _ = try? await bag.store.write { try AccountDeletion.forget("u1", in: $0) }
                return await catalog.charge(order, for: checkout)
            }
            func findCharge(for checkout: Checkout) async -> Result<String, CheckoutMachine.StepFailure> {
                await catalog.findCharge(for: checkout)
            }
            func tryRelease(_ checkout: Checkout) async {}
        }
        let runner = CheckoutRunner(ledger: bag.ledger, steps: Deleting(bag), logger: .init(label: "test"))
        let outcome = await runner.outcome(of: id, within: .seconds(20))
        #expect((try? outcome?.get()) == nil)
        #expect(try Self.undone(bag) == [id])
        let orders = Query(className: "Order", where: [:] as JSON)
        #expect(try await bag.store.read { try $0.count(orders, caller: .master) } == 0)
    }

    @Test func anAccountIsNotDeletedWhileItsPaymentIsUndecided() async throws {
        let bag = try await BagStore()
        let (id, _) = try await Self.reserved(bag)
        #expect(await parseCode { try await bag.store.write { try AccountDeletion.begin("u1", in: $0) } } == 142)
        try await CheckoutLedgerTests.make(id, in: bag)
        try await bag.store.write { try AccountDeletion.begin("u1", in: $0) }
        // While the deletion is in progress, nothing can be paid. If `users` abandons it, the user can pay again.
        _ = try await bag.bag(of: "u1")
        #expect(await parseCode { _ = try await bag.start(by: "u1") } == 142)
        _ = try await bag.store.write { try $0.execute("UPDATE deletionsBegun SET since = since - 30001") }
        _ = try await bag.start(by: "u1")
    }

    @Test func anOperatorFreesABagAndItsChargeIsUndone() async throws {
        let bag = try await BagStore()
        let (id, order) = try await Self.reserved(bag)
        #expect(await parseCode { _ = try await bag.perform(.cancel, order) } == 142)
        let answer = try await bag.ledger.free(order, reason: "Stripe is away", by: nil, for: nil)
        #expect(answer["warning"]?.stringValue?.contains("If the provider still charges the customer") == true)
        #expect(try Self.undone(bag) == [id])
        // The process that drives the checkout detects it, whatever its charge answers.
        let late = await CheckoutLedgerTests.runner(bag, CheckoutLedgerTests.Catalog()).outcome(
            of: id, within: .seconds(20))
        #expect((try? late?.get()) == nil)
        #expect(await parseCode { _ = try await bag.ledger.free(order, reason: "", by: nil, for: nil) } == 142)
        #expect(await parseCode { _ = try await bag.ledger.free("missing", reason: "", by: nil, for: nil) } == 101)
        try await CheckoutLedgerTests.make(try await bag.start(by: "u1", keys: ["client:b"]), in: bag)
    }
}
