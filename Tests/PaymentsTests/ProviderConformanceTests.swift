import Logging
import Messages
import ParseProtocol
import PaymentsService
import ServiceSupport
import Testing

/// All providers behave the same: the sandbox, a strict double of Stripe, and localstripe, with payment intents and
/// with charges.
@Suite struct ProviderConformanceTests {
    @Test(arguments: PaymentBench.Kind.allCases)
    func aKeptCardIsChargedOnce(_ kind: PaymentBench.Kind) async throws {
        try await PaymentBench.with(kind) { bench in
            let customer = try await bench.customer()
            #expect(customer.id.hasPrefix("cus_"))
            #expect(customer.card.brand == "Visa")
            #expect(customer.card.lastFourDigits == "4242")
            #expect((1...12).contains(customer.card.expirationMonth))
            #expect(customer.card.expirationYear > 2025)
            let request = PaymentBench.order("op", customer: customer.id)
            let first = try await bench.charges.charge(request)
            #expect(first.chargeID.hasPrefix("ch_") || first.chargeID.hasPrefix("pi_"))
            #expect(try await bench.charges.charge(request) == first)
            #expect(try await bench.find("op") == first)
            // Repeats the request at the provider, bypassing Satchel's own records.
            let order = ChargeOrder(
                source: .customer(customer.id), amountMinorUnits: 1999, currency: "usd", orderId: "order1")
            #expect(try await bench.provider.charge(order, key: "op").id == first.chargeID)
            #expect(try await bench.provider.findCharge(order, key: "op")?.id == first.chargeID)
        }
    }

    @Test(arguments: [PaymentBench.Kind.sandbox, .doubleIntents, .doubleCharges])
    func aTokenIsChargedOnce(_ kind: PaymentBench.Kind) async throws {
        try await PaymentBench.with(kind) { bench in
            let request = PaymentBench.order("op", token: "tok_visa")
            let first = try await bench.charges.charge(request)
            #expect(first.cardBrand == "Visa")
            #expect(first.lastFourDigits == "4242")
            #expect(try await bench.charges.charge(request) == first)
        }
    }

    @Test(arguments: [PaymentBench.Kind.sandbox, .doubleIntents])
    func aChargeThatItsCustomerHasToConfirmWaits(_ kind: PaymentBench.Kind) async throws {
        try await PaymentBench.with(kind) { bench in
            var request = PaymentBench.order("op", token: "tok_threeDSecure2Required")
            request.allowsAction = true
            let asked = try await bench.charges.charge(request)
            #expect(asked.chargeID.isEmpty)
            #expect(asked.clientSecret.contains("_secret_"))
            #expect(try await bench.charges.charge(request) == asked)
            // Looking for it cancels it.
            #expect(await parseError { _ = try await bench.find("op") } == .objectNotFound)
            #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .validationError)
        }
    }

    @Test(arguments: PaymentBench.Kind.allCases)
    func aDeclineStands(_ kind: PaymentBench.Kind) async throws {
        try await PaymentBench.with(kind) { bench in
            let customer = try await bench.customer(.declines)
            for _ in 1...2 {
                let error = await parseError {
                    _ = try await bench.charges.charge(PaymentBench.order("op", customer: customer.id))
                }
                #expect(error?.code == .scriptFailed)
                #expect(error?.message == "Your card was declined.")
                #expect(error?.details?["code"] == "card_declined")
            }
            #expect(await parseError { _ = try await bench.find("op") }?.code == .scriptFailed)
            let refund = await parseError {
                _ = try await bench.refunds.refund(PaymentBench.refund(0, of: "op", as: "r"))
            }
            #expect(refund == .objectNotFound)
        }
    }

    @Test(arguments: PaymentBench.Kind.allCases)
    func aCardThatIsRefusedIsNotKept(_ kind: PaymentBench.Kind) async throws {
        try await PaymentBench.with(kind) { bench in
            let token = try await bench.token(.refused)
            do {
                _ = try await bench.provider.createCustomer(token: token, email: nil, key: "k")
                Issue.record("A card that is refused was kept.")
            } catch let failure as ProviderFailure {
                #expect(failure.code == "card_declined")
            }
        }
    }

    @Test(arguments: PaymentBench.Kind.allCases)
    func aChargeIsGivenBackInPartsAndNotMore(_ kind: PaymentBench.Kind) async throws {
        try await PaymentBench.with(kind) { bench in
            let customer = try await bench.customer()
            _ = try await bench.charges.charge(PaymentBench.order("op", customer: customer.id))
            let part = PaymentBench.refund(500, of: "op", as: "r1")
            let first = try await bench.refunds.refund(part)
            #expect(first.refundID.hasPrefix("re_"))
            #expect(try await bench.refunds.refund(part) == first)
            let rest = try await bench.refunds.refund(PaymentBench.refund(0, of: "op", as: "r2"))
            #expect(rest.amountMinorUnits == 1499)
            #expect(rest.refundID != first.refundID)
            let more = await parseError {
                _ = try await bench.refunds.refund(PaymentBench.refund(1, of: "op", as: "r3"))
            }
            #expect(more?.code == .validationError)
        }
    }

    @Test(arguments: PaymentBench.Kind.allCases)
    func aCustomerThatIsDeletedCannotBeChargedAndIsDeletedTwice(_ kind: PaymentBench.Kind) async throws {
        try await PaymentBench.with(kind) { bench in
            let customer = try await bench.customer()
            for _ in 1...2 { try await bench.provider.deleteCustomer(customer.id) }
            // localstripe's charges do not report which parameter is wrong, so this is a fault and not a decline.
            let error = await parseError {
                _ = try await bench.charges.charge(PaymentBench.order("op", customer: customer.id))
            }
            #expect(error?.code == (kind == .localCharges ? .serviceUnavailable : .scriptFailed))
        }
    }

    @Test(arguments: PaymentBench.Kind.allCases)
    func whatWasNeverBegunIsGivenUp(_ kind: PaymentBench.Kind) async throws {
        try await PaymentBench.with(kind) { bench in
            let customer = try await bench.customer()
            let unknown = await parseError { _ = try await bench.find("op") }
            #expect(unknown == .objectNotFound)
            let order = PaymentBench.order("op", customer: customer.id)
            let late = await parseError { _ = try await bench.charges.charge(order) }
            #expect(late?.code == .validationError)
            let isGivenUp = try await Self.isGivenUp(at: bench.provider, customer.id)
            #expect(isGivenUp)
        }
    }

    /// Whether the provider itself refuses a charge that was looked up before it was made.
    private static func isGivenUp(at provider: any PaymentProvider, _ customer: String) async throws -> Bool {
        let order = ChargeOrder(source: .customer(customer), amountMinorUnits: 1999, currency: "usd", orderId: "order1")
        guard try await provider.findCharge(order, key: "op2") == nil else { return false }
        do {
            _ = try await provider.charge(order, key: "op2")
            return false
        } catch is ProviderFailure {
            return true
        }
    }

    @Test(arguments: PaymentBench.Kind.allCases)
    func aLostAnswerIsNotASecondCharge(_ kind: PaymentBench.Kind) async throws {
        try await PaymentBench.with(kind) { bench in
            let customer = try await bench.customer()
            let lost = Charges(
                store: bench.sandbox.store, provider: LossyProvider(bench.provider, losesAnswers: true),
                logger: Logger(label: "test"))
            let request = PaymentBench.order("op", customer: customer.id)
            #expect(await parseError { _ = try await lost.charge(request) }?.code == .serviceUnavailable)
            let found = try await bench.find("op")
            #expect(try await bench.charges.charge(request) == found)
            // Nothing else was charged: the whole charge can be refunded once.
            #expect(
                try await bench.refunds.refund(PaymentBench.refund(0, of: "op", as: "r")).amountMinorUnits == 1999)
        }
    }
}
