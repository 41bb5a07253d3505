import ParseProtocol
import TestSupport
import Testing

/// Sales by product and brand add up to the shop's sales.
@Suite struct SalesByProductTests {
    @Test(.timeLimit(.minutes(10))) func productsAndBrandsAddUpToTheSales() async throws {
        try await Suite.with { suite in
            let admin = try await Customer.admin(suite)
            let shelf = try await Shelf.fill(suite, names: ["Soap", "Comb", "Brush"], prices: [3.5, 12, 18.25])
            let other = try await Shelf.fill(suite, names: ["Balm"], prices: [5])
            let customer = try await Customer.signUp(suite)
            func pay(_ pieces: [(product: String, quantity: Int64)]) async throws -> String {
                for (product, quantity) in pieces {
                    _ = try await customer.client.run(
                        "addToBag", ["productId": .string(product), "quantity": .int(quantity)])
                }
                let paid = try await customer.client.run(
                    "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
                guard paid.status == 200 else { throw Unexpected("checkout", paid) }
                return paid.result.text("orderId")
            }
            let order = try await pay([(shelf.productIds[0], 4), (shelf.productIds[1], 1)])
            let cancelled = try await pay([(shelf.productIds[1], 2)])
            _ = try await pay([(other.productIds[0], 3), (shelf.productIds[2], 1)])
            let refund: JSON = ["orderId": .string(order), "amount": 701, "reason": "Late"]
            #expect(try await admin.run("refundOrder", refund).status == 200)
            #expect(try await admin.run("cancelOrder", ["orderId": .string(cancelled)]).status == 200)

            var sales: JSON?
            try await eventually("analytics has counted the orders and refunds") {
                sales = try await admin.run("analyticsSales").result.at(0, "totals")
                return sales?["orders"] == 3 && sales?["refunds"] == 2
            }
            let byProduct = try await admin.run("salesByProduct", ["limit": 2])
            #expect(byProduct.result["currency"] == "usd", "\(byProduct.text)")
            let byBrand = try await admin.run("salesByProduct", ["groupBy": "brand"])
            for answer in [byProduct, byBrand] {
                for name in ["pieces", "grossMinorUnits", "refundedMinorUnits", "netMinorUnits"] {
                    let total = answer.result["total"]?[name]
                    #expect(total != nil && total == sales?[name], "\(name): \(answer.text)")
                    let rows = (answer.result["results"]?.arrayValue ?? []) + [answer.result["others"] ?? .null]
                    #expect(rows.reduce(0) { $0 + ($1[name]?.intValue ?? 0) } == total?.intValue, "\(answer.text)")
                }
            }
            #expect(byProduct.result["results"]?.arrayValue?.map { $0["name"] } == ["Brush", "Balm"])
            #expect(byProduct.result.at("others", "count") == 2)
            #expect(
                Set(byBrand.result["results"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? [])
                    == [shelf.title, other.title])
            let before = try await admin.run("salesByProduct", ["to": "2020-01-31T00:00:00.000Z"])
            #expect(before.result["results"] == [], "\(before.text)")
            #expect(try await admin.run("salesByProduct", ["currency": "moons"]).code == 142)
            #expect(try await admin.run("salesByProduct", ["groupBy": "colour"]).code == 142)
            #expect(try await customer.client.run("salesByProduct").code == 119)
        }
    }
}
