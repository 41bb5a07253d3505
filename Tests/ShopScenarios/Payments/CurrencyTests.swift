import ParseProtocol
import TestSupport
import Testing

/// T10k, T10l: a shop in a currency other than dollars, from the product's price to Stripe's amount, the mail, the
/// report and the refund. A second list of currencies anywhere in this chain would cause errors by a factor of ten to a
/// thousand.
@Suite struct CurrencyTests {
    struct Shop: Sendable, CustomTestStringConvertible {
        let code: String
        /// A price on the wire, and a price with too many decimals.
        let price: JSON
        let tooFine: JSON
        /// The price of two pieces, in ISO 4217's minor unit.
        let total: Int64
        /// The same in Stripe's unit.
        let charged: Int64
        /// The same in human-readable form.
        let text: String

        var testDescription: String { code }
    }

    static let shops = [
        Shop(code: "jpy", price: 350, tooFine: 350.5, total: 700, charged: 700, text: "¥700"),
        Shop(code: "kwd", price: 5.12, tooFine: 5.1255, total: 10_240, charged: 10_240, text: "KWD 10.240"),
        Shop(code: "mga", price: 5000, tooFine: 0.505, total: 1_000_000, charged: 10_000, text: "MGA 10000.00"),
        Shop(code: "isk", price: 350, tooFine: 0.5, total: 700, charged: 70_000, text: "ISK 700"),
    ]

    @Test(arguments: shops) func anAmountMeansTheSameEverywhere(_ shop: Shop) async throws {
        try await StripeDouble.with { double in
            let settings = double.settings().merging(["SATCHEL_CURRENCY": shop.code]) { $1 }
            try await Suite.with(settings: settings) { suite in
                let shelf = try await Shelf.fill(suite, names: ["Cream"], prices: [shop.price])
                let path = "/classes/Product/\(shelf.productIds[0])"
                let refused = try await ParseClient.master(suite).call(.PUT, path, ["unitPrice": shop.tooFine])
                #expect(refused.code == 142, "\(refused.text)")
                #expect(refused.text.contains("unitPrice must be"), "\(refused.text)")

                let customer = try await Customer.signUp(suite)
                let client = customer.client
                let bag = try await client.run(
                    "addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2]
                ).result
                #expect(bag["subtotalMinorUnits"] == .int(shop.total))
                #expect(bag["currency"] == .string(shop.code))
                let paid = try await client.run(
                    "ChargeToken",
                    [
                        "orderId": bag["orderId"] ?? .null, "chargeToken": "tok_once_amex_1",
                        "shippingAddress": Customer.address,
                    ])
                #expect(paid.status == 200, "\(paid.text)")
                #expect(paid.result["totalMinorUnits"] == .int(shop.total))
                #expect(try await double.state().json["amounts"] == [.int(shop.charged)])

                try await eventually("the mail tells the total", within: .seconds(20)) {
                    suite.mails().contains { $0.source.contains(customer.email) && $0.text.contains(shop.text) }
                }
                let admin = try await Customer.admin(suite)
                try await eventually("the sale is counted") {
                    let sales = try await admin.run("analyticsSales", ["interval": "hour"]).result.arrayValue ?? []
                    return sales.first { $0["currency"] == .string(shop.code) }?
                        .at("totals", "grossMinorUnits") == .int(shop.total)
                }
                let cancelled = try await client.run("cancelOrder", ["orderId": .string(paid.result.text("orderId"))])
                #expect(cancelled.status == 200, "\(cancelled.text)")
                try await eventually("all of it is back") { try await double.state().back == shop.charged }
                #expect(try await double.state().violations == [])
            }
        }
    }
}
