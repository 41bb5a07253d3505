import ParseProtocol

/// Amounts as people read them.
package enum Money {
    private static let symbols = ["usd": "$", "eur": "€", "gbp": "£", "jpy": "¥"]

    /// `$1234.50`, `CHF 12.00`, `¥350`. Of a currency that ISO 4217 does not have nobody knows the decimals, and the
    /// text says so.
    /// - Parameter code: ISO 4217 in lower case.
    package static func text(minorUnits: Int64, currency code: String) -> String {
        guard let currency = try? Currency(code) else { return "\(code.uppercased()) \(minorUnits) minor units" }
        let number = currency.text(minorUnits: Int64(clamping: minorUnits.magnitude))
        let sign = minorUnits < 0 ? "-" : ""
        return sign + (symbols[currency.code].map { $0 + number } ?? "\(currency.code.uppercased()) \(number)")
    }
}
