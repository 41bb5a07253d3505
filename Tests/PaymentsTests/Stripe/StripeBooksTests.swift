import Logging
import Outbound
import ParseProtocol
import PaymentsService
import ServiceSupport
import Synchronization
import TestSupport
import Testing

/// The comparison of payments' charges and refunds with Stripe's list.
@Suite struct StripeBooksTests {
    private struct Look {
        var rows: Int64 = 0
        /// The check and the row of each difference.
        var found: [String] = []
        var texts: [String] = []
        var problem: String?
        var days = 0
    }

    private let warnings = Warnings()

    private final class Warnings: Sendable {
        let texts = Mutex<[String]>([])
    }

    private func look(_ bench: PaymentBench, _ double: StripeDouble) async throws -> Look {
        let configuration = try StripeConfiguration(
            url: double.url, secretKey: StripeDouble.secretKey, timeoutSeconds: 30)
        let client = StripeClient(
            configuration, outbound: OutboundClient(), logger: Logger(label: "test"),
            keyStanding: StripeKeyHealth { [warnings] text in warnings.texts.withLock { $0.append(text) } })
        let books = StripeBooks(client: client, store: bench.sandbox.store)
        var look = Look()
        var next: Int64? = 0
        while let day = next {
            let answer = try await books.answer(["provider": .int(day)])
            look.days += 1
            look.rows += answer["rows"]?.intValue ?? 0
            for row in answer["found"]?.arrayValue ?? [] {
                look.found.append("\(row.text("check")) \(row.text("name"))")
                look.texts.append(row.text("found"))
            }
            look.problem = answer["problem"]?.stringValue
            next = answer["next"]?.intValue
        }
        return look
    }

    /// Five charges of 1999, the last one refunded.
    private func trade(_ bench: PaymentBench) async throws {
        for number in 1...5 {
            _ = try await bench.charges.charge(PaymentBench.order("co_\(number)", token: "tok_visa"))
        }
        _ = try await bench.refunds.refund(PaymentBench.refund(1999, of: "co_5", as: "rf_5"))
    }

    @Test(arguments: [PaymentBench.Kind.doubleIntents, .doubleCharges])
    func whatIsTheSameIsNoDifference(_ kind: PaymentBench.Kind) async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(kind, double)
            try await trade(bench)
            let declined = PaymentBench.order("co_declined", token: "tok_chargeDeclined")
            #expect(await parseError { _ = try await bench.charges.charge(declined) } != nil)
            // A charge of another program, and an abandoned charge with its refund.
            try await double.change("", ["amount": 5])
            let givenUp: JSON = ["amount": 5, "amount_refunded": 5, "metadata": ["operation_id": "co_gone"]]
            try await double.change("", givenUp)
            try await double.limitPages(to: 2)
            let look = try await look(bench, double)
            #expect(look.problem == nil)
            #expect(look.found == [], "\(look.texts)")
            #expect(look.days == 35)
            #expect(look.rows >= 6)
            #expect(try await double.state().violations == [])
        }
    }

    @Test(arguments: [PaymentBench.Kind.doubleIntents, .doubleCharges])
    func eachDifferenceIsFound(_ kind: PaymentBench.Kind) async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(kind, double)
            try await trade(bench)
            let made = try await double.state().chargeIds
            try #require(made.count == 5)
            try await double.change(made[0], ["amount": 2000])
            try await double.change(made[1], ["currency": "eur"])
            try await double.change(made[2], .null)
            try await double.change(made[3], ["amount_refunded": 100])
            try await double.change(made[4], ["amount_refunded": 0])
            // The customer paid a second time, and a charge that payments does not know.
            for operation: JSON in ["co_1", "co_unknown"] {
                try await double.change("", ["amount": 7, "metadata": ["operation_id": operation]])
            }
            let more = try await double.state().chargeIds.dropFirst(4).compactMap(\.stringValue)
            try #require(more.count == 2)
            let look = try await look(bench, double)
            #expect(
                look.found.sorted() == [
                    "stripe.charge co_1", "stripe.charge co_2", "stripe.charge co_3", "stripe.refund co_4",
                    "stripe.refund co_5", "stripe.unknown \(more[0])", "stripe.unknown \(more[1])",
                ], "\(look.texts)")
            for text in [
                "Charged 1999 usd; Stripe has 2000 usd", "Charged 1999 usd; Stripe has 1999 eur",
                "Charged 1999 usd; Stripe has nothing", "Refunded 0; Stripe has 100", "Refunded 1999; Stripe has 0",
                "7 usd, co_unknown: not known",
            ] {
                #expect(look.texts.contains(text), "\(look.texts)")
            }
        }
    }

    /// Clocks differ, and a customer may confirm a payment after midnight.
    @Test func aChargeOfAnotherDayIsLookedUp() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            try await trade(bench)
            try await bench.sandbox.store.write {
                _ = try $0.execute(
                    "UPDATE charges SET createdAt = createdAt - 86400000 WHERE operationId IN ('co_1', 'co_5')")
            }
            #expect(try await look(bench, double).found == [])
            // After 40 days they are settled.
            try await bench.sandbox.store.write {
                _ = try $0.execute("UPDATE charges SET createdAt = createdAt - 3456000000")
            }
            for charge in try await double.state().chargeIds { try await double.change(charge, .null) }
            #expect(try await look(bench, double).found == [])
        }
    }

    @Test func anUndecidedChargeOrRefundIsNoDifference() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            try await trade(bench)
            for sql in [
                "UPDATE charges SET state = 'created', chargeId = NULL WHERE operationId = 'co_1'",
                "UPDATE refunds SET state = 'created' WHERE operationId = 'rf_5'",
            ] {
                try await bench.sandbox.store.write { _ = try $0.execute(sql) }
            }
            #expect(try await look(bench, double).found == [])
        }
    }

    /// As with the key of another account.
    @Test func theComparisonEndsWhenAllDiffers() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            try await double.limitPages(to: 50)
            for _ in 0..<120 { try await double.change("", ["amount": 7, "metadata": ["operation_id": "co_x"]]) }
            let look = try await look(bench, double)
            #expect(look.found.count == 100)
        }
    }

    @Test func aBusyStripeIsAskedAgain() async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            try await trade(bench)
            try await double.fail("429", "/v1/charges", method: "GET", times: 3)
            let look = try await look(bench, double)
            #expect(look.problem == nil)
            #expect(look.found == [])
            try await double.fail("429", "/v1/charges", method: "GET", times: 4)
            #expect(try await self.look(bench, double).problem?.contains("Stripe answered 429") == true)
        }
    }

    @Test(arguments: ["401", "403"])
    func aRefusalIsNamedAndSaysNothingAboutPayments(_ status: String) async throws {
        try await StripeDouble.with { double in
            let bench = try await PaymentBench.stripe(.doubleIntents, double)
            try await double.fail(status, "/v1/charges", method: "GET")
            let problem = try #require(try await look(bench, double).problem)
            #expect(problem.contains("status \(status)"))
            #expect(!problem.contains(String(StripeDouble.secretKey.prefix(8))))
            #expect(warnings.texts.withLock { $0 } == [])
        }
    }
}
