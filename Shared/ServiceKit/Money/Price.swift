import ParseProtocol
import ProcessKit

/// Prices on the wire are decimal numbers (`3.5` is $3.50), because existing clients send and show them so. Satchel
/// converts them to integer minor units (350 cents) on receipt.
public enum Price {
    /// Ten million in a currency with hundredths. A total of 999 pieces of 200 products stays far below the maximum of
    /// `Int64`.
    public static let minorUnitsMax: Int64 = 1_000_000_000

    /// The minor units that can be charged at once: up to eight digits, the limit of Stripe
    /// (https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts).
    public static let chargeable: ClosedRange<Int64> = 1...99_999_999

    /// The exact minor units of a wire price; nil unless it is a number from 0 to `minorUnitsMax` with at most the
    /// currency's decimals.
    ///
    /// A double is rarely an exact decimal. It is read as the nearest decimal number: `n / 100` rounds to the nearest
    /// double (IEEE 754), so the price is `n` hundredths exactly when that division yields the same double.
    public static func minorUnits(_ price: JSON?, in currency: Currency) -> Int64? {
        let one = currency.minorUnitsOfOne
        switch price {
        case .int(let whole):
            return (0...minorUnitsMax / one).contains(whole) ? whole * one : nil
        case .double(let number):
            let units = (number * Double(one)).rounded()
            guard units >= 0, units <= Double(minorUnitsMax), units / Double(one) == number else { return nil }
            return Int64(units)
        default: return nil
        }
    }

    /// The price rule as a text for users.
    public static func rule(in currency: Currency) -> String {
        let most = minorUnitsMax / currency.minorUnitsOfOne
        switch currency.decimals {
        case 0: return "a whole number from 0 to \(most), because \(currency.code) has no decimals"
        case 3: return "a number from 0 to \(most) with at most three decimals"
        default: return "a number from 0 to \(most) with at most two decimals"
        }
    }
}

extension Currency {
    /// `SATCHEL_CURRENCY`, the one currency of the shop.
    /// - Throws: `StartupProblem` for an unknown currency, because prices would be wrong by a factor.
    public static func ofShop(_ settings: Settings = .environment) throws(StartupProblem) -> Currency {
        guard let code = settings["satchel.currency"] else { return .standard }
        guard let currency = try? Currency(code) else {
            throw settings.wrong(
                "satchel.currency", "cannot be used: it must be an ISO 4217 code of a currency, such as usd.")
        }
        return currency
    }
}
