import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Orders, products, reviews, customers and sign-in, as operators see them (`Tests/Peers/pages/dashboard.py`).
///
/// The tests run one after the other, as in the neighbouring suites: a browser is heavy for a small machine, and the
/// first test counts sales.
@Suite(.serialized) struct DashboardTests {
    private static let desk = Desk()

    /// The sales of the last day, in minor units.
    private static func salesToday() async throws -> Int64 {
        let sales = try await Customer.admin(desk.suite).run("analyticsSales")
        return sales.result.at(0, "points")?.arrayValue?.last?["netMinorUnits"]?.intValue ?? 0
    }

    /// The first view transfers at most 150 KB compressed, including product pictures.
    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func theMorningsViewShowsWhatWaits(_ screen: Desk.Screen) async throws {
        _ = try await Self.desk.suite
        try await untilDayIsNotEnding()
        let net = try await Self.salesToday() + 700
        _ = try await Self.desk.paid()
        try await eventually("the sale is counted", within: .seconds(20)) { try await Self.salesToday() == net }
        let report = try await Self.desk.check("today", on: screen, ["sales": .string("$\(net / 100).00")])
        #expect(report["bytes"]?.intValue ?? .max <= 150_000, "\(report)")
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func onlyOperatorsSignInAndSessionsEnd(_ screen: Desk.Screen) async throws {
        let customer = try await Customer.signUp(Self.desk.suite)
        let pair: JSON = ["user": .string(customer.email), "password": .string(customer.password)]
        try await Self.desk.check("signing_in", on: screen, ["customer": pair])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func anOperatorWithASecondFactorIsAskedForIt(_ screen: Desk.Screen) async throws {
        let person = try await Self.desk.member(of: "admins")
        let app = Authenticator()
        let mfa: JSON = ["secret": .string(app.secret), "token": .string(try await app.next())]
        let enrolled = try await person.client.call(
            .PUT, "/users/\(person.userId)", ["authData": ["mfa": mfa]])
        let codes = try #require(enrolled.json.at("authDataResponse", "mfa", "recovery")?.stringValue)
        let code = String(codes.split(separator: ",")[0].filter { $0 != " " })
        try await Self.desk.check(
            "second_factor", on: screen,
            ["user": .string(person.email), "password": .string(person.password), "code": .string(code)])
    }

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func anOrderIsShippedDeliveredAndRefundedAnotherCancelled(_ screen: Desk.Screen) async throws {
        let (_, first) = try await Self.desk.paid()
        let (_, second) = try await Self.desk.paid()
        try await Self.desk.check("orders", on: screen, ["orders": [first, second]])
        let admin = try await Customer.admin(Self.desk.suite)
        let orders = try await admin.find("Order", ["orderNo": ["$in": [first, second]]], ["order": "orderNo"]).results
        #expect(orders.map { $0["orderState"] } == ["delivered", "cancelled"])
        #expect(orders.map { $0["paymentStatus"] } == ["partiallyRefunded", "refunded"])
        #expect(orders.first?["refundedTotal"] == 150)
        #expect(orders.first?["trackingNumber"] == "PP-78")
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func ordersArePrintedAsSlipInvoiceAndPickingList(_ screen: Desk.Screen) async throws {
        let (_, number) = try await Self.desk.paid()
        let query: JSON = ["orderNo": number]
        let found = try await Customer.admin(Self.desk.suite).find("Order", query, ["include": "items"]).results
        let order = try #require(found.first)
        let product = try #require(order.at("items", 0, "name"))
        try await Self.desk.check(
            "paper", on: screen, ["order": .string(order.text("objectId")), "number": number, "product": product])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func severalOrdersArePrintedShippedAndExportedAtOnce(_ screen: Desk.Screen) async throws {
        let name = "Batch\(Names.random(8))"
        let (_, first) = try await Self.desk.paid(lastName: name)
        let (_, second) = try await Self.desk.paid(lastName: name)
        try await Self.desk.check("several", on: screen, ["orders": [first, second], "name": .string(name)])
        let orders = try await Customer.admin(Self.desk.suite).find(
            "Order", ["orderNo": ["$in": [first, second]]], ["order": "orderNo"]
        ).results
        #expect(orders.map { $0["carrier"] } == ["Post", "Post, Inc."])
        #expect(orders.map { $0["trackingNumber"] } == ["PP-1", "PP-2"])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func countsOfFailuresLeadToChargesAndMails(_ screen: Desk.Screen) async throws {
        let (customer, number) = try await Self.desk.paid()
        let suite = try await Self.desk.suite
        let shelf = try await Shelf.fill(suite, names: ["Dear \(Names.random(6))"])
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let declined = try await customer.client.run(
            "checkout", ["tokenId": "tok_chargeDeclined", "shippingAddress": Customer.address])
        #expect(declined.status == 400, "\(declined.text)")
        let query = "SELECT state FROM mails WHERE orderNo = \(number.intValue ?? 0)"
        try await eventually("the order is mailed") { try await suite.rows("mail", query) == [["sent"]] }
        try await Self.desk.check("failures", on: screen, ["number": number])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func aMailToACustomerStaysWithTheOrder(_ screen: Desk.Screen) async throws {
        let (_, number) = try await Self.desk.paid()
        let found = try await Customer.admin(Self.desk.suite).find("Order", ["orderNo": number]).results
        let order = try #require(found.first)
        try await Self.desk.check(
            "written", on: screen, ["order": .string(order.text("objectId")), "number": number])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func aRowOpensInATabThatIsSignedIn(_ screen: Desk.Screen) async throws {
        _ = try await Self.desk.paid()
        try await Self.desk.check("apart", on: screen)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func aSearchKeepsWhatIsTypedMeanwhile(_ screen: Desk.Screen) async throws {
        try await Self.desk.check("typing", on: screen)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func aViewOfTheOrdersGetsANameAndIsTakenUpAgain(_ screen: Desk.Screen) async throws {
        _ = try await Self.desk.paid()
        let name = "<b>Shipped</b> \(Names.random(6))"
        try await Self.desk.check("views", on: screen, ["name": .string(name)])
    }

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func aProductIsAddedWithPhotoAndEditedInTheGrid(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let name = "Zeta\(Names.random(6))"
        let shelf = try await Shelf.fill(suite, names: ["Shelf \(Names.random(6))"])
        try await Self.desk.check("products", on: screen, ["name": .string(name), "brand": .string(shelf.title)])
        let products = try await ParseClient.master(suite).find("Product", ["name": .string(name)]).results
        let product = try #require(products.first)
        #expect(product["unitPrice"] == 13.75)
        #expect(product["stock"] == 3)
        #expect(product["active"] == false)
        #expect(product["thumbnail"]?.wireType == "File")
        #expect(product["brand"]?.pointerTarget?.objectId == shelf.brandId)
    }

    /// A user without orders, whose name contains markup.
    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func anAccountIsFoundEditedAndDeletedAfterWhatHappensWasSaid(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let customer = try await Customer.signUp(suite)
        let lastName = "Quince\(Names.random(6))"
        let address = "\(Names.random(10).lowercased())@customers.example"
        try await Self.desk.check(
            "accounts", on: screen,
            [
                "email": .string(customer.email), "lastName": .string("\(lastName) \(Desk.markup)"),
                "search": .string("ada \(lastName)"), "address": .string(address),
            ])
        #expect(try await customer.client.get("/users/me").code == 209)
        let found = try await Customer.admin(suite).run("accounts", ["search": .string(address)])
        #expect(found.result["results"] == [])
    }

    /// Shoppers' texts may contain markup, which the page shows as text.
    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func reviewsAreModerated(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let word = Names.random(8)
        let shelf = try await Shelf.fill(suite, names: ["<script>alert('name')</script> \(word)"])
        let reporter = try await Customer.signUp(suite)
        var texts: [JSON] = []
        var emails: [String] = []
        for word in ["Kept", "Hidden"] {
            let author = try await Customer.signUp(suite)
            emails.append(author.email)
            let text = "\(word) \(Names.random(6)) <img src=x onerror=alert('review')>"
            let review = try await author.client.create(
                "ProductReview",
                [
                    "product": .pointer("Product", shelf.productIds[0]), "rating": 4, "content": .string(text),
                ])
            try #require(review.status == 201, "\(review.text)")
            let reported = try await reporter.client.run("reportReview", ["reviewId": .string(review.objectId)])
            try #require(reported.status == 200, "\(reported.text)")
            texts.append(.string(text))
        }
        let answer = "Thank you <b>kindly</b>, \(Names.random(6))."
        try await Self.desk.check(
            "reviews", on: screen,
            ["reviews": .array(texts), "answer": .string(answer), "product": .string(word)])
        try await eventually("the answer is mailed") {
            suite.mails().contains { $0.header("To")?.contains(emails[1]) == true && $0.text.contains(answer) }
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func aCustomerIsFoundAndSignedOutEverywhere(_ screen: Desk.Screen) async throws {
        let lastName = "Quince\(Names.random(6))"
        let (customer, _) = try await Self.desk.paid(lastName: lastName)
        try await Self.desk.check(
            "customers", on: screen,
            [
                "name": .string("Ada \(lastName)"), "shown": .string("Ada \(lastName)"),
                "email": .string(customer.email), "tag": .string("Tag\(Names.random(6))"),
                "text": .string("Which <b>shade</b> was it?"),
            ])
        #expect(try await customer.client.get("/users/me").code == 209)
    }
}
