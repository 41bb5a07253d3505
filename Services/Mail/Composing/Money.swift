import ParseProtocol
import ProcessKit

/// Formats amounts for people.
package enum Money {
    private static let symbols = ["usd": "$", "eur": "€", "gbp": "£", "jpy": "¥"]

    /// `$1234.50`, `CHF 12.00`, `¥350`. The decimals of a currency outside ISO 4217 are unknown, and the text says so.
    /// In German `1234,50 $`.
    /// - Parameter code: ISO 4217 in lower case.
    package static func text(
        minorUnits: Int64, currency code: String, in language: ShopLanguage = .en
    ) -> String {
        guard let currency = try? Currency(code) else { return "\(code.uppercased()) \(minorUnits) minor units" }
        let number = currency.text(minorUnits: Int64(clamping: minorUnits.magnitude))
        let sign = minorUnits < 0 ? "-" : ""
        if language == .de {
            let unit = symbols[currency.code] ?? currency.code.uppercased()
            return "\(sign)\(number.replacing(".", with: ","))\u{A0}\(unit)"
        }
        return sign + (symbols[currency.code].map { $0 + number } ?? "\(currency.code.uppercased()) \(number)")
    }
}
