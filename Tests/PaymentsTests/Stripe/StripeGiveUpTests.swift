import Messages
import ParseProtocol
import PaymentsService
import ServiceSupport
import TestSupport
import Testing

/// Charges are given up only when they certainly were not made, or when Stripe confirms that they never will be.
@Suite struct StripeGiveUpTests {
    private static func refuseEverything(_ double: StripeDouble) async throws {
        for method in ["POST", "GET"] { try await double.fail("401", method: method, times: 1000) }
    }

    @Test(arguments: [PaymentBench.Kind.doubleIntents, .doubleCharges])
    func aChargeThatStripeRefusedBeforeItDidAnythingIsGivenUpAtOnce(_ kind: PaymentBench.Kind) async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(kind, double)
            try await Self.refuseEverything(double)
            let request = PaymentBench.order("op", token: "tok_visa")
            for _ in 1...2 {
                #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .serviceUnavailable)
            }
            for _ in 1...2 { #expect(await parseError { _ = try await bench.find("op") } == .objectNotFound) }
            try await double.heal()
            #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .validationError)
            #expect(try await double.state().taken == 0)
        }
    }

    /// The charge succeeded and its answer was lost; then Stripe refuses the key.
    @Test func aLostAnswerIsNoRefusal() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleCharges, double)
            try await double.fail("half", "/v1/charges")
            let request = PaymentBench.order("op", token: "tok_visa")
            _ = await parseError { _ = try await bench.charges.charge(request) }
            try await Self.refuseEverything(double)
            for _ in 1...2 {
                #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .serviceUnavailable)
                #expect(await parseError { _ = try await bench.find("op") }?.code == .serviceUnavailable)
            }
            try await double.heal()
            #expect(try await bench.find("op").chargeID.hasPrefix("ch_"))
            #expect(try await double.state().taken == 1)
        }
    }

    /// An intent whose creation was not answered moves no money, because it is never confirmed.
    @Test func anIntentWhoseIdWasLostIsNeverConfirmed() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            try await double.fail("half", "/v1/payment_intents")
            let request = PaymentBench.order("op", token: "tok_visa")
            #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .serviceUnavailable)
            #expect(await parseError { _ = try await bench.find("op") } == .objectNotFound)
            #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .validationError)
            let state = try await double.state()
            #expect(state.taken == 0)
            #expect(!state.requests.contains { $0["path"]?.stringValue?.hasSuffix("/confirm") == true })
        }
    }

    @Test func anIntentThatIsStoredIsGivenUpByStripesConfirmationAlone() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            try await double.fail("401", ".*/confirm", times: 1000)
            let request = PaymentBench.order("op", token: "tok_visa")
            #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .serviceUnavailable)
            try await Self.refuseEverything(double)
            #expect(await parseError { _ = try await bench.find("op") }?.code == .serviceUnavailable)
            try await double.heal()
            #expect(await parseError { _ = try await bench.find("op") } == .objectNotFound)
            #expect(try await double.state().intents.map { $0["status"] } == ["canceled"])
        }
    }

    @Test(arguments: ["succeeded", "canceled"]) func anIntentThatStripeStillWorksOnIsUndecided(
        end: String
    ) async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            let request = PaymentBench.order("op", token: "tok_processing")
            #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .serviceUnavailable)
            for _ in 1...2 {
                #expect(await parseError { _ = try await bench.find("op") }?.code == .serviceUnavailable)
            }
            try await double.settle(end)
            if end == "succeeded" {
                #expect(try await bench.find("op").chargeID.hasPrefix("pi_"))
            } else {
                #expect(await parseError { _ = try await bench.find("op") } == .objectNotFound)
            }
        }
    }

    // MARK: Undoing

    @Test(arguments: [PaymentBench.Kind.sandbox, .doubleIntents, .doubleCharges])
    func aChargeThatIsUndoneIsGivenUpOrGivenBackOnce(_ kind: PaymentBench.Kind) async throws {
        try await PaymentBench.with(kind) { bench in
            let undo = ChargeUndo(charges: bench.charges, refunds: bench.refunds, logger: .init(label: "test"))
            _ = try await bench.charges.charge(PaymentBench.order("made", token: "tok_visa"))
            _ = try await bench.charges.charge(PaymentBench.order("partly", token: "tok_visa"))
            _ = try await bench.refunds.refund(PaymentBench.refund(999, of: "partly", as: "r"))
            _ = await parseError {
                _ = try await bench.charges.charge(PaymentBench.order("declined", token: "tok_chargeDeclined"))
            }
            for _ in 1...2 {
                for operation in ["made", "partly", "declined", "never"] { try await undo.undo(operation) }
            }
            let back = try await bench.sandbox.store.read {
                try $0.rows("SELECT chargeOperationId, SUM(amount) FROM refunds GROUP BY chargeOperationId ORDER BY 1")
                    .map { try $0.int(1) }
            }
            #expect(back == [1999, 1999])
            let late = await parseError {
                _ = try await bench.charges.charge(PaymentBench.order("never", token: "tok_visa"))
            }
            #expect(late?.code == .validationError)
        }
    }

    @Test func aChargeThatStaysUndecidedIsUndoneWhenItIsKnown() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            let undo = ChargeUndo(charges: bench.charges, refunds: bench.refunds, logger: .init(label: "test"))
            let request = PaymentBench.order("op", token: "tok_processing")
            _ = await parseError { _ = try await bench.charges.charge(request) }
            #expect(await parseError { try await undo.undo("op") }?.code == .serviceUnavailable)
            try await double.settle("succeeded")
            try await undo.undo("op")
            #expect(try await double.state().back == 1999)
        }
    }
}
