import ParseProtocol
import TestSupport
import Testing

/// Customers store addresses and have orders sent to one of them.
@Suite struct AddressTests {
    private static func named(_ label: String, city: String = "Springfield") -> JSON {
        var address = Customer.address
        address["label"] = .string(label)
        address["city"] = .string(city)
        return address
    }

    @Test func customersKeepAddressesAndOneIsTheDefault() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let stranger = try await Customer.signUp(suite)
        let home = try await customer.client.create("Address", Self.named("Home"))
        #expect(home.status == 201, "\(home.text)")
        #expect(home["default"] == true, "\(home.text)")
        let work = try await customer.client.create("Address", Self.named("Work", city: "Oakland"))
        #expect(work.status == 201, "\(work.text)")
        let changed = try await customer.client.call(.PUT, "/classes/Address/\(work.objectId)", ["default": true])
        #expect(changed.status == 200, "\(changed.text)")
        let mine = try await customer.client.find("Address", [:], ["order": "label"])
        #expect(mine.results.map { $0["label"] } == ["Home", "Work"])
        #expect(mine.results.map { $0["default"] } == [false, true])
        #expect(try await stranger.client.find("Address").results.isEmpty)
        #expect(try await stranger.client.get("/classes/Address/\(home.objectId)").code == 101)
        #expect(try await stranger.client.call(.DELETE, "/classes/Address/\(home.objectId)").code == 101)
        #expect(try await ParseClient(suite).find("Address").code == 101)
        #expect(try await Customer.admin(suite).find("Address").results.isEmpty)
        #expect(try await customer.client.create("Address", ["city": "4242 4242 4242 4242"]).code == 142)
    }

    @Test func aCheckoutTakesOneOfThem() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Sent \(Names.random(4))"])
        let customer = try await Customer.signUp(suite)
        let stranger = try await Customer.signUp(suite)
        let work = try await customer.client.create("Address", Self.named("Work", city: "Oakland")).objectId
        var incomplete = Self.named("Half")
        incomplete["zipcode"] = nil
        let half = try await customer.client.create("Address", incomplete).objectId
        let theirs = try await stranger.client.create("Address", Self.named("Theirs")).objectId
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        func pay(_ address: JSON) async throws -> ParseClient.Answer {
            try await customer.client.run(
                "checkout", ["tokenId": "tok_visa", "addressId": address, "giftMessage": "Happy <day>", "note": "Ring"])
        }
        #expect(try await pay(.string(theirs)).code == 101)
        let refused = try await pay(.string(half))
        #expect(refused.code == 142, "\(refused.text)")
        #expect(refused.json.at("details", "missing") == ["zipcode"], "\(refused.text)")
        let none = try await pay(.null)
        #expect(none.code == 142, "\(none.text)")
        #expect(none.json.text("error").contains("address1"), "\(none.text)")
        let paid = try await pay(.string(work))
        #expect(paid.result.at("shippingAddress", "city") == "Oakland", "\(paid.text)")
        _ = try await customer.client.call(.DELETE, "/classes/Address/\(work)")
        let order = try await customer.client.get("/classes/Order/\(paid.result.text("orderId"))")
        #expect(order.json.at("shippingAddress", "city") == "Oakland")
        #expect(order["giftMessage"] == "Happy <day>")
        #expect(order["note"] == "Ring")
        try await eventually("the mail says where to and what with", within: .seconds(20)) {
            suite.mails().contains {
                $0.header("To")?.contains(customer.email) == true && $0.text.contains("Oakland")
                    && $0.text.contains("Happy <day>")
            }
        }
    }
}
