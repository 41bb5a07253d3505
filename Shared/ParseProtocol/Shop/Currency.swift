/// A currency of ISO 4217 and its number of decimals. All of Satchel calculates in the resulting minor unit; the code
/// for a payment provider with other units converts them.
public struct Currency: Sendable, Hashable {
    /// In lower case, for example `usd`.
    public let code: String
    /// Decimals of the minor unit: 0, 2 or 3.
    public let decimals: Int

    /// The currency of a shop whose operator has not set one.
    public static let standard = Currency(known: "usd", decimals: 2)

    /// - Parameter code: ISO 4217, in any letter case.
    /// - Throws: `Unusable` for a code outside of ISO 4217, and for units of account with four decimals.
    public init(_ code: String) throws(Unusable) {
        let lower = code.lowercased()
        guard let decimals = Currency.decimals[lower] else { throw Unusable(code: code) }
        self.init(known: lower, decimals: decimals)
    }

    private init(known code: String, decimals: Int) {
        self.code = code
        self.decimals = decimals
    }

    /// Minor units of one major unit: 1, 100 or 1000.
    public var minorUnitsOfOne: Int64 { decimals == 0 ? 1 : decimals == 3 ? 1000 : 100 }

    /// `1234.50`; `1234` in a currency without decimals.
    public func text(minorUnits: Int64) -> String {
        var digits = String(minorUnits.magnitude)
        digits = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        let whole = digits.dropLast(decimals)
        let sign = minorUnits < 0 ? "-" : ""
        return decimals == 0 ? sign + whole : "\(sign)\(whole).\(digits.suffix(decimals))"
    }

    /// A text that is not a currency code.
    public struct Unusable: Error, Equatable, CustomStringConvertible {
        let code: String
        /// A sentence that names the code.
        public var description: String { "\(code) is not an ISO 4217 currency code." }
    }

    /// ISO 4217, table A.1, "minor unit", without the codes for metals, funds, units of account and tests.
    private static let decimals: [String: Int] = {
        let byDecimals = [
            0: "bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf",
            2: """
            aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bmd bnd bob brl bsd btn bwp byn bzd cad cdf chf \
            cny cop crc cuc cup cve czk dkk dop dzd egp ern etb eur fjd fkp gbp gel ghs gip gmd gtq gyd hkd hnl htg \
            huf idr ils inr irr jmd kes kgs khr kpw kyd kzt lak lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop mru mur \
            mvr mwk mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php pkr pln qar ron rsd rub sar sbd scr sdg sek \
            sgd shp sle sos srd ssp stn svc syp szl thb tjs tmt top try ttd twd tzs uah usd uyu uzs ved ves wst xcd \
            xcg yer zar zmw zwg
            """,
            3: "bhd iqd jod kwd lyd omr tnd",
        ]
        return byDecimals.reduce(into: [:]) { known, entry in
            for code in entry.value.split(whereSeparator: \.isWhitespace) { known[String(code)] = entry.key }
        }
    }()
}
