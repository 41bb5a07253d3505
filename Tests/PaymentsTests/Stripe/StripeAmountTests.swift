import ParseProtocol
import PaymentsService
import Testing

/// T10l: amounts in Stripe's units from minor units of ISO 4217, and back.
@Suite struct StripeAmountTests {
    @Test(
        arguments: [
            ("usd", 1999, 1999), ("jpy", 500, 500), ("krw", 10_000, 10_000), ("kwd", 5120, 5120),
            // ISO 4217 defines hundredths for the ariary, Stripe does not: 5,000 ariary were charged as 500,000.
            ("mga", 500_000, 5000), ("isk", 5, 500), ("ugx", 5, 500), ("huf", 1045, 1045), ("twd", 1045, 1045),
            ("mru", 500, 500),
        ] as [(String, Int64, Int64)])
    func anAmountIsAskedForInStripesUnits(_ code: String, _ minorUnits: Int64, _ amount: Int64) throws {
        #expect(try StripeAmount(minorUnits: minorUnits, currency: code).amount == amount)
        #expect(StripeAmount.minorUnits(amount, currency: code) == minorUnits)
        #expect(try StripeAmount.minorUnits(asked: amount, currency: code) == minorUnits)
    }

    /// Amounts of cloud code are already in Stripe's units.
    @Test(
        arguments: [("isk", 150), ("ugx", 99), ("kwd", 5125), ("usd", 100_000_000), ("mga", .max), ("xyz", 1)]
            as [(String, Int64)])
    func whatStripeRefusesToChargeHasNoMinorUnits(_ code: String, _ amount: Int64) {
        #expect(throws: ProviderFailure.self) { try StripeAmount.minorUnits(asked: amount, currency: code) }
    }

    @Test(arguments: [("mga", 50), ("kwd", 5125), ("isk", 99_999_999), ("xyz", 1), ("", 1)] as [(String, Int64)])
    func whatCannotBeChargedIsRefusedForGood(_ code: String, _ minorUnits: Int64) {
        #expect(throws: ProviderFailure.self) { try StripeAmount(minorUnits: minorUnits, currency: code) }
    }

    /// Stripe's "Zero-decimal currencies", https://docs.stripe.com/currencies#zero-decimal, written independently of
    /// the code's exceptions. UGX is on that list and also among the special cases, which require two decimals; ISK is
    /// not on the list but also needs two decimals.
    @Test(arguments: [
        "bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf",
    ])
    func aCurrencyWithoutDecimalsAtStripeIsSentInWholeUnits(_ code: String) throws {
        let whole = 50 * (try Currency(code)).minorUnitsOfOne
        #expect(try StripeAmount(minorUnits: whole, currency: code).amount == 50)
        #expect(StripeAmount.minorUnits(50, currency: code) == whole)
    }

    /// Stripe accepts only multiples of ten fils; an amount that differs from the order's is never charged.
    @Test(arguments: ["bhd", "jod", "kwd", "omr", "tnd"]) func threeDecimalAmountsEndInZero(_ code: String) throws {
        #expect(try StripeAmount(minorUnits: 5120, currency: code).amount == 5120)
        for minorUnits in Int64(5121)...5129 {
            #expect(throws: ProviderFailure.self) { try StripeAmount(minorUnits: minorUnits, currency: code) }
        }
    }
}
