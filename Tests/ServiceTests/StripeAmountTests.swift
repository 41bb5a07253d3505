import ParseProtocol
import PaymentsService
import Testing

/// T10l: what Stripe is asked for, in its own units, from minor units of ISO 4217 and back.
@Suite struct StripeAmountTests {
    @Test(arguments: [
        ("usd", 1999, 1999), ("jpy", 500, 500), ("krw", 10_000, 10_000), ("kwd", 5120, 5120),
        // ISO 4217 gives the ariary hundredths, Stripe does not: 5,000 ariary were charged as 500,000.
        ("mga", 500_000, 5000), ("isk", 5, 500), ("ugx", 5, 500), ("huf", 1045, 1045), ("twd", 1045, 1045), ("mru", 500, 500),
    ] as [(String, Int64, Int64)])
    func anAmountIsAskedForInStripesUnits(_ code: String, _ minorUnits: Int64, _ amount: Int64) throws {
        #expect(try StripeAmount(minorUnits: minorUnits, currency: code).amount == amount)
        #expect(StripeAmount.minorUnits(amount, currency: code) == minorUnits)
    }

    @Test(arguments: [("mga", 50), ("kwd", 5125), ("isk", 99_999_999), ("xyz", 1), ("", 1)] as [(String, Int64)])
    func whatCannotBeChargedIsRefusedForGood(_ code: String, _ minorUnits: Int64) {
        #expect(throws: ProviderFailure.self) { try StripeAmount(minorUnits: minorUnits, currency: code) }
    }
}
