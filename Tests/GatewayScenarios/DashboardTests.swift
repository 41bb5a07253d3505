import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The dashboard as operators use it, in headless Chromium (`Tests/Peers/dashboard.py`): each flow fails on any error
/// in the console, report of the policy or request to another host as well.
///
/// One after the other: a browser and a suite are much for a small machine, and the first one counts the sales.
@Suite(.serialized) struct DashboardTests {
    private static let start = Task {
        try await Suite.start(settings: ["SATCHEL_MFA": "totp", "SATCHEL_SHOP_NAME": "Beauty & Me"])
    }
    static var suite: Suite { get async throws { try await start.value } }

    enum Screen: String, CaseIterable, Sendable { case desk, phone }

    /// Runs a flow and expects nothing wrong of it.
    @discardableResult
    static func check(
        _ flow: String, on screen: Screen, _ given: [String: JSON] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSON {
        let suite = try await suite
        let password = try suite.adminPassword()
        let standard: [String: JSON] = [
            "user": "admin@satchel.example", "password": .string(password), "viewport": .string(screen.rawValue),
        ]
        let all = JSON.object(standard.merging(given) { $1 })
        let text = try await Command.run([
            Peer.python, "\(checkoutDirectory)/Tests/Peers/dashboard.py", suite.origin, flow, all.serializedText,
        ])
        let report = try JSON(parsing: text.split(separator: "\n").last.map(String.init) ?? "")
        for failure in report["failures"]?.arrayValue ?? [.string("No report: \(text)")] {
            Issue.record("\(failure.stringValue ?? failure.serializedText)", sourceLocation: sourceLocation)
        }
        return report
    }

    /// A customer who just paid for two pieces at 3.50.
    private static func paid(lastName: String = "Long") async throws -> (customer: Customer, orderNo: JSON) {
        let suite = try await suite
        let shelf = try await Shelf.fill(suite, names: ["Desk \(Names.random(6))"])
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        var address = Customer.address
        address["lastName"] = .string(lastName)
        let answer = try await customer.client.run("checkout", ["tokenId": "tok_visa", "shippingAddress": address])
        guard answer.status == 200, let orderNo = answer.result["orderNo"] else { throw Unexpected("checkout", answer) }
        return (customer, orderNo)
    }

    /// The figures of the last day, in minor units.
    private static func salesToday() async throws -> Int64 {
        let sales = try await Customer.admin(suite).run("analyticsSales")
        return sales.result.at(0, "points")?.arrayValue?.last?["netMinorUnits"]?.intValue ?? 0
    }

    /// The first view stays within 150 KB compressed, pictures of products included.
    @Test(.timeLimit(.minutes(2)), arguments: Screen.allCases)
    func theMorningsViewShowsWhatWaits(_ screen: Screen) async throws {
        let net = try await Self.salesToday() + 700
        _ = try await Self.paid()
        try await eventually("the sale is counted", within: .seconds(20)) { try await Self.salesToday() == net }
        let report = try await Self.check("today", on: screen, ["sales": .string("$\(net / 100).00")])
        #expect(report["bytes"]?.intValue ?? .max <= 150_000, "\(report)")
    }

    @Test(.timeLimit(.minutes(2)))
    func onlyOperatorsSignInAndSessionsEnd() async throws {
        let customer = try await Customer.signUp(Self.suite)
        let pair: JSON = ["user": .string(customer.email), "password": .string(customer.password)]
        try await Self.check("signing_in", on: .desk, ["customer": pair])
    }

    @Test(.timeLimit(.minutes(2)))
    func anOperatorWithASecondFactorIsAskedForIt() async throws {
        let suite = try await Self.suite
        let person = try await Customer.signUp(suite)
        let master = ParseClient.master(suite)
        let admins = try #require(try await master.find("_Role", ["name": "admins"]).results.first)
        let joined = try await master.call(
            .PUT, "/roles/\(admins.text("objectId"))",
            ["users": ["__op": "AddRelation", "objects": [person.pointer]]])
        try #require(joined.status == 200, "\(joined.text)")
        let app = Authenticator()
        let mfa: JSON = ["secret": .string(app.secret), "token": .string(try await app.next())]
        let enrolled = try await person.client.call(
            .PUT, "/users/\(person.userId)", ["authData": ["mfa": mfa]])
        let codes = try #require(enrolled.json.at("authDataResponse", "mfa", "recovery")?.stringValue)
        let code = String(codes.split(separator: ",")[0].filter { $0 != " " })
        try await Self.check(
            "second_factor", on: .phone,
            ["user": .string(person.email), "password": .string(person.password), "code": .string(code)])
    }

    @Test(.timeLimit(.minutes(2)), arguments: Screen.allCases)
    func anOrderIsShippedDeliveredAndRefundedAnotherCancelled(_ screen: Screen) async throws {
        let (_, first) = try await Self.paid()
        let (_, second) = try await Self.paid()
        try await Self.check("orders", on: screen, ["orders": [first, second]])
        let admin = try await Customer.admin(Self.suite)
        let orders = try await admin.find("Order", ["orderNo": ["$in": [first, second]]], ["order": "orderNo"]).results
        #expect(orders.map { $0["orderState"] } == ["refunded", "cancelled"])
        #expect(orders.first?["refundedTotal"] == 150)
        #expect(orders.first?["trackingNumber"] == "PP-77")
    }

    @Test(.timeLimit(.minutes(2)), arguments: Screen.allCases)
    func aProductIsAddedWithPhotoAndEditedInTheGrid(_ screen: Screen) async throws {
        let suite = try await Self.suite
        let name = "Zeta\(Names.random(6))"
        let shelf = try await Shelf.fill(suite, names: ["Shelf \(Names.random(6))"])
        try await Self.check("products", on: screen, ["name": .string(name), "brand": .string(shelf.title)])
        let products = try await ParseClient.master(suite).find("Product", ["name": .string(name)]).results
        let product = try #require(products.first)
        #expect(product["unitPrice"] == 13.75)
        #expect(product["stock"] == 3)
        #expect(product["active"] == false)
        #expect(product["thumbnail"]?.wireType == "File")
        #expect(product["brand"]?.pointerTarget?.objectId == shelf.brandId)
    }

    /// What shoppers write may be markup; on the page it is text.
    @Test(.timeLimit(.minutes(2)), arguments: Screen.allCases)
    func reviewsAreModerated(_ screen: Screen) async throws {
        let suite = try await Self.suite
        let shelf = try await Shelf.fill(suite, names: ["<script>alert('name')</script> \(Names.random(6))"])
        let reporter = try await Customer.signUp(suite)
        var texts: [JSON] = []
        for word in ["Kept", "Hidden"] {
            let author = try await Customer.signUp(suite)
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
        try await Self.check("reviews", on: screen, ["reviews": .array(texts)])
    }

    @Test(.timeLimit(.minutes(2)), arguments: Screen.allCases)
    func aCustomerIsFoundAndSignedOutEverywhere(_ screen: Screen) async throws {
        let lastName = "Quince\(Names.random(6))"
        let (customer, _) = try await Self.paid(lastName: lastName)
        try await Self.check(
            "customers", on: screen,
            [
                "name": .string("Ada \(lastName)"), "shown": .string("Ada \(lastName)"),
                "email": .string(customer.email),
            ])
        #expect(try await customer.client.get("/users/me").code == 209)
    }

    /// Names, roles, contrast, targets and the order of the focus, on every view (`Tests/Peers/browser_checks.py`).
    @Test(.timeLimit(.minutes(3)), arguments: Screen.allCases, ["light", "dark"])
    func everybodyCanUseEveryView(_ screen: Screen, _ scheme: String) async throws {
        let suite = try await Self.suite
        let (customer, orderNo) = try await Self.paid()
        let orders = try await ParseClient.master(suite).find("Order", ["orderNo": orderNo]).results
        let order = try #require(orders.first?.text("objectId"))
        let paths: [JSON] = [
            "", "/orders", .string("/orders/\(order)"), "/products", "/reviews?show=all", "/customers",
            .string("/customers/\(customer.userId)"), "/nowhere",
        ]
        let shop = try await Self.shopPaths()
        try await Self.check("accessible", on: screen, ["scheme": .string(scheme), "paths": .array(paths + shop)])
    }
}
