import BagService
import Logging
import Messages
import ParseProtocol
import ServiceSupport
import Synchronization
import Testing

/// A checkout whose customer has to confirm the charge with the bank.
@Suite struct CheckoutConfirmationTests {
    private static let limit = Duration.seconds(60)
    private static let gone = ParseError(.scriptFailed, "Gone.")

    private static func machine(_ order: PricedOrder, left: Duration = limit) -> CheckoutMachine {
        CheckoutMachine(CheckoutMachineTests.checkout(), at: .reserved(order), timeLeft: left, awaitsConfirmation: true)
    }

    // MARK: The machine

    @Test func aChargeThatNeedsTheCustomerEndsTheMachine() throws {
        let order = try CheckoutMachineTests.priced()
        var machine = CheckoutMachineTests.machine()
        _ = machine.resume()
        _ = machine.reservationAnswered(.success(CheckoutMachineTests.reservation))
        #expect(machine.stored() == .charge(order))
        #expect(machine.chargeAnswered(.failure(.needsConfirmation("s"))) == .awaitConfirmation(clientSecret: "s"))
        // The point was not stored: payments answers the same again.
        #expect(machine.notStored() == .wait(.milliseconds(50)))
        #expect(machine.waited() == .charge(order))
    }

    @Test func aContinuedCheckoutAsksPaymentsWithoutANewReservation() throws {
        let order = try CheckoutMachineTests.priced()
        var machine = Self.machine(order)
        #expect(machine.resume() == .charge(order))
        #expect(machine.chargeAnswered(.success("ch_1")) == .placeOrder(order, chargeId: "ch_1"))
        machine = Self.machine(order)
        _ = machine.resume()
        let declined = CheckoutMachineTests.declined
        #expect(machine.chargeAnswered(.failure(.refused(declined))) == .fail(declined, holdsStock: true))
    }

    @Test func afterTheLimitTheChargeIsLookedFor() throws {
        let order = try CheckoutMachineTests.priced()
        var machine = Self.machine(order, left: .zero)
        #expect(machine.resume() == .findCharge)
        var paid = machine
        #expect(paid.chargeFound(.success("ch_1")) == .store(.charged(order, chargeId: "ch_1")))
        #expect(
            machine.chargeFound(.failure(.refused(.objectNotFound)))
                == .fail(CheckoutMachine.tooLate, holdsStock: true))
    }

    @Test func aPaymentThatIsGivenUpIsLookedForFirst() throws {
        let order = try CheckoutMachineTests.priced()
        var machine = Self.machine(order)
        #expect(machine.giveUp(Self.gone) == .findCharge)
        #expect(machine.chargeFound(.failure(.refused(.objectNotFound))) == .fail(Self.gone, holdsStock: true))
    }

    // MARK: The runner

    /// Payments whose bank waits for the customer.
    private final class Bank: CheckoutStepping {
        let catalog = CheckoutLedgerTests.Catalog()
        private let confirmed = Mutex(false)

        func confirm() { confirmed.withLock { $0 = true } }

        func reserve(
            _ products: [String: Int], for checkout: Checkout
        ) async -> Result<Reservation, CheckoutMachine.StepFailure> {
            await catalog.reserve(products, for: checkout)
        }

        func charge(
            _ order: PricedOrder, for checkout: Checkout
        ) async -> Result<String, CheckoutMachine.StepFailure> {
            guard confirmed.withLock({ $0 }) else { return .failure(.needsConfirmation("s")) }
            return await catalog.charge(order, for: checkout)
        }

        func findCharge(for checkout: Checkout) async -> Result<String, CheckoutMachine.StepFailure> {
            await catalog.findCharge(for: checkout)
        }

        func tryRelease(_ checkout: Checkout) async { await catalog.tryRelease(checkout) }
    }

    private static func runner(
        _ bag: BagStore, _ bank: Bank, leases: CheckoutLeases? = nil
    ) -> CheckoutRunner {
        let ledger = CheckoutLedger(store: bag.store, outbox: bag.events, leases: leases)
        return CheckoutRunner(ledger: ledger, steps: bank, logger: Logger(label: "test"))
    }

    /// A renewal may run after the checkout was stored as awaiting confirmation. Each round has a chance of this.
    @Test func aCheckoutThatAwaitsConfirmationHasNoDriver() async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1")
        let runner = Self.runner(bag, Bank(), leases: CheckoutLeases(length: .milliseconds(1)))
        for _ in 1...30 {
            guard case .needsConfirmation? = await runner.answer(of: id, within: .seconds(20)) else {
                Issue.record("The customer has to confirm the charge.")
                return
            }
            let rows = try await bag.store.read { try $0.rows("SELECT drivenUntil FROM checkouts") }
            #expect(try rows.map { try $0.int("drivenUntil") } == [0])
        }
    }

    @Test func theOrderIsMadeWhenTheCustomerHasConfirmed() async throws {
        let (bag, bank) = (try await BagStore(), Bank())
        let (order, _) = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1")
        let runner = Self.runner(bag, bank)
        let action = CheckoutAnswer.needsConfirmation(orderId: order, clientSecret: "s")
        for _ in 1...2 { #expect(await runner.answer(of: id, within: .seconds(20)) == action) }
        #expect(try await bag.ledger.awaitingConfirmation() == [id])
        #expect(await runner.outcome(of: id, within: .seconds(20)) == nil)
        #expect(await parseCode { _ = try await bag.start(by: "u1", keys: ["client:b"]) } == nil)

        // Another process, after a restart.
        bank.confirm()
        let other = Self.runner(bag, bank)
        try await other.pollUnconfirmedCharges()
        let outcome = try #require(await other.outcome(of: id, within: .seconds(20)))
        #expect(try JSON(parsing: outcome.get())["orderNo"] == 1_000_001)
        #expect(await runner.answer(of: id, within: .seconds(20)) == .decided(outcome))
        #expect(try await bag.ledger.awaitingConfirmation().isEmpty)
        #expect(bank.catalog.seen.withLock { $0.charges } == [id: 1])
    }

    @Test func aCustomerGivesUpAndTheReservationIsReleased() async throws {
        let (bag, bank) = (try await BagStore(), Bank())
        _ = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1")
        let runner = Self.runner(bag, bank)
        _ = await runner.answer(of: id, within: .seconds(20))
        guard case .decided(.failure(let error))? = await runner.giveUp(id, within: .seconds(20)) else {
            Issue.record("The payment was not given up.")
            return
        }
        #expect(error.details?["code"] == "payment_given_up")
        #expect(bank.catalog.seen.withLock { $0.released } == [id])
        #expect(bag.events.kinds.contains(CatalogCalls.releaseReservation.kind))
        // The bag is free.
        #expect(try await bag.start(by: "u1", keys: ["client:b"]) != id)
    }
}
