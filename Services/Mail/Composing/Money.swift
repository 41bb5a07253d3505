/// Amounts as people read them.
package enum Money {
    private static let symbols = ["usd": "$", "eur": "€", "gbp": "£", "jpy": "¥"]
    /// Currencies without a minor unit, from Stripe's list of zero-decimal currencies.
    private static let withoutDecimals: Set<String> = [
        "bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "ugx", "vnd", "vuv", "xaf", "xof", "xpf",
    ]
    private static let withThreeDecimals: Set<String> = ["bhd", "jod", "kwd", "omr", "tnd"]

    /// `$1234.50`, `CHF 12.00`.
    /// - Parameter currency: ISO 4217 in lower case.
    package static func text(minorUnits: Int64, currency: String) -> String {
        let decimals = withoutDecimals.contains(currency) ? 0 : withThreeDecimals.contains(currency) ? 3 : 2
        var digits = String(minorUnits.magnitude)
        digits = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        let whole = digits.dropLast(decimals)
        let number = decimals == 0 ? String(whole) : "\(whole).\(digits.suffix(decimals))"
        let sign = minorUnits < 0 ? "-" : ""
        return sign + (symbols[currency].map { $0 + number } ?? "\(currency.uppercased()) \(number)")
    }
}
