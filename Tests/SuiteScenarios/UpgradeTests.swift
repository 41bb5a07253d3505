import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Upgrades a shop between releases: this release continues with data that an earlier release left
/// (scripts/make-fixture).
@Suite(.serialized) struct UpgradeTests {
    private static let services = ["catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash"]

    @Test(.timeLimit(.minutes(10)), arguments: ["release-0.1.0"])
    func aShopOfAnEarlierReleaseGoesOn(_ release: String) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/upgrade-\(Names.random(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let archive = "\(checkoutDirectory)/Tests/SuiteScenarios/Fixtures/\(release).tar.gz"
        _ = try await Command.run(["tar", "-xzf", archive, "-C", folder])
        let text = try String(contentsOfFile: folder + "/fixture.json", encoding: .utf8)
        let old = OldShop(facts: try JSON(parsing: text))
        try await Suite.with(data: folder) { suite in
            for service in Self.services {
                let rows = try await suite.rows(service, "SELECT identifier FROM grdb_migrations")
                let records = Set(rows.compactMap { $0.at(0)?.stringValue })
                let wanted = ["store.1.tables", "service.1.tables", "\(service).1.tables"]
                #expect(records.isSuperset(of: wanted), "\(service): \(records)")
            }
            try await old.customersAreSignedIn(suite)
            try await old.theOrderIsThere(suite)
            try await old.theCatalogIsThere(suite)
            try await old.operatorsSeeWhatTheySaw(suite)
            try await old.theOtherBagIsPaid(suite)
            try await ShopperTests.twoCustomers(in: suite)
        }
    }

    /// A release that does not know a newer release's migrations leaves the file alone and tells the operator what to
    /// do.
    @Test(.timeLimit(.minutes(10)))
    func aFileOfANewerReleaseIsRefusedWithAClearText() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            try await suite.tamper("bag", "INSERT INTO grdb_migrations(identifier) VALUES ('bag.99.loyalty')")
            let pid = try #require(suite.processId(of: "bag-1"))
            _ = try await Command.run(["kill", "-9", "\(pid)"])
            func refusal() -> String { suite.logTails(lines: 200) { $0.contains("does not open its database") } }
            try await eventually("the bag refuses", within: .seconds(20)) { refusal().contains("bag.sqlite") }
            for part in ["newer release", "bag.99.loyalty", "docs/guides/upgrading.md"] {
                #expect(refusal().contains(part), "\(refusal())")
            }
            // Removes the record, so that this release knows all migrations again.
            try await suite.tamper("bag", "DELETE FROM grdb_migrations WHERE identifier = 'bag.99.loyalty'")
            try await suite.untilHealthy()
        }
    }
}

/// The archived shop: its file `fixture.json` describes it, and the checks compare it with that.
private struct OldShop {
    let facts: JSON

    private var receipt: JSON { facts["receipt"] ?? .null }
    private var soap: String { facts.at("products", 0)?.stringValue ?? "" }

    private func fact(_ name: String, ofCustomer index: Int) -> String {
        facts.at("customers", .element(index), .member(name))?.stringValue ?? ""
    }

    private func client(_ suite: Suite, customer: Int) -> ParseClient {
        ParseClient(suite, sessionToken: fact("token", ofCustomer: customer))
    }

    func customersAreSignedIn(_ suite: Suite) async throws {
        for customer in 0..<2 {
            let id = fact("userId", ofCustomer: customer)
            let me = try await client(suite, customer: customer).get("/users/me")
            #expect(me.objectId == id, "\(me.text)")
            #expect(!id.isEmpty, "\(me.text)")
            let login = try await ParseClient(suite).call(
                .POST, "/login",
                [
                    "username": .string(fact("email", ofCustomer: customer)),
                    "password": .string(fact("password", ofCustomer: customer)),
                ])
            #expect(login.objectId == id, "\(login.text)")
        }
    }

    func theOrderIsThere(_ suite: Suite) async throws {
        let ada = client(suite, customer: 0)
        let orders = try await ada.find("Order", ["orderStatus": 1], ["include": "items,items.product"])
        let order = try #require(orders.results.first, "\(orders.text)")
        #expect(orders.results.count == 1)
        #expect(order["objectId"] == receipt["orderId"])
        #expect(order["orderNo"] == receipt["orderNo"])
        #expect(order["total"] == receipt["totalMinorUnits"])
        #expect(order["stripePaymentId"] == receipt["stripePaymentId"])
        #expect(order["orderState"] == "made")
        #expect(order["items"]?.arrayValue?.first?.at("product", "name") == "Old soap")
        // The same request gets the same receipt and charges nothing.
        let again = try await ada.run(
            "checkout",
            ["tokenId": "tok_visa", "shippingAddress": Customer.address, "idempotencyKey": "old-key"])
        #expect(again.result == receipt, "\(again.text)")
        #expect(try await suite.rows("payments", "SELECT count(*) FROM charges WHERE state = 'succeeded'") == [[1]])
    }

    func theCatalogIsThere(_ suite: Suite) async throws {
        let client = ParseClient(suite)
        let product = try await client.get("/classes/Product/\(soap)", ["include": "brand"])
        #expect(product["stock"] == 98, "\(product.text)")
        #expect(product["ratingAverage"] == 4, "\(product.text)")
        #expect(product.json.at("brand", "title") == "Old brand")
        let photo = try #require(product.json.at("fullsizeImage", "url")?.stringValue, "\(product.text)")
        let mount = try #require(photo.range(of: "/parse/"), "\(photo)")
        let picture = try await client.download("/\(photo[mount.upperBound...])")
        #expect(picture.status == 200, "\(photo)")
        #expect(!picture.body.isEmpty, "\(photo)")
        let reviews = try await client.find("ProductReview", ["product": .pointer("Product", soap)])
        #expect(reviews.results.map { $0["objectId"] } == [facts["review"]], "\(reviews.text)")
        #expect(reviews.results.first?["content"] == "It foams.")
    }

    func operatorsSeeWhatTheySaw(_ suite: Suite) async throws {
        let installation = try await ParseClient.master(suite).get("/installations/\(facts.text("installation"))")
        #expect(installation["installationId"] == "old-phone", "\(installation.text)")
        let admin = try await Customer.admin(suite)
        let events = try await admin.run("analyticsEvents", ["name": "OldTap"])
        #expect(events.result.arrayValue?.first?.at("dimensions", "screen") == "bag", "\(events.text)")
        let issues = try await admin.run("crashIssues", ["projectId": "1"])
        #expect(issues.text.contains("OldCrash"), "\(issues.text)")
        let mails = try await suite.rows(
            "mail",
            "SELECT state FROM mails WHERE template = 'order-confirmation' AND toAddress = 'ada@customers.example'")
        #expect(mails == [["sent"]], "It is not sent again.")
    }

    func theOtherBagIsPaid(_ suite: Suite) async throws {
        let bob = client(suite, customer: 1)
        let bag = try await bob.run("bag")
        #expect(bag.result["badgeCount"] == 3, "\(bag.text)")
        #expect(bag.result["subtotalMinorUnits"] == 3600, "\(bag.text)")
        let paid = try await bob.run("checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        #expect(paid.result["totalMinorUnits"] == 3600, "\(paid.text)")
        #expect((paid.result["orderNo"]?.intValue ?? 0) > (receipt["orderNo"]?.intValue ?? .max), "\(paid.text)")
    }
}
