import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A customer's session from the first start of the app to the logout, with each request in an SDK's form.
struct ShoppingSession<SDK: ReplayedSDK> {
    private var sdk: SDK
    private let shelf: Shelf
    private let email = "\(Names.random(10).lowercased())@handsets.example"
    private let password = Names.random(12)

    private init(_ sdk: SDK, _ shelf: Shelf) { (self.sdk, self.shelf) = (sdk, shelf) }

    static func run(_ sdk: SDK, in suite: Suite) async throws {
        let names = (0..<25).map { "\($0 % 5 == 1 ? "Serum" : "Balm") \(Names.random(6))" }
        var session = ShoppingSession(sdk, try await Shelf.fill(suite, names: names))
        try await session.start()
        try await session.browse()
        try await session.search()
        try await session.becomeACustomer()
        try await session.keepAFavourite()
        try await session.buyThroughFunctions()
        try await session.buyThroughObjects()
        try await session.lookBack()
        try await session.leave()
    }

    static var address: String {
        #"""
        {"firstName":"Ada","lastName":"Long","phone":"555-0100","address1":"1 Main St","city":"Springfield",\#
        "state":"IL","zipcode":"62701"}
        """#
    }

    private var brand: (key: String, value: String) { ("brand", SDK.pointer("Category", shelf.brandId)) }

    @discardableResult
    private func expect(
        _ status: Int, _ answer: Wire.Answer, at location: SourceLocation = #_sourceLocation
    ) throws -> Wire.Answer {
        try #require(answer.status == status, "\(answer.head) \(answer.text)", sourceLocation: location)
        return answer
    }

    private mutating func start() async throws {
        let device = try expect(201, try await sdk.saveInstallation())
        #expect(!device.json.objectId.isEmpty)
        #expect(try expect(200, try await sdk.config()).json["params"]?.objectValue != nil)
        try expect(200, try await sdk.opened())
        try await sdk.begin()
    }

    /// Brands by title, ten at a time; then the products of one brand by name.
    private func browse() async throws {
        var titles: [String] = []
        for skip in [0, 10] {
            let page = try expect(
                200, try await sdk.find("Category", SDKQuery(order: "title", limit: 10, skip: skip)))
            #expect(page.results.count <= 10, "\(page.text)")
            titles += page.results.map { $0.text("title") }
        }
        #expect(!titles.isEmpty, "\(titles)")
        #expect(titles == titles.sorted(), "\(titles)")
        let products = SDKQuery(conditions: [brand, ("active", "true")], order: "name", limit: 20)
        var names: [String] = []
        for skip in [0, 20] {
            var query = products
            query.skip = skip
            names += try expect(200, try await sdk.find("Product", query)).results.map { $0.text("name") }
        }
        #expect(names == shelf.names.sorted())
        var counted = products
        counted.limit = nil
        #expect(try expect(200, try await sdk.count("Product", counted)).json["count"] == 25)
        var one = products
        (one.limit, one.include, one.keys) = (1, "brand", "name,brand")
        let first = try expect(200, try await sdk.find("Product", one))
        #expect(first.results.first?.at("brand", "title") == .string(shelf.title), "\(first.text)")
        #expect(first.results.first?["unitPrice"] == nil, "Only the chosen keys: \(first.text)")
    }

    /// Words in any letter case, a price range, a brand.
    private func search() async throws {
        let words = #"{"$regex":"\\Qserum\\E","$options":"i"}"#
        let query = SDKQuery(
            conditions: [
                brand, ("$or", #"[{"name":\#(words)},{"detail":\#(words)}]"#), ("unitPrice", #"{"$gte":4,"$lte":15}"#),
            ], order: "name", limit: 10)
        let expected = shelf.names.indices.filter { $0 % 5 == 1 && $0 % 3 == 1 }.map { shelf.names[$0] }
        let found = try expect(200, try await sdk.find("Product", query))
        #expect(found.results.map { $0.text("name") } == expected.sorted(), "\(found.text)")
    }

    /// Signs up and checks that the anonymous user's bag remains.
    private mutating func becomeACustomer() async throws {
        let wasKnown = !sdk.session.isEmpty
        let item = #"{"productId":"\#(shelf.productIds[0])"}"#
        if wasKnown { try expect(200, try await sdk.function("addToBag", item)) }
        let signUp = try await sdk.signUp(email, password)
        #expect(signUp.status == (wasKnown ? 200 : 201), "\(signUp.text)")
        sdk.become(signUp)
        try #require(!sdk.session.isEmpty, "\(signUp.text)")
        try #require(!sdk.userId.isEmpty, "\(signUp.text)")
        #expect(try expect(200, try await sdk.me()).json["username"] == .string(email))
        if !wasKnown { try expect(200, try await sdk.function("addToBag", item)) }
        #expect(try expect(200, try await sdk.function("bag", "{}")).json.at("result", "badgeCount") == 1)
    }

    private func keepAFavourite() async throws {
        let product = SDK.pointer("Product", shelf.productIds[1])
        let members = #""customer":\#(sdk.userPointer),"product":\#(product)"#
        let first = try expect(201, try await sdk.create("FavoriteProduct", members))
        #expect(try await sdk.create("FavoriteProduct", members).json.objectId == first.json.objectId)
        let list = try expect(
            200,
            try await sdk.find(
                "FavoriteProduct",
                SDKQuery(conditions: [("customer", sdk.userPointer)], order: "-createdAt", include: "product")))
        #expect(list.results.map { $0.at("product", "name") } == [.string(shelf.names[1])], "\(list.text)")
        try expect(200, try await sdk.delete("FavoriteProduct", first.json.objectId))
    }

    private func buyThroughFunctions() async throws {
        let key = Names.random(20)
        let order = #"{"tokenId":"tok_visa","idempotencyKey":"\#(key)","shippingAddress":\#(Self.address)}"#
        let receipt = try expect(200, try await sdk.function("checkout", order))
        #expect(receipt.json.at("result", "totalMinorUnits") == 350, "\(receipt.text)")
        #expect(try await sdk.function("checkout", order).text == receipt.text, "A repeated checkout is the same one.")
    }

    /// As the reference app does: an OrderItem, an Order with an array of pointers, a stored card.
    private func buyThroughObjects() async throws {
        let card = try expect(
            200, try await sdk.function("createStripeCustomer", #"{"tokenId":"tok_visa","customerEmail":"\#(email)"}"#))
        let customer = card.json.text("result")
        let product = SDK.pointer("Product", shelf.productIds[2])
        let item = try expect(201, try await sdk.create("OrderItem", #""quantity":2,"product":\#(product)"#))
        let items = "[\(SDK.pointer("OrderItem", item.json.objectId))]"
        let order = try expect(
            201,
            try await sdk.create(
                "Order",
                #""customer":\#(sdk.userPointer),"orderStatus":0,"items":\#(items),"shippingAddress":\#(Self.address)"#)
        )
        try expect(
            200,
            try await sdk.function(
                "chargeCustomer", #"{"orderId":"\#(order.json.objectId)","customerId":"\#(customer)"}"#))
    }

    private func lookBack() async throws {
        let history = try expect(
            200,
            try await sdk.find(
                "Order",
                SDKQuery(
                    conditions: [("customer", sdk.userPointer), ("orderStatus", "1")], order: "-orderNo", limit: 10,
                    include: "items.product.brand")))
        #expect(history.results.map { $0["total"] } == [3650, 350], "\(history.text)")
        for order in history.results {
            #expect(order.at("items", 0, "product", "brand", "title") == .string(shelf.title), "\(history.text)")
        }
    }

    private mutating func leave() async throws {
        let ended = sdk.session
        try expect(200, try await sdk.logOut())
        #expect(try await sdk.me().json["code"] == 209)
        sdk.session = ""
        let wrong = try await sdk.logIn(email, "not-\(password)")
        #expect(wrong.status == 404, "\(wrong.text)")
        #expect(wrong.code == 101, "\(wrong.text)")
        let login = try expect(200, try await sdk.logIn(email, password))
        #expect(login.json.objectId == sdk.userId, "\(login.text)")
        #expect(login.json.text("sessionToken").hasPrefix("r:"), "\(login.text)")
        #expect(login.json["sessionToken"] != .string(ended))
    }
}
