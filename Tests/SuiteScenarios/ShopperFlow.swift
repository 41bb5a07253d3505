import Foundation
import ParseProtocol
import TestSupport
import Testing

/// One customer's actions from the first start of the app to the order history, step by step, with a check of each
/// step.
struct ShopperFlow {
    let suite: Suite
    let shelf: Shelf
    private var client: ParseClient
    private(set) var userId: String
    let email = "\(Names.random(10).lowercased())@shoppers.example"
    private let password = Names.random(12)

    /// The customer's data at the end, for comparison with other customers.
    private(set) var orders: [JSON] = []
    private(set) var stripeCustomerId = ""
    private(set) var paymentMethodId = ""
    private(set) var favouriteId = ""
    private(set) var openOrderId = ""

    var signedIn: ParseClient { client }
    var pointer: JSON { .pointer("_User", userId) }

    /// Starts the app: an anonymous user.
    init(_ suite: Suite, shelf: Shelf) async throws {
        self.suite = suite
        self.shelf = shelf
        (client, userId) = try await Customer.anonymous(suite)
    }

    mutating func run() async throws {
        try await browse()
        try await search()
        try await signUpWithTheBagKept()
        try await favourites()
        try await fillTheBag()
        try await incompleteAddress()
        try await declined()
        try await payWithASavedCard()
        try await payAsTheReferenceApp()
        try await orderMail()
        try await history()
        _ = try await expectOK(client.run("addToBag", ["productId": .string(shelf.productIds[3])]))
        openOrderId = try await expectOK(client.run("bag")).result.text("orderId")
    }

    @discardableResult
    private func expectOK(
        _ answer: ParseClient.Answer, _ status: Int = 200, at location: SourceLocation = #_sourceLocation
    ) throws -> ParseClient.Answer {
        try #require(answer.status == status, "\(answer.status) \(answer.text.prefix(400))", sourceLocation: location)
        return answer
    }

    // MARK: - Steps

    private func browse() async throws {
        let brands = try await expectOK(
            client.find("Category", ["title": ["$regex": "^Brand "]], ["order": "title", "limit": 10]))
        #expect((1...10).contains(brands.results.count))
        #expect(brands.results.map { $0.text("title") } == brands.results.map { $0.text("title") }.sorted())

        var names: [String] = []
        for page in 0..<3 {
            let found = try await expectOK(
                client.find(
                    "Product", ["brand": shelf.pointer, "active": true],
                    ["order": "name", "limit": 20, "skip": .int(Int64(page) * 20)]))
            names += found.results.map { $0.text("name") }
        }
        #expect(names == shelf.names.sorted())

        let id = shelf.productIds[0]
        let product = try await expectOK(client.get("/classes/Product/\(id)", ["include": "brand"]))
        #expect(product.objectId == id)
        #expect(product.json.at("brand", "title")?.stringValue == shelf.title)
        #expect(product["unitPrice"]?.doubleValue == 3.5)
    }

    /// Part of the name or detail, in any letter case, with a price range, a brand and paging.
    private func search() async throws {
        let words: JSON = ["$regex": "\\QsErUm\\E", "$options": "i"]
        let condition: JSON = [
            "brand": shelf.pointer, "$or": [["name": words], ["detail": words]], "unitPrice": ["$gte": 4, "$lte": 15],
        ]
        let expected = shelf.names.enumerated().filter { $1.contains("Serum") && $0 % 3 == 1 }.map { $1 }.sorted()
        var found: [String] = []
        for skip in stride(from: 0, to: expected.count + 2, by: 2) {
            let page = try await expectOK(
                client.find("Product", condition, ["order": "name", "limit": 2, "skip": .int(Int64(skip)), "count": 1]))
            #expect(page["count"]?.intValue == Int64(expected.count))
            found += page.results.map { $0.text("name") }
        }
        #expect(found == expected)
        #expect(!expected.isEmpty)
    }

    /// The anonymous user fills the bag and signs up: the user and the bag remain the same.
    private mutating func signUpWithTheBagKept() async throws {
        try await expectOK(client.run("addToBag", ["productId": .string(shelf.productIds[0])]))
        let signUp = try await expectOK(
            client.call(
                .PUT, "/users/\(userId)",
                [
                    "username": .string(email), "email": .string(email), "password": .string(password),
                    "firstName": "Ada", "lastName": "Long",
                ]))
        if let token = signUp["sessionToken"]?.stringValue { client.sessionToken = token }

        var device = ParseClient(suite)
        let login = try await expectOK(
            device.call(.POST, "/login", ["username": .string(email), "password": .string(password)]))
        #expect(login.objectId == userId)
        #expect(login["password"] == nil)
        device.sessionToken = login["sessionToken"]?.stringValue
        client = device
        let me = try await expectOK(client.get("/users/me"))
        #expect(me.objectId == userId)
        #expect(me["email"] == .string(email))
        let bag = try await expectOK(client.run("bag")).result
        #expect(bag["badgeCount"]?.intValue == 1)
    }

    /// A repeated favourite creates no second row.
    private mutating func favourites() async throws {
        var ids: [String] = []
        for index in [0, 1, 1] {
            let favourite: JSON = ["customer": pointer, "product": .pointer("Product", shelf.productIds[index])]
            ids.append(try await expectOK(client.create("FavoriteProduct", favourite), 201).objectId)
        }
        #expect(ids[1] == ids[2])
        let list = try await expectOK(
            client.find("FavoriteProduct", ["customer": pointer], ["include": "product", "order": "-createdAt"]))
        #expect(list.results.map { $0.at("product", "name")?.stringValue } == [shelf.names[1], shelf.names[0]])
        try await expectOK(client.call(.DELETE, "/classes/FavoriteProduct/\(ids[0])"))
        let rest = try await expectOK(client.find("FavoriteProduct"))
        #expect(rest.results.map(\.objectId) == [ids[1]])
        favouriteId = ids[1]
    }

    /// The prices repeat 3.50, 12.00 and 18.25. The first product was added before the sign-up.
    private func fillTheBag() async throws {
        let ids = shelf.productIds.map(JSON.string)
        try await expectOK(client.run("addToBag", ["productId": ids[0]]))
        var bag = try await expectOK(client.run("addToBag", ["productId": ids[1], "quantity": 3])).result
        #expect(bag["badgeCount"]?.intValue == 5)
        #expect(bag["subtotalMinorUnits"]?.intValue == 4300)
        bag = try await expectOK(client.run("setBagQuantity", ["productId": ids[1], "quantity": 1])).result
        #expect(bag["subtotalMinorUnits"]?.intValue == 1900)
        try await expectOK(client.run("addToBag", ["productId": ids[2]]))
        bag = try await expectOK(client.run("setBagQuantity", ["productId": ids[2], "quantity": 0])).result
        #expect(bag["items"]?.arrayValue?.count == 2)
        let item = bag["items"]?.arrayValue?.first { $0.at("product", "objectId") == ids[0] }
        #expect(item?["quantity"]?.intValue == 2)
        #expect(item?["unitPriceMinorUnits"]?.intValue == 350)
        #expect(item?["lineTotalMinorUnits"]?.intValue == 700)
        #expect(item?.at("product", "name")?.stringValue == shelf.names[0])
        #expect(item?.at("product", "className")?.stringValue == "Product")
        #expect(bag["currency"] == "usd")
    }

    private func incompleteAddress() async throws {
        var address = Customer.address
        address["city"] = nil
        let refused = try await client.run("checkout", ["tokenId": "tok_visa", "shippingAddress": address])
        #expect(refused.status == 400)
        #expect(refused.code == 142)
        #expect(refused.json.text("error").contains("city"))
        #expect(refused.json.at("details", "missing") == ["city"])
    }

    private func declined() async throws {
        let refused = try await client.run(
            "checkout", ["tokenId": "tok_chargeDeclinedInsufficientFunds", "shippingAddress": Customer.address])
        #expect(refused.code == 141)
        #expect(refused.json.at("details", "decline_code") == "insufficient_funds")
        let bag = try await expectOK(client.run("bag")).result
        #expect(bag["badgeCount"]?.intValue == 3)
        let made = try await expectOK(client.find("Order", ["orderStatus": 1]))
        #expect(made.results.isEmpty)
    }

    private mutating func payWithASavedCard() async throws {
        let created = try await expectOK(
            client.run("createStripeCustomer", ["tokenId": "tok_visa", "customerEmail": .string(email)]))
        stripeCustomerId = created.result.stringValue ?? ""
        #expect(stripeCustomerId.hasPrefix("cus_"))
        let methods = try await expectOK(client.find("PaymentMethod")).results
        let method = try #require(methods.first)
        #expect(methods.count == 1)
        #expect(method.text("lastFourDigit") == "4242")
        #expect(method.text("type") == "Visa")
        #expect(method["default"] == true)
        paymentMethodId = method.objectId

        let parameters: JSON = [
            "paymentMethodId": .string(paymentMethodId), "idempotencyKey": .string("key-\(userId)"),
            "shippingAddress": Customer.address, "note": "Please ring <twice>", "amount": 1900,
        ]
        let paid = try await expectOK(client.run("checkout", parameters))
        let receipt = paid.result
        #expect(receipt["totalMinorUnits"]?.intValue == 1900)
        #expect(receipt["orderStatus"]?.intValue == 1)
        #expect((receipt["orderNo"]?.intValue ?? 0) > 1_000_000)
        #expect(receipt.at("shippingAddress", "city") == "Springfield")
        #expect(receipt["items"]?.arrayValue?.count == 2)
        for _ in 0..<3 {
            let again = try await client.run("checkout", parameters)
            #expect(again.status == 200)
            #expect(again.body == paid.body, "A repeated checkout answers byte for byte the same.")
        }
        let bag = try await expectOK(client.run("bag")).result
        #expect(bag["badgeCount"]?.intValue == 0)
        orders.append(receipt)
    }

    /// The app saves `Order` and `OrderItem` objects itself and then calls `chargeCustomer`.
    private mutating func payAsTheReferenceApp() async throws {
        let item = try await expectOK(
            client.create("OrderItem", ["quantity": 2, "product": .pointer("Product", shelf.productIds[2])]), 201)
        let order = try await expectOK(
            client.create(
                "Order",
                [
                    "customer": pointer, "orderStatus": 0, "items": [.pointer("OrderItem", item.objectId)],
                    "shippingAddress": Customer.address,
                ]), 201)
        let bag = try await expectOK(client.run("bag")).result
        #expect(bag["subtotalMinorUnits"]?.intValue == 3650)
        #expect(bag.text("orderId") == order.objectId)
        let parameters: JSON = [
            "orderId": .string(order.objectId), "customerId": .string(stripeCustomerId), "chargeAmount": 3650,
        ]
        let receipt = try await expectOK(client.run("chargeCustomer", parameters)).result
        #expect(receipt["totalMinorUnits"]?.intValue == 3650)
        let again = try await expectOK(client.run("chargeCustomer", parameters)).result
        #expect(again["orderNo"] == receipt["orderNo"])
        #expect(again["stripePaymentId"] == receipt["stripePaymentId"])
        orders.append(receipt)
    }

    private func orderMail() async throws {
        for receipt in orders {
            let number = String(receipt["orderNo"]?.intValue ?? 0)
            func mine() -> [Mail] {
                suite.mails().filter { $0.header("To")?.contains(email) == true && $0.text.contains(number) }
            }
            try await eventually("the mail of order \(number) is in the spool") { !mine().isEmpty }
            let mails = mine()
            #expect(mails.count == 1)
            let mail = try #require(mails.first)
            #expect(mail.source.lowercased().contains("text/plain"))
            #expect(mail.source.lowercased().contains("text/html"))
            if receipt["orderNo"] == orders[0]["orderNo"] {
                #expect(mail.text.contains("<twice>"), "text plain, HTML escaped")
                #expect(mail.text.contains("&lt;twice&gt;"), "text plain, HTML escaped")
            }
            for name in (receipt["items"]?.arrayValue ?? []).map({ $0.text("name") }) {
                #expect(mail.text.contains(name))
            }
        }
    }

    private func history() async throws {
        let made = try await expectOK(
            client.find(
                "Order", ["customer": pointer, "orderStatus": 1],
                ["order": "-orderNo", "limit": 10, "include": "items,items.product,items.product.brand"]))
        #expect(made.results.map { $0["orderNo"] } == orders.reversed().map { $0["orderNo"] })
        for (order, receipt) in zip(made.results, orders.reversed()) {
            #expect(order["total"] == receipt["totalMinorUnits"])
            #expect(order["stripePaymentId"] == receipt["stripePaymentId"])
            #expect(order.at("orderDate", "__type") == "Date")
            for item in try #require(order["items"]?.arrayValue) {
                #expect((item["quantity"]?.intValue ?? 0) > 0)
                #expect(shelf.names.contains(item.at("product", "name")?.stringValue ?? ""))
                #expect(item.at("product", "brand", "title")?.stringValue == shelf.title)
            }
        }
        let charges = try await suite.rows(
            "payments",
            "SELECT orderId, count(*) FROM charges WHERE userId = '\(userId)' AND state = 'succeeded' GROUP BY 1")
        #expect(charges.count == orders.count)
        for charge in charges { #expect(charge.at(1)?.intValue == 1, "charged once: \(charge.serializedText)") }
    }
}
