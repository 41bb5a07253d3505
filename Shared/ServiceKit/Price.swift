import ParseProtocol

/// Prices on the wire are decimal numbers (`3.5` is $3.50), because existing clients send and show them so. Satchel reckons in
/// integer minor units (350 cents) from the first step on.
public enum Price {
    /// Ten million in major units; with 999 pieces of 200 products a total stays far below what `Int64` holds.
    public static let minorUnitsMax: Int64 = 1_000_000_000

    /// The exact minor units of a wire price; nil unless it is a number from 0 to 10,000,000 with at most two decimals.
    ///
    /// A double with two decimals is never exact in binary. It is taken as the decimal number that it is nearest to: `n / 100`
    /// rounds to the nearest double (IEEE 754), so the price is `n` hundredths precisely when that division gives it back.
    public static func minorUnits(_ price: JSON?) -> Int64? {
        switch price {
        case .int(let whole):
            return (0...minorUnitsMax / 100).contains(whole) ? whole * 100 : nil
        case .double(let number):
            let hundredths = (number * 100).rounded()
            guard hundredths >= 0, hundredths <= Double(minorUnitsMax), hundredths / 100 == number else { return nil }
            return Int64(hundredths)
        default: return nil
        }
    }
}

/// The one currency of a shop: an ISO 4217 code in lower case, as Stripe writes it.
public struct Currency: Sendable, Hashable {
    /// For example `usd`.
    public let code: String

    /// - Throws: `Unusable` for anything but three letters, and for a currency whose minor unit is not a hundredth.
    public init(_ code: String) throws(Unusable) {
        let code = code.lowercased()
        guard code.utf8.count == 3, code.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }),
            !Currency.withoutHundredths.contains(code)
        else { throw Unusable(code: code) }
        self.code = code
    }

    /// A start-up error: prices would be wrong by a factor.
    public struct Unusable: Error, CustomStringConvertible {
        let code: String
        /// For the operator, who finds it in the log.
        public var description: String {
            "SATCHEL_CURRENCY=\(code) cannot be used: it must be an ISO 4217 code of a currency with hundredths, such as usd."
        }
    }

    /// ISO 4217 currencies with no or three decimals (Stripe lists the first as zero-decimal currencies).
    private static let withoutHundredths: Set<String> = [
        "bif", "clp", "djf", "gnf", "isk", "jpy", "kmf", "krw", "pyg", "rwf", "ugx", "uyi", "vnd", "vuv", "xaf", "xof",
        "xpf",
        "bhd", "iqd", "jod", "kwd", "lyd", "omr", "tnd",
    ]
}
