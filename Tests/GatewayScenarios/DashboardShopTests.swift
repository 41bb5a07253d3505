import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The views of products, promotions and crashes (`Tests/Peers/dashboard_shop.py`). Names, texts and reports have
/// markup in them, which stays text.
extension DashboardTests {
    private static let markup = "<img src=x onerror=alert(1)>"

    /// A crash with everything that the view shows.
    private static func crash(release: String) -> String {
        let eventId = CrashProject.newId()
        let own: JSON = [
            "function": "checkout()", "filename": "Bag.swift", "lineno": 17, "in_app": true,
            "pre_context": ["func checkout() {"], "context_line": .string("    let item = items[7] // \(markup)"),
            "post_context": ["}"],
        ]
        let frames: JSON = [["function": "main", "filename": "main.swift", "lineno": 3], own]
        let thrown: JSON = [
            "type": "OutOfBag", "value": .string("index 7 \(markup)"), "stacktrace": ["frames": frames],
        ]
        let crumb: JSON = ["timestamp": 1_700_000_000, "category": "ui.tap", "message": .string("Bag \(markup)")]
        let event: JSON = [
            "event_id": .string(eventId), "release": .string(release), "level": "fatal", "platform": "cocoa",
            "exception": ["values": [thrown]], "breadcrumbs": ["values": [crumb]],
            "contexts": ["device": ["model": .string("iPhone14,2 \(markup)")]], "tags": ["screen": .string(markup)],
            "user": ["id": "u1"],
        ]
        return CrashProject.envelope(of: event, eventId: eventId)
    }

    /// A crash that was reported just now.
    private static func crashed() async throws -> CrashProject {
        let project = try await CrashProject.create(suite)
        let answer = try await project.send(Array(crash(release: "shop@1.0.0").utf8), key: project.key)
        guard answer.status == 200 else { throw Unexpected("envelope", answer) }
        return project
    }

    /// The paths of these views, with something in each.
    static func shopPaths() async throws -> [JSON] {
        let suite = try await suite
        let shelf = try await Shelf.fill(suite, names: ["Path \(Names.random(6))"])
        let promotion = try await Customer.admin(suite).create(
            "Promotion", ["content": "Two for one", "audience": ["where": ["deviceType": "ios"]]])
        guard promotion.status == 201 else { throw Unexpected("POST Promotion", promotion) }
        let issues = try await crashed().issues()
        return [
            .string("/products/\(shelf.productIds[0])"), "/brands", "/stores", "/pages", "/promotions",
            "/promotions/new", .string("/promotions/\(promotion.objectId)"), "/crashes",
            .string("/crashes/\(issues.first?.text("issueId") ?? "")"),
        ]
    }

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func everythingAboutOneProductIsChanged(_ screen: Screen) async throws {
        let suite = try await Self.suite
        let word = "Zeta\(Names.random(6))"
        let name = "\(word) \(Self.markup)"
        let shelf = try await Shelf.fill(suite, names: [name])
        try await Self.check("one_product", on: screen, ["search": .string(word), "name": .string(name)])
        let product = try await Customer.admin(suite).get("/classes/Product/\(shelf.productIds[0])")
        #expect(product["name"] == .string(name))
        #expect(product["unitPrice"] == 21.4)
        #expect(product["detail"] == "New words,\nin two lines.")
        #expect(product["stock"] == nil)
        #expect(product["brand"] == nil)
        #expect(product["active"] == false)
        #expect(product["thumbnail"]?.wireType == "File")
    }

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func manyProductsAreChangedAfterAPreview(_ screen: Screen) async throws {
        let suite = try await Self.suite
        let word = "Many\(Names.random(6))"
        let shelf = try await Shelf.fill(suite, names: (0..<3).map { "\(word) \($0)" })
        try await Self.check(
            "many_products", on: screen,
            [
                "search": .string(word), "preview": ["$3.50", "$3.15", "$12.00", "$10.80"],
                "after": ["$3.15", "$10.80", "$18.25"],
            ])
        let products = try await Customer.admin(suite).find(
            "Product", ["brand": shelf.pointer], ["order": "name"]
        ).results
        // The one that was refused at first was tried again; the other was not made cheaper twice.
        #expect(products.map { $0["unitPrice"] } == [3.15, 10.8, 18.25])
        #expect(products.allSatisfy { $0["active"] == false })
    }

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func productsLeaveAsAFileAndComeBack(_ screen: Screen) async throws {
        let suite = try await Self.suite
        let word = "File\(Names.random(6))"
        let formula = "=HYPERLINK(\(word))"
        let shelf = try await Shelf.fill(
            suite, names: [formula, "@SUM(\(word))", "\(word) \"plain\""], detail: "+1+1,\n\"two\"")
        try await Self.check(
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
        // The row that could not be taken whole was left out whole.
        #expect(byName["@SUM(\(word))"]?["unitPrice"] == 12)
        #expect(byName["\(word) new"]?["stock"] == 3)
    }

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func brandsStoresAndPagesAreWritten(_ screen: Screen) async throws {
        let name = "Shelf \(Names.random(6))"
        let address = "about-\(Names.random(6).lowercased())"
        try await Self.check("shelves", on: screen, ["name": .string(name), "address": .string(address)])
        let admin = try await Customer.admin(Self.suite)
        #expect(try await admin.find("Category", ["title": .string(name)]).results.count == 1)
        let store = try await admin.find("Store", ["name": .string(name)]).results.first
        #expect(store?.at("location", "latitude") == 46.95)
        #expect(store?["hours"] == "9 to 5")
        #expect(try await admin.find("Page", ["name": .string(address)]).results.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func aPromotionIsSentAndAnotherPushOfItStopped(_ screen: Screen) async throws {
        let suite = try await Self.suite
        let word = "Deal\(Names.random(6))"
        let devices = try await Devices.register(suite, tokens: (0..<2).map { _ in Names.random(20) })
        try await Self.check(
            "promotions", on: screen,
            [
                "content": .string("\(word) \(Self.markup)"), "search": .string(word),
                "channel": .string(devices.channel), "devices": 2,
            ])
        let sent = suite.notifications().filter { note in devices.objectIds.keys.contains(note.text("deviceToken")) }
        #expect(sent.count == 2, "Each device once.")
        #expect(sent.allSatisfy { $0.at("data", "alert") == .string("\(word) \(Self.markup)") })
        #expect(sent.allSatisfy { $0.at("data", "title") == "News" })
    }

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func aCrashIsReadResolvedAndComesBack(_ screen: Screen) async throws {
        let project = try await Self.crashed()
        try await Self.check(
            "crashes", on: screen,
            [
                "project": .string(project.id), "key": .string(project.key),
                "again": .string(Self.crash(release: "shop@1.1.0")),
            ])
        let issue = try await project.issues().first
        #expect(issue?["status"] == "ignored")
        #expect(issue?["count"] == 2)
    }
}
