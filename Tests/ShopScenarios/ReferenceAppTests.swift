import ParseProtocol
import TestSupport
import Testing

/// The reference app, screen by screen, with its own calls and in its SDK's form: a cosmetics shop on an iPhone,
/// written for hosted Parse. Only its URL was changed for Satchel.
@Suite struct ReferenceAppTests {
    /// A brand with 23 products, two pages.
    private static func shelf(_ suite: Suite) async throws -> Shelf {
        try await Shelf.fill(
            suite, names: (1...23).map { "\($0 % 2 == 0 ? "Serum" : "Comb") \($0 < 10 ? "0" : "")\($0)" },
            detail: "For the reference app.")
    }

    private static func signedUp(_ suite: Suite) async throws -> (app: ReferenceApp, userId: String, email: String) {
        var app = ReferenceApp(suite)
        let userId = try await app.start()
        let email = "\(Names.random(10).lowercased())@reference.example"
        try await app.signUp(userId, email: email, password: Names.random(12))
        return (app, userId, email)
    }

    private static func pointers(_ ids: String...) -> JSON { .array(ids.map { .pointer("OrderItem", $0) }) }

    /// Puts two pieces of a product into the bag as the app does: it searches for the open order and creates it if
    /// there is none.
    private static func fillBag(_ app: ReferenceApp, _ userId: String, product: String) async throws -> String {
        let open: JSON = ["customer": .pointer("_User", userId), "orderStatus": 0]
        let item = try await app.create("OrderItem", ["quantity": 1, "product": .pointer("Product", product)])
        if let order = try await app.first("Order", where: open) {
            _ = try await app.update(
                "Order", order.objectId, ["items": ["__op": "AddUnique", "objects": pointers(item)]])
        } else {
            _ = try await app.create(
                "Order",
                ["customer": .pointer("_User", userId), "orderStatus": 0, "items": pointers(item)])
        }
        _ = try await app.update("OrderItem", item, ["quantity": ["__op": "Increment", "amount": 1]])
        return try #require(await app.first("Order", where: open)).objectId
    }

    // MARK: - Shop

    @Test func theShopShowsBrandsAndTheirProducts() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        var app = ReferenceApp(suite)
        _ = try await app.start()
        let brands = try await app.find("Category", order: "title", limit: 10)
        #expect((1...10).contains(brands.count))
        let brand = try await app.first("Category", where: ["title": .string(shelf.title)])
        #expect(brand?.objectId == shelf.brandId)

        let condition: JSON = ["brand": shelf.pointer]
        let pages = try await app.pages("Product", where: condition, order: "name", perPage: 20)
        #expect(pages.map(\.count) == [20, 3])
        #expect(pages.joined().map { $0.text("name") } == shelf.names.sorted())
        // A page that ends exactly at the last row is followed by an empty one.
        let found: JSON = ["brand": shelf.pointer, "name": ["$regex": "\\QSerum\\E", "$options": "i"]]
        #expect(try await app.pages("Product", where: found, order: "name", perPage: 11).map(\.count) == [11, 0])
        #expect(try await app.count("Product", where: condition) == 23)
    }

    @Test func aSearchFindsPartsOfNamesBetweenPrices() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        let app = ReferenceApp(suite)
        let words: JSON = ["$regex": "\\QsErUm\\E", "$options": "i"]
        let found = try await app.find(
            "Product",
            where: [
                "brand": shelf.pointer, "$or": [["name": words], ["detail": words]],
                "unitPrice": ["$gte": 4, "$lte": 15],
            ], order: "name", limit: 20)
        let expected = shelf.names.enumerated().filter { $0 % 3 == 1 && $1.hasPrefix("Serum") }.map { $1 }
        #expect(found.map { $0.text("name") } == expected.sorted())
        #expect(!expected.isEmpty)
        // Products of brands that match a name: the sub-query's options are strings too.
        let inner: JSON = [
            "className": "Category", "where": ["title": .string(shelf.title)], "limit": "5", "skip": "0",
        ]
        #expect(try await app.find("Product", where: ["brand": ["$inQuery": inner]], limit: 100).count == 23)
    }

    @Test func aProductShowsItsBrandAndReviews() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        let (app, userId, email) = try await Self.signedUp(suite)
        let id = shelf.productIds[0]
        let product = try await app.first("Product", where: ["objectId": .string(id)], include: "brand")
        #expect(product?.at("brand", "title") == .string(shelf.title))
        #expect(product?["unitPrice"] == 3.5)

        _ = try await app.update("_User", userId, ["displayName": "Ann of Springfield", "phone": "555 0100"])
        _ = try await app.create(
            "ProductReview",
            ["user": .pointer("_User", userId), "product": .pointer("Product", id), "content": "Lovely"])
        // All users see the author's displayed name, and no other data.
        let stranger = ReferenceApp(suite)
        let reviews = try await stranger.find(
            "ProductReview", where: ["product": .pointer("Product", id)], order: "-createdAt", limit: 10,
            include: "user")
        #expect(reviews.count == 1)
        #expect(reviews.first?["authorName"] == "Ann of Springfield")
        #expect(reviews.first?["content"] == "Lovely")
        #expect(!JSON.array(reviews).serializedText.contains(email))
        #expect(!JSON.array(reviews).serializedText.contains("555 0100"))
        #expect(try await stranger.find("_User", where: ["objectId": .string(userId)]).isEmpty)
    }

    @Test func aFavouriteIsMarkedListedAndRemoved() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        let (app, userId, _) = try await Self.signedUp(suite)
        let me = JSON.pointer("_User", userId)
        for product in shelf.productIds.prefix(2) {
            let pair: JSON = ["customer": me, "product": .pointer("Product", product)]
            // The heart on the product screen: is the product already a favourite?
            #expect(try await app.first("FavoriteProduct", where: pair) == nil)
            _ = try await app.create("FavoriteProduct", pair)
            #expect(try await app.first("FavoriteProduct", where: pair) != nil)
        }
        let pages = try await app.pages(
            "FavoriteProduct", where: ["customer": me], order: "-createdAt", perPage: 1, include: "product")
        #expect(pages.map(\.count) == [1, 1, 0])
        #expect(pages.joined().map { $0.at("product", "name")?.stringValue } == [shelf.names[1], shelf.names[0]])
        let first = try #require(pages.first?.first)
        #expect(try await app.delete("/classes/FavoriteProduct/\(first.objectId)").status == 200)
        #expect(try await app.count("FavoriteProduct", where: ["customer": me]) == 1)
    }

    // MARK: - Bag and checkout

    @Test func aBagBecomesAnOrderThatStaysInTheHistory() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        var app = ReferenceApp(suite)
        let userId = try await app.start()
        let me = JSON.pointer("_User", userId)
        let orderId = try await Self.fillBag(app, userId, product: shelf.productIds[0])
        let email = "\(Names.random(10).lowercased())@reference.example"
        try await app.signUp(userId, email: email, password: Names.random(12))

        let bag = try await app.first(
            "Order", where: ["customer": me, "orderStatus": 0], include: "items,items.product")
        #expect(bag?.objectId == orderId)
        #expect(bag?.at("items", 0, "quantity") == 2)
        #expect(bag?.at("items", 0, "product", "name") == .string(shelf.names[0]))

        // The account's address, as the contact form saves it; gender is the selected segment.
        var contact = Customer.address
        contact["gender"] = 1
        _ = try await app.update("_User", userId, contact)
        let customer = try await app.call(
            "createStripeCustomer", ["tokenId": "tok_visa", "customerEmail": .string(email)])
        let method = try #require(await app.first("PaymentMethod", where: ["owner": me]))
        #expect(method["lastFourDigit"] == "4242")
        #expect(method["stripeCustomerId"] == customer)
        let charged = try await app.call(
            "chargeCustomer", ["orderId": .string(orderId), "customerId": customer, "chargeAmount": 700])
        #expect(charged["paid"] == true)
        #expect(charged["amount"] == 700)
        #expect(charged["id"] == charged["stripePaymentId"])

        func history() async throws -> [JSON] {
            try await app.pages(
                "Order", where: ["customer": me, "orderStatus": 1], order: "-orderNo", perPage: 10,
                include: "items,items.product"
            ).flatMap(\.self)
        }
        #expect(try await history().map(\.objectId) == [orderId])
        #expect(try await app.first("Order", where: ["customer": me, "orderStatus": 0]) == nil)

        // Older cloud code returned the charge's id; a repetition returns the same charge.
        let text = try await app.call(
            "chargeCustomer", ["orderId": .string(orderId), "customerId": customer, "answer": "text"])
        #expect(text == charged["id"])

        let admin = try await Customer.admin(suite)
        #expect(try await admin.run("shipOrder", ["orderId": .string(orderId)]).status == 200)
        let shipped = try await history()
        #expect(shipped.map(\.objectId) == [orderId])
        #expect(shipped.first?["orderStatus"] == 1)
        #expect(shipped.first?["orderState"] == "shipped")
        #expect(shipped.first?.at("shippedAt", "__type") == "Date")
        #expect(try await admin.run("refundOrder", ["orderId": .string(orderId), "amount": 100]).status == 200)
        #expect(try await history().first?["orderState"] == "shipped")
        #expect(try await history().first?["paymentStatus"] == "partiallyRefunded")
        #expect(try await admin.run("refundOrder", ["orderId": .string(orderId)]).status == 200)
        #expect(try await history().first?["orderState"] == "refunded")
        let listed = try await admin.run("orders", ["status": "refunded", "limit": 100])
        #expect(listed.results(of: "results").contains { $0.objectId == orderId }, "\(listed.text.prefix(500))")
    }

    @Test func aCancelledOrderStaysInTheHistory() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        let (app, userId, _) = try await Self.signedUp(suite)
        let orderId = try await Self.fillBag(app, userId, product: shelf.productIds[0])
        _ = try await app.call(
            "ChargeToken",
            ["chargeToken": "tok_visa", "orderId": .string(orderId), "shippingAddress": Customer.address])
        _ = try await app.call("cancelOrder", ["orderId": .string(orderId)])
        let history = try await app.find(
            "Order", where: ["customer": .pointer("_User", userId), "orderStatus": 1], order: "-orderNo", limit: 10)
        #expect(history.map(\.objectId) == [orderId])
        #expect(history.first?["orderState"] == "cancelled")
        #expect(history.first?.at("cancelledAt", "__type") == "Date")
    }

    // MARK: - Apple Pay

    /// Without a stored address or one in the account: an anonymous customer pays with the address of the payment
    /// sheet.
    @Test(arguments: ["ChargeToken", "chargeToken"]) func applePayBringsTheAddress(function: String) async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        var app = ReferenceApp(suite)
        let userId = try await app.start()
        let orderId = try await Self.fillBag(app, userId, product: shelf.productIds[0])
        let email = "\(Names.random(10).lowercased())@sheet.example"
        let paid = try await app.call(
            function,
            [
                "chargeToken": "tok_visa", "orderId": .string(orderId),
                "shippingContact": [
                    "name": ["givenName": "Ada", "familyName": "Long"], "emailAddress": .string(email),
                    "postalAddress": ["street": "1 Main Street", "city": "Springfield", "postalCode": "62701"],
                ],
            ])
        #expect(paid["orderStatus"] == 1)
        #expect(paid.at("shippingAddress", "address1") == "1 Main Street")
        #expect(try await app.first("Order", where: ["objectId": .string(orderId)])?["email"] == .string(email))
        try await eventually("the confirmation is in the spool", within: .seconds(20)) {
            suite.mails().contains {
                $0.header("To")?.contains(email) == true && $0.text.contains("Hello Ada Long,")
            }
        }
    }

    /// The app's own call: only the token and the order.
    @Test func applePayNeedsNoAddressAtAll() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        var app = ReferenceApp(suite)
        let userId = try await app.start()
        let orderId = try await Self.fillBag(app, userId, product: shelf.productIds[0])
        let paid = try await app.call(
            "ChargeToken", ["chargeToken": "tok_visa", "orderId": .string(orderId), "answer": "text"])
        let order = try #require(await app.first("Order", where: ["objectId": .string(orderId)]))
        #expect(paid == order["stripePaymentId"])
        #expect(order["orderStatus"] == 1)
        #expect(order["shippingAddress"] == nil)
    }

    /// The same call by a customer with a stored address: the account's, else the default of the address book.
    @Test(arguments: ["_User", "Address"]) func applePayTakesTheCustomersAddress(from className: String) async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        let (app, userId, _) = try await Self.signedUp(suite)
        if className == "_User" {
            _ = try await app.update(className, userId, Customer.address)
        } else {
            _ = try await app.create(className, Customer.address)
        }
        let orderId = try await Self.fillBag(app, userId, product: shelf.productIds[0])
        _ = try await app.call("ChargeToken", ["chargeToken": "tok_visa", "orderId": .string(orderId)])
        let order = try #require(await app.first("Order", where: ["objectId": .string(orderId)]))
        #expect(order.at("shippingAddress", "address1") == "1 Main Street", "\(order)")
    }

    // MARK: - Account, admin, promotion

    @Test func theAccountKeepsWhatItsFormSaves() async throws {
        let suite = try await Suite.shared
        let (app, userId, email) = try await Self.signedUp(suite)
        for gender in [0, 1, "female", 2] as [JSON] {
            _ = try await app.update("_User", userId, ["gender": gender, "firstName": "Ada", "name": "Ada Long"])
            let me = try await app.first("_User", where: ["objectId": .string(userId)])
            #expect(me?["gender"] == gender)
            #expect(me?["email"] == .string(email))
            let wanted: JSON = ["gender": gender, "objectId": .string(userId)]
            #expect(try await app.count("_User", where: wanted) == 1)
            #expect(try await app.find("_User", where: ["objectId": .string(userId)], order: "gender").count == 1)
        }
        let strange = try await app.send("PUT", "/classes/_User/\(userId)", ["gender": true])
        #expect(strange.code == 111, "\(strange.text)")
        let wrong = try await ReferenceApp(suite).send(
            "POST", "/login", ["username": .string(email), "password": "wrong", "_method": "GET"])
        #expect(wrong.code == 101)
    }

    @Test func theShopGetsACopyAndMayAnswerWithText() async throws {
        try await Suite.with(settings: [
            "SATCHEL_ORDER_COPY_TO": "orders@shop.example", "SATCHEL_CHARGE_ANSWER": "text",
            "SATCHEL_PUBLIC_USERS": "true", "SATCHEL_PUBLIC_USER_FIELDS": "displayName, name, username",
        ]) { suite in
            let shelf = try await Self.shelf(suite)
            let (app, userId, email) = try await Self.signedUp(suite)
            _ = try await app.update("_User", userId, ["name": "Ada Long"])
            let orderId = try await Self.fillBag(app, userId, product: shelf.productIds[0])
            let token: JSON = ["chargeToken": "tok_visa", "orderId": .string(orderId)]
            let paid = try await app.call("ChargeToken", token)
            let order = try #require(await app.first("Order", where: ["objectId": .string(orderId)]))
            #expect(paid == order["stripePaymentId"])
            try await eventually("the shop has its copy", within: .seconds(20)) {
                let mails = suite.mails().filter { $0.text.contains(String(order["orderNo"]?.intValue ?? 0)) }
                return [email, "orders@shop.example"].allSatisfy { to in
                    mails.contains { $0.header("To")?.contains(to) == true }
                }
            }
            // As on hosted Parse, the author of a review is a readable object.
            _ = try await app.create(
                "ProductReview", ["product": .pointer("Product", shelf.productIds[0]), "content": "Lovely"])
            let reviews = try await ReferenceApp(suite).find("ProductReview", limit: 10, include: "user")
            #expect(reviews.first?.at("user", "name") == "Ada Long")
            #expect(reviews.first?.at("user", "email") == nil)
            #expect(reviews.first?.at("user", "username") == nil, "It is the e-mail address.")
            #expect(!JSON.array(reviews).serializedText.contains(email))
            #expect(reviews.first?.at("user", "authData") == nil)
        }
    }

    @Test func aPromotionOpensFromItsPush() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let content = "Two for one \(Names.random(6))"
        let made = try await admin.create("Promotion", ["content": .string(content)])
        let app = ReferenceApp(suite)
        let opened = try await app.first("Promotion", where: ["objectId": .string(made.objectId)])
        #expect(opened?["content"] == .string(content))
        let event = try await app.send("POST", "/events/AppOpened", ["at": Timestamp.now.wire, "push_hash": "0123"])
        #expect(event.status == 200)
    }
}

extension ParseClient.Answer {
    /// An array in the result of a function.
    fileprivate func results(of name: String) -> [JSON] { result[name]?.arrayValue ?? [] }
}
