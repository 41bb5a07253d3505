import ParseProtocol
import ServiceKit
import Testing

/// Decimal prices of the wire become exact minor units, or nothing.
@Suite struct PriceTests {
    @Test(
        arguments: [
            (JSON.double(3.5), 350), (.int(3), 300), (.int(0), 0), (.double(0.01), 1), (.double(19.99), 1999),
            (.double(1.1), 110), (.double(0.07), 7), (.double(4.35), 435), (.double(9_999_999.99), 999_999_999),
            (.int(10_000_000), 1_000_000_000),
        ] as [(JSON, Int64)])
    func pricesAreExact(_ price: JSON, _ minorUnits: Int64) {
        #expect(Price.minorUnits(price) == minorUnits)
    }

    @Test(arguments: [
        JSON.double(3.505), .double(0.001), .double(-0.01), .int(-1), .double(10_000_000.01), .int(10_000_001),
        .double(.nan),
        .double(.infinity), .double(1e300), .string("3.50"), .null, .bool(true), .double(0.1 + 0.2), .array([]),
    ])
    func whatIsNoPriceIsRefused(_ price: JSON) {
        #expect(Price.minorUnits(price) == nil)
    }

    @Test func everyCentSurvivesTheWire() throws {
        for cents in stride(from: Int64(0), through: 2_000_000, by: 7) {
            let text = "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
            #expect(Price.minorUnits(try JSON(parsing: text)) == cents)
        }
    }

    @Test func currenciesHaveHundredths() throws {
        #expect(try Currency("USD").code == "usd")
        for unusable in ["", "us", "dollar", "jpy", "kwd", "u$d"] {
            #expect(throws: Currency.Unusable.self) { try Currency(unusable) }
        }
    }
}
