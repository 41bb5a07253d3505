import ParseProtocol

/// An amount in the unit of Stripe's API, which differs from ISO 4217's minor unit for some currencies
/// (https://docs.stripe.com/currencies, "Zero-decimal currencies", "Three-decimal currencies" and "Special cases"). HUF
/// and TWD differ in payouts only.
package struct StripeAmount: Sendable, Hashable {
    package let amount: Int64
    package let currency: String

    /// Decimals in Stripe's API where they differ from ISO 4217: none for the ariary, and two (always 00) for the króna
    /// and the shilling.
    private static let counted = ["mga": 0, "isk": 2, "ugx": 2]

    /// - Throws: `ProviderFailure`, which is final, for an amount that Stripe cannot charge: a fraction of an ariary, a
    ///   fraction of a króna, or fils that are not a multiple of ten.
    package init(minorUnits: Int64, currency code: String) throws {
        let currency = try Self.known(code)
        let (amount, rest) = Self.scale(minorUnits, from: currency.decimals, to: Self.decimals(of: currency))
        // Card networks support at most two decimals, so the third one must be 0.
        guard rest == 0, currency.decimals < 3 || amount % 10 == 0 else { throw Self.refused(minorUnits, currency) }
        guard Self.largest >= amount.magnitude else { throw Self.refused(minorUnits, currency) }
        self.amount = amount
        self.currency = currency.code
    }

    /// The minor units of an amount in Stripe's unit. For an unknown currency, the amount unchanged.
    package static func minorUnits(_ amount: Int64, currency code: String) -> Int64 {
        guard let currency = try? Currency(code) else { return amount }
        return scale(amount, from: decimals(of: currency), to: currency.decimals).amount
    }

    /// The minor units of an amount that cloud code requests from Stripe.
    /// - Throws: `ProviderFailure`, which is final, for an amount that Stripe cannot charge.
    package static func minorUnits(asked amount: Int64, currency code: String) throws -> Int64 {
        let currency = try known(code)
        let (units, rest) = scale(amount, from: decimals(of: currency), to: currency.decimals)
        guard rest == 0 else { throw refused(units, currency) }
        _ = try StripeAmount(minorUnits: units, currency: code)
        return units
    }

    /// Eight digits of Stripe's own unit.
    private static let largest: UInt64 = 99_999_999

    private static func decimals(of currency: Currency) -> Int { counted[currency.code] ?? currency.decimals }

    private static func scale(_ amount: Int64, from: Int, to: Int) -> (amount: Int64, rest: Int64) {
        let factor = (0..<abs(to - from)).reduce(Int64(1)) { power, _ in power * 10 }
        guard to >= from else { return (amount / factor, amount % factor) }
        let (product, overflow) = amount.multipliedReportingOverflow(by: factor)
        return overflow ? (Int64.max, 0) : (product, 0)
    }

    private static func known(_ code: String) throws -> Currency {
        do {
            return try Currency(code)
        } catch {
            throw ProviderFailure(
                type: "invalid_request_error", code: "invalid_currency", message: "The currency is not known.")
        }
    }

    private static func refused(_ minorUnits: Int64, _ currency: Currency) -> ProviderFailure {
        ProviderFailure(
            type: "invalid_request_error", code: "invalid_charge_amount",
            message:
                """
                \(currency.text(minorUnits: minorUnits)) \(currency.code.uppercased()) cannot be charged to a card: \
                the amount is too large or has too many decimals.
                """
        )
    }
}
