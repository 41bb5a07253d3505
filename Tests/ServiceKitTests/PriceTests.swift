import ParseProtocol
import ServiceKit
import Testing

/// Decimal prices on the wire become exact minor units or are refused.
@Suite struct PriceTests {
    @Test(
        arguments: [
            (JSON.double(3.5), 350), (.int(3), 300), (.int(0), 0), (.double(0.01), 1), (.double(19.99), 1999),
            (.double(1.1), 110), (.double(0.07), 7), (.double(4.35), 435), (.double(9_999_999.99), 999_999_999),
            (.int(10_000_000), 1_000_000_000),
        ] as [(JSON, Int64)])
    func pricesAreExact(_ price: JSON, _ minorUnits: Int64) {
        #expect(Price.minorUnits(price, in: .standard) == minorUnits)
    }

    @Test(arguments: [
        JSON.double(3.505), .double(0.001), .double(-0.01), .int(-1), .double(10_000_000.01), .int(10_000_001),
        .double(.nan),
        .double(.infinity), .double(1e300), .string("3.50"), .null, .bool(true), .double(0.1 + 0.2), .array([]),
    ])
    func whatIsNoPriceIsRefused(_ price: JSON) {
        #expect(Price.minorUnits(price, in: .standard) == nil)
    }

    @Test func everyCentSurvivesTheWire() throws {
        for cents in stride(from: Int64(0), through: 2_000_000, by: 7) {
            let text = "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
            #expect(Price.minorUnits(try JSON(parsing: text), in: .standard) == cents)
        }
    }

    @Test func currenciesAreThoseOfTheStandard() throws {
        #expect(try Currency("USD").code == "usd")
        for unusable in ["", "us", "dollar", "u$d", "xyz", "clf", "xau"] {
            #expect(throws: Currency.Unusable.self) { try Currency(unusable) }
        }
    }

    /// The list of ISO 4217, table A.1, written independently of the code's list. A missing currency prevents a shop
    /// from opening; wrong decimals charge up to a hundred times too much.
    private static let standard: [Int: String] = [
        0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
        2: """
        AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC \
        CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR \
        JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD \
        NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN \
        SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD XCG YER ZAR ZMW ZWG
        """,
        3: "BHD IQD JOD KWD LYD OMR TND",
    ]

    @Test(arguments: [0, 2, 3]) func everyCurrencyOfTheStandardHasItsDecimals(_ decimals: Int) throws {
        let codes = (Self.standard[decimals] ?? "").split(separator: " ")
        #expect(codes.count >= 7)
        for code in codes {
            let currency = try Currency(String(code))
            #expect(currency.decimals == decimals, "\(code)")
            #expect(currency.code == code.lowercased(), "\(code)")
            #expect(Price.minorUnits(1, in: currency) == currency.minorUnitsOfOne, "\(code)")
            #expect(Price.minorUnits(.double(1.0001), in: currency) == nil, "\(code)")
        }
    }

    /// T10k
    @Test(
        arguments: [
            ("jpy", JSON.int(350), 350), ("jpy", .double(3.5), nil), ("krw", .int(10_000), 10_000),
            ("kwd", .double(5.125), 5125),
            ("kwd", .double(5.1255), nil), ("kwd", .int(3), 3000), ("mga", .int(5000), 500_000),
            ("mga", .double(0.5), 50),
            ("isk", .double(0.5), nil), ("usd", .double(5.125), nil),
        ] as [(String, JSON, Int64?)])
    func aPriceHasItsCurrencysDecimals(_ code: String, _ price: JSON, _ minorUnits: Int64?) throws {
        #expect(Price.minorUnits(price, in: try Currency(code)) == minorUnits)
    }

    /// T10k
    @Test func amountsReadAsTheirCurrencySays() throws {
        #expect(try Currency("jpy").text(minorUnits: 350) == "350")
        #expect(try Currency("kwd").text(minorUnits: 5) == "0.005")
        #expect(try Currency("mga").text(minorUnits: 500_000) == "5000.00")
        #expect(try Currency("usd").text(minorUnits: -7) == "-0.07")
    }
}
