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
    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func theMorningsViewShowsWhatWaits(_ screen: Screen) async throws {
        let net = try await Self.salesToday() + 700
        _ = try await Self.paid()
        try await eventually("the sale is counted", within: .seconds(20)) { try await Self.salesToday() == net }
        let report = try await Self.check("today", on: screen, ["sales": .string("$\(net / 100).00")])
        #expect(report["bytes"]?.intValue ?? .max <= 150_000, "\(report)")
    }

    @Test(.timeLimit(.minutes(10)))
    func onlyOperatorsSignInAndSessionsEnd() async throws {
        let customer = try await Customer.signUp(Self.suite)
        let pair: JSON = ["user": .string(customer.email), "password": .string(customer.password)]
        try await Self.check("signing_in", on: .desk, ["customer": pair])
    }

    @Test(.timeLimit(.minutes(10)))
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

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
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

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
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
    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
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

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
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
    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases, ["light", "dark"])
    func everybodyCanUseEveryView(_ screen: Screen, _ scheme: String) async throws {
        let suite = try await Self.suite
        let (customer, orderNo) = try await Self.paid()
        let orders = try await ParseClient.master(suite).find("Order", ["orderNo": orderNo]).results
        let order = try #require(orders.first?.text("objectId"))
        let paths: [JSON] = [
            "", "/orders", .string("/orders/\(order)"), "/products", "/reviews?show=all", "/customers",
            .string("/customers/\(customer.userId)"), "/nowhere",
        ]
        let shop = try await Self.shopPaths() + Self.schemaPaths()
        try await Self.check("accessible", on: screen, ["scheme": .string(scheme), "paths": .array(paths + shop)])
    }

    // MARK: - Figures and rows

    /// What an app reports may be a formula; in a file for spreadsheets it is text.
    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func figuresAreComparedBrokenDownAndTakenAlong(_ screen: Screen) async throws {
        let suite = try await Self.suite
        let (_, orderNo) = try await Self.paid()
        let admin = try await Customer.admin(suite)
        let orders = try await admin.find("Order", ["orderNo": orderNo], ["include": "items"]).results
        let product = try #require(orders.first?.at("items", 0, "name")?.stringValue)
        let event = "Look\(Names.random(6))"
        let formula = "=1+1"
        for _ in 0..<3 {
            let told = try await ParseClient(suite).call(
                .POST, "/events/\(event)", ["dimensions": ["word": .string(formula)]])
            try #require(told.status == 200, "\(told.text)")
        }
        try await eventually("the events are counted") {
            let top = try await admin.run("analyticsTop", ["name": .string(event), "dimension": "word"])
            return top.result.at(0, "count") == 3
        }
        try await eventually("the sale is counted") {
            try await admin.run("analyticsSales").result.at(0, "totals", "orders")?.intValue ?? 0 > 0
        }
        try await Self.check(
            "analytics", on: screen,
            [
                "product": .string(product), "amount": "$7.00", "event": .string(event), "events": 3,
                "formula": .string(formula),
            ])
    }

    /// A text that looks like a script, which a row shows as it is.
    private static let script = "<img src=x onerror=alert('row')>"

    /// Rows of every type that clients write, made by the master key.
    private static func fill(_ className: String, rows: Int, owner: String) async throws {
        let master = ParseClient.master(try await suite)
        for start in stride(from: 0, to: rows, by: 50) {
            let requests = (start..<min(start + 50, rows)).map { row -> JSON in
                let body: JSON = [
                    "text": .string(row == rows - 1 ? script : "row \(row)"), "count": .int(Int64(row)),
                    "flag": .bool(row.isMultiple(of: 2)),
                    "when": ["__type": "Date", "iso": "2030-05-02T10:15:00.000Z"],
                    "tags": ["a", "b"], "place": ["__type": "GeoPoint", "latitude": 52.5, "longitude": 13.4],
                    "more": ["of": ["row": .int(Int64(row))]], "owner": .pointer("Category", owner),
                ]
                return ["method": "POST", "path": .string("/parse/classes/\(className)"), "body": body]
            }
            let answer = try await master.call(.POST, "/batch", ["requests": .array(requests)])
            guard answer.status == 200 else { throw Unexpected("POST batch", answer) }
        }
    }

    /// A class of a test's own, which operators alone may see.
    private static func makeClass() async throws -> String {
        let name = "Rows\(Names.random(6))"
        let verbs = ["find", "get", "count", "create", "update", "delete", "addField"]
        let admins: JSON = ["role:admins": true]
        let permissions = JSON.object(Dictionary(uniqueKeysWithValues: verbs.map { ($0, admins) }))
        let made = try await ParseClient.master(suite).call(
            .POST, "/schemas/\(name)", ["classLevelPermissions": permissions])
        guard made.status == 200 else { throw Unexpected("POST schemas", made) }
        return name
    }

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func rowsOfEveryTypeAreFoundEditedAddedAndDeleted(_ screen: Screen) async throws {
        let suite = try await Self.suite
        let name = try await Self.makeClass()
        let owners = [
            try await Shelf.fill(suite, names: ["Row \(Names.random(6))"]),
            try await Shelf.fill(suite, names: ["Row \(Names.random(6))"]),
        ]
        try await Self.fill(name, rows: 250, owner: owners[0].brandId)
        try await Self.check(
            "data", on: screen,
            [
                "class": .string(name), "rows": 250, "script": .string(Self.script), "owner": .string(owners[1].title),
            ])
        let admin = try await Customer.admin(suite)
        let edited = try #require(try await admin.find(name, ["count": 0.5]).results.first)
        #expect(edited["text"] == "row 0 & <b>co</b>")
        #expect(edited["flag"] == false)
        #expect(edited["when"]?.wireType == "Date")
        #expect(edited["when"]?["iso"]?.stringValue?.hasPrefix("2031-02-0") == true, "\(edited)")
        #expect(edited["place"]?["latitude"] == 1.5)
        #expect(edited["tags"] == ["a", 7])
        #expect(edited["more"] == ["deep": ["er": true]])
        #expect(edited["owner"]?.pointerTarget?.objectId == owners[1].brandId)
        #expect(edited["ACL"]?["role:admins"] == ["read": true, "write": true])
        let added = try await admin.find(name, ["count": -1]).results
        #expect(added.map { $0["text"] } == ["=2+2 added"])
        #expect(added.first?["fresh"] == ["new column"])
        let gone = try await admin.find(name, ["text": "row 1"]).results
        #expect(gone.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases, ["light", "dark"])
    func everybodyCanUseFiguresAndRows(_ screen: Screen, _ scheme: String) async throws {
        _ = try await Self.paid()
        let name = try await Self.makeClass()
        try await Self.fill(name, rows: 50, owner: "brand00001")
        let filter = "%5B%5B%22count%22,%22number%22,%22below%22,%2240%22,%22%22%5D%5D"
        let paths: [JSON] = [
            "/analytics?compare=yes", "/analytics?show=usage", "/analytics?show=events&event=Search&dimension=word",
            "/analytics?show=funnel&view=Look", "/analytics?show=requests", "/data", .string("/data/\(name)"),
            .string("/data/\(name)?sort=-count&filter=\(filter)"),
        ]
        try await Self.check("accessible", on: screen, ["scheme": .string(scheme), "paths": .array(paths)])
    }
}
