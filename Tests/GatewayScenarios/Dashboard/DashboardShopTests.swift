import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The views of products and crashes (`Tests/Peers/pages/dashboard_shop.py`) and of promotions
/// (`dashboard_promotions.py`). Names, texts and reports contain markup, which must be shown as text.
@Suite(.serialized) struct DashboardShopTests {
    private static let desk = Desk()

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func everythingAboutOneProductIsChanged(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let word = "Zeta\(Names.random(6))"
        let name = "\(word) \(Desk.markup)"
        let shelf = try await Shelf.fill(suite, names: [name])
        try await Self.desk.check("one_product", on: screen, ["search": .string(word), "name": .string(name)])
        let product = try await Customer.admin(suite).get("/classes/Product/\(shelf.productIds[0])")
        #expect(product["name"] == .string(name))
        #expect(product["unitPrice"] == 21.4)
        #expect(product["detail"] == "New words,\nin two lines.")
        #expect(product["stock"] == nil)
        #expect(product["brand"] == nil)
        #expect(product["active"] == false)
        #expect(product["thumbnail"]?.wireType == "File")
    }

    /// The cropped parts of a photo never leave the browser.
    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func aPartOfAPhotoIsChosenBeforeItIsSent(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let shelf = try await Shelf.fill(suite, names: ["Cut \(Names.random(6))"])
        try await Self.desk.check("crop", on: screen, ["product": .string(shelf.productIds[0])])
        let product = try await Customer.admin(suite).get("/classes/Product/\(shelf.productIds[0])")
        #expect(product["fullsizeImage"]?["name"]?.stringValue?.hasSuffix("two-halves.png") == true, "\(product.text)")
        #expect(product["thumbnail"]?.wireType == "File")
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func thePlaceOfAStoreIsChosenOnAMap(_ screen: Desk.Screen) async throws {
        let name = "Place \(Names.random(6))"
        try await Self.desk.check("places", on: screen, ["name": .string(name)])
        let admin = try await Customer.admin(Self.desk.suite)
        let store = try #require(try await admin.find("Store", ["name": .string(name)]).results.first)
        #expect(store["location"]?.wireType == "GeoPoint")
        #expect(store.at("location", "latitude") == 46.948)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func theLookOfTheStorefrontIsTriedAndSaved(_ screen: Desk.Screen) async throws {
        let master = ParseClient.master(try await Self.desk.suite)
        let gone: JSON = ["params": ["storefront": ["__op": "Delete"]]]
        #expect(try await master.call(.PUT, "/config", gone).status == 200)
        let word = "Look\(Names.random(6))"
        try await Self.desk.check(
            "storefront_look", on: screen,
            ["search": .string(word), "name": .string("\(word) \(Desk.markup)")])
        let theme = try await master.get("/config").json.at("params", "storefront")
        #expect(theme?["lightAccent"] == "#0055aa")
        #expect(theme?["sections"] == ["promotions", "new", "brands"])
        #expect(theme?["lightText"] == nil)
        #expect(theme?["icons"]?.objectValue?.count == 4)
        #expect(try await master.call(.PUT, "/config", gone).status == 200)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func manyProductsAreChangedAfterAPreview(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let word = "Many\(Names.random(6))"
        let shelf = try await Shelf.fill(suite, names: (0..<3).map { "\(word) \($0)" })
        try await Self.desk.check(
            "many_products", on: screen,
            [
                "search": .string(word), "preview": ["$3.50", "$3.15", "$12.00", "$10.80"],
                "after": ["$3.15", "$10.80", "$18.25"],
            ])
        let products = try await Customer.admin(suite).find(
            "Product", ["brand": shelf.pointer], ["order": "name"]
        ).results
        // The change that was refused first was retried; the other was not applied twice.
        #expect(products.map { $0["unitPrice"] } == [3.15, 10.8, 18.25])
        #expect(products.allSatisfy { $0["active"] == false })
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func productsLeaveAsAFileAndComeBack(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let word = "File\(Names.random(6))"
        let formula = "=HYPERLINK(\(word))"
        let shelf = try await Shelf.fill(
            suite, names: [formula, "@SUM(\(word))", "\(word) \"plain\""], detail: "+1+1,\n\"two\"")
        try await Self.desk.check(
            "products_as_files", on: screen,
            [
                "search": .string(word), "ids": .array(shelf.productIds.map(JSON.string)),
                "formula": .string(formula), "brand": .string(shelf.title),
            ])
        let products = try await Customer.admin(suite).find("Product", ["brand": shelf.pointer]).results
        let byName = Dictionary(products.map { ($0.text("name"), $0) }, uniquingKeysWith: { first, _ in first })
        #expect(products.count == 4)
        let changed = byName["\(formula) again"]
        #expect(changed?["objectId"] == .string(shelf.productIds[0]))
        #expect(changed?["unitPrice"] == 7.77)
        #expect(changed?["stock"] == 12)
        #expect(changed?["detail"] == "+1+1,\n\"two\"")
        // An invalid row is skipped completely.
        #expect(byName["@SUM(\(word))"]?["unitPrice"] == 12)
        #expect(byName["\(word) new"]?["stock"] == 3)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func brandsStoresAndPagesAreWritten(_ screen: Desk.Screen) async throws {
        let name = "Shelf \(Names.random(6))"
        let address = "about-\(Names.random(6).lowercased())"
        try await Self.desk.check("shelves", on: screen, ["name": .string(name), "address": .string(address)])
        let admin = try await Customer.admin(Self.desk.suite)
        #expect(try await admin.find("Category", ["title": .string(name)]).results.count == 1)
        let store = try await admin.find("Store", ["name": .string(name)]).results.first
        #expect(store?.at("location", "latitude") == 46.95)
        #expect(store?["hours"] == "9 to 5")
        #expect(try await admin.find("Page", ["name": .string(address)]).results.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func aPromotionIsSentAndAnotherPushOfItStopped(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let word = "Deal\(Names.random(6))"
        let devices = try await Devices.register(suite, tokens: (0..<2).map { _ in Names.random(20) })
        try await Self.desk.check(
            "promotions", on: screen,
            [
                "content": .string("\(word) \(Desk.markup)"), "search": .string(word),
                "channel": .string(devices.channel), "devices": 2,
            ])
        let sent = suite.notifications().filter { note in devices.objectIds.keys.contains(note.text("deviceToken")) }
        #expect(sent.count == 2, "Each device once.")
        #expect(sent.allSatisfy { $0.at("data", "alert") == .string("\(word) \(Desk.markup)") })
        #expect(sent.allSatisfy { $0.at("data", "title") == "News" })
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func aDiscountCodeIsMadeFromAPromotion(_ screen: Desk.Screen) async throws {
        let code = "D-\(Names.random(8).uppercased())"
        try await Self.desk.check("codes", on: screen, ["code": .string(code)])
        let found = try await Customer.admin(Self.desk.suite).run("discountCodes", ["discountCode": .string(code)])
        #expect(found.result.at("results", 0, "amountMinorUnits") == 500, "\(found.text)")
        #expect(found.result.at("results", 0, "percent") == nil)
        #expect(found.result.at("results", 0, "active") == false)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func whatFollowedAPromotionIsShown(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let promotion = try await SentPromotion.send(suite, content: "Lure \(Names.random(6))")
        try await promotion.sendAndStop()
        let shelf = try await Shelf.fill(suite, names: ["Lure \(Names.random(6))"])
        let customer = try await Customer.signUp(suite)
        try await customer.open(by: promotion.pushHash)
        _ = try await customer.order(shelf.productIds[0])
        let returned = try await customer.order(shelf.productIds[0])
        try await eventually("both orders are counted") { try await promotion.report()["orders"] == 2 }
        #expect(try await customer.client.run("cancelOrder", ["orderId": .string(returned)]).status == 200)
        try await eventually("the cancelled one is taken off") {
            try await promotion.report().at("sales", 0, "netMinorUnits") == 700
        }
        try await Self.desk.check(
            "promotion_result", on: screen,
            [
                "promotion": .string(promotion.id), "orders": "2", "cancelled": "1 of them cancelled",
                "revenue": "$7.00", "refunded": "$14.00 less $7.00 refunded", "failed": "2",
            ])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func aCrashIsReadResolvedAndComesBack(_ screen: Desk.Screen) async throws {
        let project = try await Self.desk.crashed()
        try await Self.desk.check(
            "crashes", on: screen,
            [
                "project": .string(project.id), "key": .string(project.key),
                "again": .string(Desk.crash(release: "shop@1.1.0")), "app": .string("App \(Names.random(6))"),
            ])
        let issue = try await project.issues().first
        #expect(issue?["status"] == "ignored")
        #expect(issue?["count"] == 2)
    }
}
