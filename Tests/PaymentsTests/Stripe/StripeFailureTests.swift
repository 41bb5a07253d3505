import Messages
import ParseProtocol
import PaymentsService
import ServiceSupport
import TestSupport
import Testing

/// Every failure of Stripe or of the network, at each step: a failure decides nothing, a retry leads to one charge or
/// one refund, and the operator sees the cause. These are the rows of docs/guides/stripe.md.
@Suite struct StripeFailureTests {
    /// Temporary failures: the next attempt succeeds.
    static let passing = [
        "close", "slow_before", "slow_after", "409", "429", "500", "503", "500_after", "garbage", "nojson", "empty",
        "half",
        "wrong_amount", "other_object",
    ]
    /// Failures that an operator must fix.
    static let faults = ["400", "401", "403", "404"]

    /// A kept connection that ends without any byte of an answer was only idle for too long: the request is repeated at
    /// once on a new connection, under the same key.
    private static func isRepeatedAtOnce(_ how: String, _ error: ParseError?) -> Bool { how == "close" && error == nil }

    struct Step: Sendable, CustomTestStringConvertible {
        let kind: PaymentBench.Kind
        let path: String
        var testDescription: String { "\(kind.rawValue) \(path)" }
    }

    static let steps = [
        Step(kind: .doubleIntents, path: "/v1/payment_intents"),
        Step(kind: .doubleIntents, path: "/v1/payment_intents/\\w+/confirm"),
        Step(kind: .doubleCharges, path: "/v1/charges"),
    ]

    @Test(arguments: steps)
    func aChargeThatFailedIsMadeOnceInTheEnd(_ step: Step) async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(step.kind, double, timeoutSeconds: 1)
            for (count, how) in (Self.passing + Self.faults).enumerated() {
                let request = PaymentBench.order("op-\(how)", token: "tok_visa")
                try await double.fail(how, step.path, seconds: 1.5)
                let error = await parseError { _ = try await bench.charges.charge(request) }
                if !Self.isRepeatedAtOnce(how, error) {
                    #expect(error?.code == .serviceUnavailable, "\(how): \(String(describing: error))")
                    #expect(error?.message == "The payment is being processed. Ask again in a moment.")
                    let problems = try await bench.sandbox.count(
                        "SELECT count(*) FROM openProblems WHERE operationId = 'op-\(how)' AND problem LIKE '%Stripe%'")
                    #expect(problems == 1, "\(how)")
                }
                // For half a second, the request of a client that timed out may still be in progress there.
                try await eventually("\(how) is decided") {
                    await parseError { _ = try await bench.charges.charge(request) } == nil
                }
                let state = try await double.state()
                #expect(state.taken == Int64(count + 1), "\(how)")
                #expect(state.violations == [], "\(how)")
            }
            #expect(try await bench.sandbox.count("SELECT count(*) FROM openProblems") == 0)
        }
    }

    @Test(arguments: [PaymentBench.Kind.doubleIntents, .doubleCharges])
    func aRefundThatFailedIsMadeOnceInTheEnd(_ kind: PaymentBench.Kind) async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(kind, double, timeoutSeconds: 1)
            for (count, how) in (Self.passing + Self.faults).enumerated() {
                let order = PaymentBench.order("op-\(how)", token: "tok_visa")
                // On a busy machine, an answer may take longer than the bench waits.
                try await eventually("op-\(how) is charged") {
                    await parseError { _ = try await bench.charges.charge(order) } == nil
                }
                let request = PaymentBench.refund(700, of: "op-\(how)", as: "r-\(how)")
                try await double.fail(how, "/v1/refunds", seconds: 1.5)
                let error = await parseError { _ = try await bench.refunds.refund(request) }
                #expect(Self.isRepeatedAtOnce(how, error) || error?.code == .serviceUnavailable, "\(how)")
                try await eventually("\(how) is decided") {
                    await parseError { _ = try await bench.refunds.refund(request) } == nil
                }
                let state = try await double.state()
                #expect(state.refunds == Int64(count + 1), "\(how)")
                #expect(state.back == Int64(700 * (count + 1)), "\(how)")
                #expect(state.violations == [], "\(how)")
            }
        }
    }

    @Test func aServerThatIsNotThereDecidesNothing() async throws {
        let sandbox = try await SandboxStore(paymentsPlan)
        // Port 1 of this host, where nothing listens.
        let provider = try PaymentBench.stripe(
            sandbox, url: "http://127.0.0.1:1", key: StripeDouble.secretKey, isCharges: false, timeoutSeconds: 1)
        let charges = Charges(store: sandbox.store, provider: provider, logger: .init(label: "test"))
        let error = await parseError { _ = try await charges.charge(PaymentBench.order("op", token: "tok_visa")) }
        #expect(error?.code == .serviceUnavailable)
        #expect(try await sandbox.count("SELECT count(*) FROM charges WHERE state = 'created'") == 1)
        #expect(
            try await sandbox.count(
                "SELECT count(*) FROM openProblems WHERE problem LIKE '%did not answer: unreachable%'")
                == 1)
    }

    /// Stripe stores its own errors under the key for a day.
    @Test func aFaultThatStripeKeepsUnderTheKeyHoldsUpNoIntent() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            for (count, path) in ["/v1/payment_intents", "/v1/payment_intents/\\w+/confirm"].enumerated() {
                let request = PaymentBench.order("op\(count)", token: "tok_visa")
                try await double.fail("500_saved", path)
                #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .serviceUnavailable)
                _ = try await bench.charges.charge(request)
                #expect(try await double.state().taken == Int64(count + 1))
            }
        }
    }

    @Test func aFaultThatStripeKeepsUnderTheKeyHoldsUpAnOldChargeForADayAndDoesNotDoubleIt() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleCharges, double)
            let request = PaymentBench.order("op", token: "tok_visa")
            try await double.fail("500_saved", "/v1/charges")
            for _ in 1...3 {
                #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .serviceUnavailable)
            }
            try await double.forgetKeys()
            _ = try await bench.charges.charge(request)
            #expect(try await double.state().taken == 1)
        }
    }

    @Test(arguments: [PaymentBench.Kind.doubleIntents, .doubleCharges])
    func aLostAnswerIsFoundWhenTheKeyIsForgotten(_ kind: PaymentBench.Kind) async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(kind, double)
            let request = PaymentBench.order("op", token: "tok_visa")
            try await double.fail("half", kind == .doubleCharges ? "/v1/charges" : ".*/confirm")
            #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .serviceUnavailable)
            try await double.forgetKeys()
            _ = try await bench.charges.charge(request)
            #expect(try await double.state().taken == 1)
        }
    }

    @Test func aRefundWhoseAnswerWasLostIsFoundWhenTheKeyIsForgotten() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            _ = try await bench.charges.charge(PaymentBench.order("op", token: "tok_visa"))
            try await double.fail("half", "/v1/refunds")
            let request = PaymentBench.refund(700, of: "op", as: "r")
            #expect(await parseError { _ = try await bench.refunds.refund(request) }?.code == .serviceUnavailable)
            try await double.forgetKeys()
            // Simulates that a day has passed.
            try await bench.sandbox.store.write {
                _ = try $0.execute("UPDATE refunds SET createdAt = createdAt - 86400000")
            }
            #expect(try await bench.refunds.refund(request).amountMinorUnits == 700)
            #expect(try await double.state().back == 700)
        }
    }

    /// Looking up a charge prevents it, even if its confirmation is still in flight: the intent is cancelled first.
    @Test func aChargeThatIsGivenUpCannotBeConfirmedAnyMore() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            let request = PaymentBench.order("op", token: "tok_visa")
            try await double.fail("503", ".*/confirm")
            #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .serviceUnavailable)
            try await double.fail("half", ".*/cancel")
            #expect(await parseError { _ = try await bench.find("op") }?.code == .serviceUnavailable)
            #expect(await parseError { _ = try await bench.find("op") } == .objectNotFound)
            #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .validationError)
            let state = try await double.state()
            #expect(state.intents.map { $0["status"] } == ["canceled"])
            #expect(state.taken == 0)
        }
    }

    @Test func anOldChargeThatMayStillBeOnItsWayIsNotGivenUp() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleCharges, double)
            try await double.fail("close", "/v1/charges")
            _ = await parseError { _ = try await bench.charges.charge(PaymentBench.order("op", token: "tok_visa")) }
            #expect(await parseError { _ = try await bench.find("op") }?.code == .serviceUnavailable)
            try await bench.sandbox.store.write {
                _ = try $0.execute("UPDATE stripeOperations SET askedAt = askedAt - 601000")
            }
            #expect(await parseError { _ = try await bench.find("op") } == .objectNotFound)
        }
    }

    @Test func aCardThatNeedsTheBanksQuestionIsDeclinedAndTheIntentCancelled() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            let request = PaymentBench.order("op", token: "tok_threeDSecure2Required")
            // The answer to its cancellation is lost once; the reason is kept.
            try await double.fail("half", ".*/cancel")
            #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .serviceUnavailable)
            for _ in 1...2 {
                let error = await parseError { _ = try await bench.charges.charge(request) }
                #expect(error?.code == .scriptFailed)
                #expect(error?.details?["code"] == "authentication_required")
            }
            let state = try await double.state()
            #expect(state.intents.map { $0["status"] } == ["canceled"])
            #expect(state.taken == 0)
        }
    }

    @Test(arguments: [PaymentBench.Kind.doubleIntents, .doubleCharges])
    func aBadTokenOrAmountIsRefusedAtOnce(_ kind: PaymentBench.Kind) async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(kind, double)
            _ = try await bench.charges.charge(PaymentBench.order("first", token: "tok_once_visa_1"))
            for (operation, token, code) in [
                ("a", "tok_nothing", "resource_missing"), ("b", "tok_once_visa_1", "token_already_used"),
            ] {
                let error = await parseError {
                    _ = try await bench.charges.charge(PaymentBench.order(operation, token: token))
                }
                #expect(error?.code == .scriptFailed)
                #expect(error?.details?["code"]?.stringValue == code)
            }
            var small = PaymentBench.order("c", token: "tok_visa")
            small.amountMinorUnits = 49
            let error = await parseError { _ = try await bench.charges.charge(small) }
            #expect(error?.details?["code"] == "amount_too_small")
            #expect(try await double.state().taken == 1)
            let said = bench.log.entries.map(\.level)
            #expect(said == [.notice, .notice, .notice], "Customers raise no alert.")

            try await double.fail("401", ".*")
            _ = await parseError { _ = try await bench.charges.charge(PaymentBench.order("d", token: "tok_visa")) }
            #expect(bench.log.entries.contains { $0.level == .critical }, "A refused key does.")
        }
    }

    @Test func aRefundThatTheDashboardMadeBeforeIsRefusedForGood() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            _ = try await bench.charges.charge(PaymentBench.order("op", token: "tok_visa"))
            _ = try await bench.refunds.refund(PaymentBench.refund(0, of: "op", as: "elsewhere"))
            try await bench.sandbox.store.write { _ = try $0.execute("DELETE FROM refunds") }
            for _ in 1...2 {
                let error = await parseError {
                    _ = try await bench.refunds.refund(PaymentBench.refund(0, of: "op", as: "r"))
                }
                #expect(error?.code == .scriptFailed)
                #expect(error?.details?["code"] == "charge_already_refunded")
            }
            #expect(try await double.state().back == 1999)
            #expect(!bench.log.entries.contains { $0.level == .critical }, "A refusal needs no operator.")
        }
    }

    /// Stripe may go on counting a refund that failed.
    @Test(arguments: [PaymentBench.Kind.doubleIntents, .doubleCharges])
    func aRefundThatFailedDoesNotProveAnother(_ kind: PaymentBench.Kind) async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(kind, double)
            _ = try await bench.charges.charge(PaymentBench.order("op", token: "tok_visa"))
            _ = try await bench.refunds.refund(PaymentBench.refund(0, of: "op", as: "failed"))
            try await bench.sandbox.store.write { _ = try $0.execute("DELETE FROM refunds") }
            _ = try await double.failRefund("expired_or_canceled_card")
            let charge = try #require(try await double.state().json["chargeIds"]?.arrayValue?.first)
            try await double.change(charge, ["amount_refunded": 1999])
            let error = await parseError {
                _ = try await bench.refunds.refund(PaymentBench.refund(0, of: "op", as: "r"))
            }
            #expect(error?.code == .scriptFailed)
            #expect(error?.details?["code"] == "charge_not_refunded")
        }
    }

    @Test func anOperationGoesOnByTheApiItBeganWith() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleCharges, double)
            try await double.fail("half", "/v1/charges")
            let request = PaymentBench.order("op", token: "tok_visa")
            #expect(await parseError { _ = try await bench.charges.charge(request) }?.code == .serviceUnavailable)
            let intents = try PaymentBench.stripe(
                bench.sandbox, url: double.url, key: StripeDouble.secretKey, isCharges: false, timeoutSeconds: 30)
            let charges = Charges(store: bench.sandbox.store, provider: intents, logger: .init(label: "test"))
            #expect(try await charges.charge(request).chargeID.hasPrefix("ch_"))
            #expect(try await double.state().taken == 1)
        }
    }

    @Test func simultaneousRepetitionsTakeMoneyOnce() async throws {
        for kind in [PaymentBench.Kind.doubleIntents, .doubleCharges] {
            try await StripeDouble.with { double in
                let bench = try await PaymentBench.stripe(kind, double)
                let request = PaymentBench.order("op", token: "tok_visa")
                await withTaskGroup(of: Void.self) { group in
                    for _ in 1...12 {
                        group.addTask { _ = await parseError { _ = try await bench.charges.charge(request) } }
                    }
                }
                _ = try await bench.charges.charge(request)
                #expect(try await double.state().taken == 1)
            }
        }
    }
}
