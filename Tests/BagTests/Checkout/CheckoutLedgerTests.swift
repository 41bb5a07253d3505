import BagService
import Logging
import Messages
import ParseProtocol
import ServiceSupport
import Synchronization
import Testing

/// The rows that a checkout stores, and the check that driving it from any stored point leads to the same result.
@Suite struct CheckoutLedgerTests {
    /// Drives a checkout to its end, with services that accept everything.
    static func make(_ id: String, in bag: BagStore) async throws {
        let outcome = try #require(await runner(bag, Catalog()).outcome(of: id, within: .seconds(20)))
        _ = try outcome.get()
    }

    static func runner(_ bag: BagStore, _ steps: Catalog) -> CheckoutRunner {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return CheckoutRunner(ledger: bag.ledger, steps: steps, logger: logger)
    }

    /// A started checkout, and the order that it would store after the reservation.
    private static func reserved(_ bag: BagStore) async throws -> (Checkout, PricedOrder) {
        let (order, item) = try await bag.bag(of: "u1")
        // The stored values of `start` count, not these.
        let checkout = Checkout(
            id: try await bag.start(by: "u1"), orderId: order, customerId: "u1",
            lines: [.init(itemId: item, productId: "soap", quantity: 2)], expectedAmount: nil,
            source: .token("tok_visa"), email: "")
        var machine = CheckoutMachine(checkout, at: .started)
        guard case .store(.reserved(let own)) = machine.reservationAnswered(.success(Catalog.reservation)) else {
            throw ParseError(.internalServerError, "The machine prices the order.")
        }
        return (checkout, own)
    }

    /// Catalog and payments that record their actions by id.
    final class Catalog: CheckoutStepping {
        static let reservation = reserved("Soap")

        private static func reserved(_ name: String) -> Reservation {
            Reservation(products: ["soap": .init(name: name, unitPriceMinorUnits: 350)], currency: "usd")
        }

        struct Seen {
            var charges: [String: Int] = [:]
            var released: [String] = []
            /// Charges whose answer is lost.
            var lost = 0
            /// Number of queries for a charge's outcome.
            var looks = 0
        }

        let seen: Mutex<Seen>
        let decline: ParseError?
        /// The refusal of a reservation; nil if it succeeds.
        let short: ParseError?
        /// An earlier charge.
        let made: String?
        /// The product's name.
        let name: String

        init(
            lost: Int = 0, decline: ParseError? = nil, short: ParseError? = nil, made: String? = nil,
            name: String = "Soap"
        ) {
            self.name = name
            seen = Mutex(Seen(lost: lost))
            self.decline = decline
            self.short = short
            self.made = made
        }

        func reserve(
            _ products: [String: Int], for checkout: Checkout
        ) async -> Result<Reservation, CheckoutMachine.StepFailure> {
            short.map { .failure(.refused($0)) } ?? .success(Self.reserved(name))
        }

        func findCharge(for checkout: Checkout) async -> Result<String, CheckoutMachine.StepFailure> {
            seen.withLock { $0.looks += 1 }
            return made.map { .success($0) } ?? .failure(.refused(.objectNotFound))
        }

        func charge(
            _ order: PricedOrder, for checkout: Checkout
        ) async -> Result<String, CheckoutMachine.StepFailure> {
            seen.withLock { seen in
                seen.charges[checkout.id, default: 0] += 1
                if seen.lost > 0 {
                    seen.lost -= 1
                    return .failure(.undecided)
                }
                return decline.map { .failure(.refused($0)) } ?? .success("ch_\(checkout.id)")
            }
        }

        func tryRelease(_ checkout: Checkout) async { seen.withLock { $0.released.append(checkout.id) } }
    }

    private func receipt(_ outcome: CheckoutOutcome?) throws -> JSON { try JSON(parsing: try #require(outcome).get()) }

    @Test func aPaidOrderHasItsNumberDatePricesAndReceipt() async throws {
        let bag = try await BagStore()
        let (order, item) = try await bag.bag(of: "u1")
        let id = try await bag.start(["note": "Ring twice"], by: "u1")
        let receipt = try receipt(await Self.runner(bag, Catalog()).outcome(of: id, within: .seconds(20)))
        #expect(receipt["orderNo"] == 1_000_001)
        #expect(receipt["totalMinorUnits"] == 700)
        #expect(receipt["stripePaymentId"] == .string("ch_\(id)"))
        #expect(receipt["shippingAddress"] == BagStore.address)
        let made = try #require(await bag.document("Order", order))
        #expect(made["orderStatus"] == 1)
        #expect(made["orderNo"] == 1_000_001)
        #expect(made["total"] == 700)
        #expect(made["note"] == "Ring twice")
        #expect(made["orderDate"] == receipt["orderDate"])
        let line = try #require(await bag.document("OrderItem", item))
        #expect(line["unitPriceMinorUnits"] == 350)
        #expect(line["name"] == "Soap")
        #expect(
            bag.events.kinds.sorted()
                == sortedKinds(NotificationCalls.orderMade, [CatalogCalls.commitReservation, MailCalls.send]))
        _ = try await bag.bag(of: "u2")
        let next = try await bag.start(by: "u2")
        #expect(
            try self.receipt(await Self.runner(bag, Catalog()).outcome(of: next, within: .seconds(20)))["orderNo"]
                == 1_000_002)
    }

    /// Three drivers: one starts with the commit, one waits for the first, and one comes after the end.
    @Test func aCheckoutThatBeginsWithItsCommitIsChargedOnce() async throws {
        let bag = try await BagStore()
        let steps = Catalog()
        let runner = Self.runner(bag, steps)
        for orderNo in 1_000_001...1_000_010 as ClosedRange<Int64> {
            _ = try await bag.bag(of: "u1")
            let id = try await bag.start(by: "u1") { runner.begin($0) }
            async let joined = runner.outcome(of: id, within: .seconds(20))
            let first = try receipt(await runner.outcome(of: id, within: .seconds(20)))
            #expect(first["orderNo"] == .int(orderNo))
            #expect(try receipt(await joined) == first)
            #expect(try receipt(await runner.outcome(of: id, within: .seconds(20))) == first)
            #expect(steps.seen.withLock { $0.charges[id] } == 1)
        }
    }

    /// 0: started, 1: reserved, 2: charged.
    @Test(arguments: [0, 1, 2]) func aCheckoutGoesOnFromEachStoredPoint(index: Int) async throws {
        let bag = try await BagStore()
        let (checkout, own) = try await Self.reserved(bag)
        if index == 1 { try await bag.ledger.store(.reserved(own), of: checkout) }
        if index == 2 { try await bag.ledger.store(.charged(own, chargeId: "ch_before"), of: checkout) }
        let services = Catalog()
        let runner = Self.runner(bag, services)
        try await runner.resumeUnfinished()
        let receipt = try receipt(await runner.outcome(of: checkout.id, within: .seconds(20)))
        #expect(receipt["orderNo"] == 1_000_001)
        #expect(receipt["stripePaymentId"] == .string(index == 2 ? "ch_before" : "ch_\(checkout.id)"))
        #expect(services.seen.withLock { $0.charges.count } == (index == 2 ? 0 : 1))
    }

    /// Two processes drive a checkout: the later step is kept.
    @Test func noStepIsTakenBack() async throws {
        let bag = try await BagStore()
        let (checkout, own) = try await Self.reserved(bag)
        for point in [.reserved(own), .reserved(own), .charged(own, chargeId: "ch_1")] as [CheckoutState] {
            try await bag.ledger.store(point, of: checkout)
        }
        await #expect(throws: StepAlreadyTaken.self) {
            try await bag.ledger.store(.reserved(own), of: checkout)
        }
        let services = Catalog()
        let receipt = try receipt(await Self.runner(bag, services).outcome(of: checkout.id, within: .seconds(20)))
        #expect(receipt["stripePaymentId"] == "ch_1")
        #expect(services.seen.withLock { $0.charges } == [:])
    }

    /// A commit succeeded but its answer was lost, for example because the database's leader died. The process that
    /// drives the checkout detects it and returns the stored receipt.
    @Test(.timeLimit(.minutes(2))) func whatWasStoredWithoutAnAnswerCounts() async throws {
        let bag = try await BagStore()
        let (checkout, _) = try await Self.reserved(bag)
        let made = try receipt(await Self.runner(bag, Catalog()).outcome(of: checkout.id, within: .seconds(20)))
        let late = Self.runner(bag, Catalog())
        late.begin(checkout)
        #expect(try receipt(await late.outcome(of: checkout.id, within: .seconds(20))) == made)
    }

    /// A crash after the reservation, which has expired when the checkout continues: no charge for products that are
    /// sold out.
    @Test(arguments: [nil, "ch_before"]) func anExpiredReservationThatCannotBeHadAgainIsNotCharged(
        made: String?
    ) async throws {
        let bag = try await BagStore()
        let (checkout, own) = try await Self.reserved(bag)
        try await bag.ledger.store(.reserved(own), of: checkout)
        let short = ParseError(.validationError, "Soap is sold out.")
        let services = Catalog(short: short, made: made)
        let runner = Self.runner(bag, services)
        try await runner.resumeUnfinished()
        let outcome = await runner.outcome(of: checkout.id, within: .seconds(20))
        #expect(services.seen.withLock { $0.charges } == [:])
        #expect(services.seen.withLock { $0.looks } == 1)
        if let made {
            #expect(try receipt(outcome)["stripePaymentId"] == .string(made))
            #expect(try await bag.document("Order", checkout.orderId)?["orderStatus"] == 1)
        } else {
            #expect(outcome == .failure(short))
            #expect(bag.events.kinds == [CatalogCalls.releaseReservation.kind])
            #expect(try await bag.document("Order", checkout.orderId)?["orderStatus"] == 0)
        }
    }

    @Test func lostAnswersAreAskedForAgainUnderOneId() async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1")
        let services = Catalog(lost: 3)
        #expect(
            try receipt(await Self.runner(bag, services).outcome(of: id, within: .seconds(20)))["orderNo"] == 1_000_001)
        #expect(services.seen.withLock { $0.charges } == [id: 4])
    }

    @Test func aClientThatWaitsTooLongIsToldSoAndTheCheckoutGoesOn() async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1")
        let runner = Self.runner(bag, Catalog(lost: 3))
        #expect(await runner.outcome(of: id, within: .zero) == nil)
        #expect(try receipt(await runner.outcome(of: id, within: .seconds(20)))["orderNo"] == 1_000_001)
    }

    @Test func concurrentCheckoutsOfAnOrderAreOne() async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        let services = Catalog(lost: 1)
        let runner = Self.runner(bag, services)
        let outcomes = try await withThrowingTaskGroup(of: CheckoutOutcome?.self) { group in
            for tap in 0..<8 {
                group.addTask {
                    let id = try await bag.start(["orderId": .string(order)], by: "u1", keys: ["client:\(tap)"])
                    return await runner.outcome(of: id, within: .seconds(20))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(try outcomes.map { try #require($0).get() }).count == 1)
        #expect(services.seen.withLock { $0.charges.count } == 1)
        // From now on, each key and the order itself lead to the same receipt.
        let known = try await bag.start(by: "u1", keys: ["client:3"])
        #expect(try await bag.start(["orderId": .string(order)], by: "u1") == known)
        #expect(await runner.outcome(of: known, within: .seconds(20)) == outcomes[0])
    }

    @Test func aDeclineIsTheReplyOfItsKeyAndTheBagCanBePaidAgain() async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        let decline = ParseError(.scriptFailed, "Your card was declined.", details: ["code": "card_declined"])
        let id = try await bag.start(by: "u1", keys: ["client:a"])
        let services = Catalog(decline: decline)
        let runner = Self.runner(bag, services)
        #expect(await runner.outcome(of: id, within: .seconds(20)) == .failure(decline))
        #expect(services.seen.withLock { $0.released } == [id])
        #expect(bag.events.kinds == [CatalogCalls.releaseReservation.kind])
        let untouched = try #require(await bag.document("Order", order))
        #expect(untouched["orderStatus"] == 0)
        #expect(untouched["shippingAddress"] == nil)
        let repeated = try await bag.start(by: "u1", keys: ["client:a"])
        #expect(repeated == id)
        #expect(await Self.runner(bag, Catalog()).outcome(of: repeated, within: .seconds(20)) == .failure(decline))
        let second = try await bag.start(by: "u1", keys: ["client:b"])
        #expect(second != id)
        try await Self.make(second, in: bag)
        #expect(try await bag.document("Order", order)?["orderNo"] == 1_000_001)
    }

    @Test func whatIsRefusedBeforeTheStartLeavesNothing() async throws {
        let bag = try await BagStore()
        #expect(await parseCode { _ = try await bag.start(by: "u1") } == 142)
        let (order, _) = try await bag.bag(of: "u1")
        #expect(await parseCode { _ = try await bag.start(["orderId": .string(order)], by: "u2") } == 101)
        #expect(await parseCode { _ = try await bag.start(["orderId": "missing"], by: "u1") } == 101)
        #expect(
            await parseCode {
                _ = try await bag.start(["shippingAddress": ["city": "Oakland"]], by: "u1", keys: ["client:a"])
            }
                == 142)
        #expect(try await bag.document("Order", order)?["shippingAddress"] == nil)
        try await Self.make(try await bag.start(by: "u1", keys: ["client:a"]), in: bag)
    }
}
