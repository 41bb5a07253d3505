import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The reference app as published, whose calls differ from its printed source: a complete session, screen by screen.
/// Once in a suite without cloud code in which only Facebook's address is set, and once with the functions of the app's
/// published cloud code.
@Suite struct PublishedAppTests {
    private static let contact: JSON = [
        "firstName": "Ada", "lastName": "Long", "address1": "1 Main Street", "city": "Springfield", "zipcode": "62701",
        "state": "IL",
    ]

    private static func me(_ userId: String) -> JSON { .pointer("_User", userId) }

    private static func open(_ userId: String) -> JSON { ["customer": me(userId), "orderStatus": 0] }

    /// `onBag:` of the product screen for a customer without a bag: first the line, then the order.
    private static func fillBag(_ app: ReferenceApp, _ userId: String, product: String) async throws -> String {
        #expect(try await app.find("Order", where: open(userId), limit: 1, include: "items.product").isEmpty)
        let line: JSON = ["quantity": 1, "product": .pointer("Product", product)]
        let items = try await app.batch([["method": "POST", "path": "/parse/classes/OrderItem", "body": line]])
        var order = open(userId)
        order["items"] = .array(items.map { .pointer("OrderItem", $0) })
        let id = try await app.create("Order", order)
        // The same product again: the app saves the line and the whole list again.
        _ = try await app.batch([
            ["method": "PUT", "path": .string("/parse/classes/OrderItem/\(items[0])"), "body": ["quantity": 2]]
        ])
        _ = try await app.update("Order", id, ["items": order["items"] ?? []])
        let bag = try #require(await app.first("Order", where: open(userId), include: "items.product"))
        #expect(bag.at("items", 0, "quantity") == 2)
        #expect(bag.at("items", 0, "product", "objectId") == .string(product))
        return id
    }

    private static func history(_ app: ReferenceApp, _ userId: String) async throws -> [JSON] {
        try await app.find(
            "Order", where: ["customer": me(userId), "orderStatus": 1], order: "-createdAt", limit: 10,
            include: "items.product")
    }

    /// What the app does with a card: it creates a customer at the provider, and a PaymentMethod with the form's data.
    private static func addCard(_ app: ReferenceApp, _ userId: String, email: String) async throws -> JSON {
        let customer = try await app.call(
            "createStripeCustomer", ["tokenId": "tok_visa", "customerEmail": .string(email)])
        _ = try await app.create(
            "PaymentMethod",
            [
                "owner": me(userId), "stripeCustomerId": customer, "expirationMonth": 8, "expirationYear": 2030,
                "type": "Visa", "lastFourDigit": "4242",
            ])
        #expect(try await app.find("PaymentMethod", where: ["owner": me(userId)], order: "-createdAt").count == 1)
        return customer
    }

    /// Sign-up, log-in, browsing, a favourite, the bag, the address and both kinds of payment.
    /// - Parameter charge: pays a bag with the customer at the provider.
    private static func shop(
        in suite: Suite,
        charge: (_ app: ReferenceApp, _ orderId: String, _ customer: JSON) async throws -> Void
    ) async throws {
        let shelf = try await Shelf.fill(suite, names: ["Rose Serum", "Comb", "Soap"])
        var app = ReferenceApp(suite)
        let installation: JSON = [
            "deviceType": "ios", "installationId": .string(app.installationId), "timeZone": "America/Los_Angeles",
            "deviceToken": .string(String(repeating: "0a", count: 32)), "badge": 0, "channels": ["global"],
        ]
        #expect(try await app.send("POST", "/classes/_Installation", installation).status == 201)
        #expect(try await app.send("POST", "/events/AppOpened", ["at": Timestamp.now.wire]).status == 200)

        let email = "\(Names.random(10).lowercased())@published.example"
        let credentials: JSON = ["username": .string(email), "email": .string(email), "password": "secret6"]
        let signUp = try await app.send("POST", "/users", credentials)
        #expect(signUp.status == 201, "\(signUp.text)")
        let userId = signUp.objectId
        try await app.logIn(email, password: "secret6")

        #expect(try await app.find("Category", order: "title", limit: 100).map(\.objectId).contains(shelf.brandId))
        let found = try await app.find(
            "Product", where: ["brand": shelf.pointer, "name": ["$regex": "\\QSerum\\E"]], order: "name", limit: 20)
        #expect(found.map(\.objectId) == [shelf.productIds[0]])
        let range: JSON = ["$gte": 3, "$lte": 13]
        #expect(try await app.find("Product", where: ["brand": shelf.pointer, "unitPrice": range]).count == 2)
        let product = shelf.productIds[0]
        _ = try await app.create(
            "FavoriteProduct", ["customer": me(userId), "product": .pointer("Product", product)])
        let favorites = try await app.find(
            "FavoriteProduct", where: ["customer": me(userId)], order: "-createdAt", include: "product")
        #expect(favorites.map { $0.at("product", "name") } == ["Rose Serum"])

        let first = try await fillBag(app, userId, product: product)
        _ = try await app.update("_User", userId, contact)
        let customer = try await addCard(app, userId, email: email)
        _ = try await app.update("Order", first, ["customerNote": "Ring twice"])
        try await charge(app, first, customer)
        let made = try #require(await history(app, userId).first)
        #expect(made.objectId == first)
        #expect((made["orderNo"]?.intValue ?? 0) > 1_000_000, "\(made)")
        #expect(made["note"] == "Ring twice")

        let second = try await fillBag(app, userId, product: product)
        _ = try await app.call("ChargeToken", ["chargeToken": "tok_visa", "orderId": .string(second)])
        let all = try await history(app, userId)
        #expect(all.map(\.objectId) == [second, first])
        #expect(all[0].at("items", 0, "product", "name") == "Rose Serum")
        #expect(try await app.find("Order", where: open(userId)).isEmpty)
        try await eventually("both confirmations are in the spool", within: .seconds(20)) {
            suite.mails().filter { $0.header("To")?.contains(email) == true }.count >= 2
        }

        // When a product is deleted, its name is stored in the lines of orders and bags, whichever client created them.
        let third = try await fillBag(app, userId, product: shelf.productIds[1])
        let master = ParseClient.master(suite)
        for id in shelf.productIds.prefix(2) {
            #expect(try await master.call(.DELETE, "/classes/Product/\(id)").status == 200)
        }
        try await eventually("the lines have the names", within: .seconds(20)) {
            let orders = try await app.find(
                "Order", where: ["customer": me(userId)], order: "-createdAt", include: "items")
            return orders.map { $0.at("items", 0, "name") } == ["Comb", "Rose Serum", "Rose Serum"]
                && orders.first?.objectId == third
        }
    }

    /// The profile that the app saves for a Facebook user: gender is a string, and the e-mail address may be missing.
    private static func signInByFacebook(_ suite: Suite) async throws {
        let people: [(id: String, address: String?)] = [
            ("40001", "fb-\(Names.random(6).lowercased())@published.example"), ("40002", nil),
        ]
        for (id, address) in people {
            var app = ReferenceApp(suite)
            let authData: JSON = ["facebook": ProviderSuite.facebook(id)]
            let user = try await app.send("POST", "/users", ["authData": authData])
            #expect(user.status == 201, "\(user.text)")
            app.sessionToken = user["sessionToken"]?.stringValue
            let saved = try await app.update(
                "_User", user.objectId,
                [
                    "email": address.map(JSON.string) ?? ["__op": "Delete"], "name": "Ada Long", "gender": "female",
                    "username": .string(address ?? "Ada Long \(id)"), "authData": authData,
                ])
            if let token = saved["sessionToken"]?.stringValue { app.sessionToken = token }
            let photo = try await ParseClient(suite).send(
                .POST, "/files/avatar.jpg",
                headers: [
                    ("X-Parse-Application-Id", "satchel"), ("X-Parse-Session-Token", app.sessionToken ?? ""),
                    ("Content-Type", "image/jpeg"),
                ], body: [0xFF, 0xD8, 0xFF, 0xD9])
            let file: JSON = ["__type": "File", "name": photo["name"] ?? .null, "url": photo["url"] ?? .null]
            _ = try await app.update("_User", user.objectId, ["photo": file, "authData": authData])
            let me = try #require(await app.first("_User", where: ["objectId": .string(user.objectId)]))
            #expect(me["gender"] == "female")
            #expect(me["email"]?.stringValue == address)
            #expect(me.at("photo", "name") == photo["name"])
        }
    }

    @Test(.timeLimit(.minutes(5))) func itsWholeSessionWorksWithoutCloudCode() async throws {
        try await ProviderSuite.with { suite, _ in
            try await Self.signInByFacebook(suite)
            try await Self.shop(in: suite) { app, orderId, customer in
                let order: JSON = ["orderId": .string(orderId), "customerId": customer]
                let paid = try await app.call("Charge", order)
                #expect(paid["amount"] == 700)
                // The other name calls the same function: the order was paid.
                var again = order
                again["itemDesc"] = "2 Rose Serum"
                #expect(try await app.call("ChargeCustomer", again)["id"] == paid["id"])
                let charged = try #require(await app.first("Order", where: ["objectId": .string(orderId)]))
                #expect(charged.at("shippingAddress", "address1") == "1 Main Street")
            }
            // The parameter names of the published cloud code.
            let other = try await Customer.signUp(suite)
            let card = try await other.client.run(
                "createStripeCustomer", ["token": "tok_visa", "email": .string(other.email)])
            #expect(card.result.stringValue?.hasPrefix("cus_") == true, "\(card.text)")
            let none = try await other.client.run("createStripeCustomer", ["email": .string(other.email)])
            #expect(none.code == 142)
        }
    }

    /// The functions of the published cloud code, corrected: the card is stored for its user, the paid order is the
    /// caller's open one, and the amount is an integer in cents.
    private static let code = """
        var Stripe = require('stripe');
        var Mailgun = require('mailgun');
        Stripe.initialize('sk_test_of_the_code');
        Mailgun.initialize('shop.example', 'key-1');

        function failed(response) {
          return function (error) { response.error(error.message || error.text); };
        }

        Parse.Cloud.define('createStripeCustomer', function (request, response) {
          var card = request.params.token || request.params.tokenId;
          Stripe.Customers.create({ card: card, email: request.params.email || request.params.customerEmail })
            .then(function (customer) {
              return new Parse.Object('PaymentMethod').save({
                owner: request.user, stripeCustomerId: customer.id, type: 'Visa', lastFourDigit: '4242',
              }, { useMasterKey: true });
            }).then(function (method) { response.success(method.get('stripeCustomerId')); }, failed(response));
        });

        function pay(request, response, source) {
          var master = { useMasterKey: true };
          var query = new Parse.Query('Order');
          var order;
          query.include('customer');
          query.include('items.product');
          query.equalTo('customer', request.user);
          query.equalTo('orderStatus', 0);
          query.get(request.params.orderId, master).then(function (found) {
            order = found;
            var cents = order.get('items').reduce(function (sum, item) {
              return sum + Math.round(item.get('product').get('unitPrice') * 100) * item.get('quantity');
            }, 0);
            return Stripe.Charges.create(Object.assign({ amount: cents, currency: 'usd' }, source));
          }).then(function (charge) {
            return new Parse.Query('Order').greaterThan('orderNo', 0).count(master).then(function (count) {
              return order.save({
                orderStatus: 1, orderNo: 1000001 + count, orderDate: new Date(), stripePaymentId: charge.id,
              }, master);
            });
          }).then(function () {
            return Mailgun.sendEmail({
              to: order.get('customer').get('email'), from: 'desk@shop.example', bcc: 'owner@shop.example',
              subject: 'Your order was successful!', text: 'Order No. ' + order.get('orderNo'),
              html: '<p>Order No. ' + order.get('orderNo') + '</p>',
            });
          }).then(function () { response.success('Success'); }, failed(response));
        }

        Parse.Cloud.define('ChargeCustomer', function (request, response) {
          pay(request, response, { customer: request.params.customerId });
        });
        Parse.Cloud.define('ChargeToken', function (request, response) {
          pay(request, response, { source: request.params.chargeToken });
        });
        """

    @Test(.timeLimit(.minutes(5))) func itsSessionWorksWithThePublishedCloudCode() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "code-\(Names.random(12))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Self.code.write(to: folder.appending(path: "main.js"), atomically: true, encoding: .utf8)
        let settings = ["SATCHEL_CLOUD_CODE": folder.path, "SATCHEL_CLOUD_REPLACES_FUNCTIONS": "true"]
        try await Suite.with(settings: settings) { suite in
            try await eventually("the code is loaded", within: .seconds(30)) {
                let table = try await ParseClient.master(suite).get("/operations/functions")
                return table.json.at("code", "functions")?.arrayValue?.count == 3
            }
            try await Self.shop(in: suite) { app, orderId, customer in
                let order: JSON = ["orderId": .string(orderId), "customerId": customer, "itemDesc": "2 Rose Serum"]
                // The alias gives way to the code's function.
                #expect(try await app.call("ChargeCustomer", order) == "Success")
                let charges = try await suite.rows("payments", "SELECT amount FROM sandboxCharges")
                #expect(charges == [[700]])
            }
            try await eventually("the shop has its blind copies", within: .seconds(20)) {
                suite.mails().filter { $0.header("Bcc")?.contains("owner@shop.example") == true }.count == 2
            }
        }
    }
}
