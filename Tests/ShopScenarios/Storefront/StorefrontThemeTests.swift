import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The look of the storefront over HTTP, with suites of their own: the look is that of all pages.
@Suite struct StorefrontThemeTests {
    private static func set(_ theme: JSON, on suite: Suite, isHidden: Bool = false) async throws {
        let answer = try await ParseClient.master(suite).call(
            .PUT, "/config",
            ["params": ["storefront": theme], "masterKeyOnly": ["storefront": .bool(isHidden)]])
        try #require(answer.status == 200, "\(answer.text)")
    }

    /// The first path that begins so in links of a page.
    private static func path(_ start: String, in page: Browser.Page) throws -> String {
        try #require(page.link(start), "\(page.html.prefix(3000))")
    }

    @Test(.timeLimit(.minutes(10))) func everybodySeesTheLookOfConfig() async throws {
        try await Suite.with(settings: ["SATCHEL_SHOP_NAME": "Beauty & Me"]) { try await Self.changeLook(of: $0) }
    }

    private static func changeLook(of suite: Suite) async throws {
        let shopper = Browser(suite)
        let plain = try await shopper.get("/")
        #expect(plain.status == 200)
        #expect(plain.link("/theme/") == nil && plain.html.contains("Beauty &amp; Me"))
        let policy = try #require(plain.headers.first(name: "Content-Security-Policy"))
        #expect(policy.contains("style-src 'self';") && policy.contains("frame-ancestors 'self';"), "\(policy)")
        #expect(plain.headers.first(name: "X-Frame-Options") == "SAMEORIGIN")
        // Config belongs to operators.
        let guest = try await ParseClient(suite).call(.PUT, "/config", ["params": ["storefront": ["name": "Mine"]]])
        #expect(guest.status == 403, "\(guest.text)")

        try await set(
            [
                "name": "Rose & Co", "language": "de", "font": "slab", "lightAccent": "#0055aa", "darkText": "#777777",
                "sections": ["new", "brands"],
            ], on: suite)
        try await eventually("the look is there", within: .seconds(60)) {
            try await shopper.get("/").link("/theme/") != nil
        }
        let home = try await shopper.get("/")
        #expect(home.html.contains("Rose &amp; Co") && home.html.contains(#"<html lang="de">"#))
        #expect(!home.html.contains("style=") && !home.html.contains("<style"))
        let styles = try await shopper.get(try path("/theme/", in: home), accept: "text/css")
        #expect(styles.status == 200)
        #expect(styles.headers.first(name: "Content-Type") == "text/css; charset=utf-8")
        #expect(styles.headers.first(name: "Cache-Control") == "public, max-age=31536000, immutable")
        #expect(styles.html.contains("--accent:#0055aa") && styles.html.contains("--ink:#ffffff"), "\(styles.html)")
        let old = try await shopper.get("/theme/0123456789abcdef.css", accept: "text/css")
        #expect(old.html == styles.html)
        #expect(old.headers.first(name: "Cache-Control") == "no-store")
        let manifest = try JSON(parsing: Array(try await shopper.get("/manifest.webmanifest").html.utf8))
        #expect(manifest["name"] == "Rose & Co")
        #expect(manifest["theme_color"] == "#0055aa")
        for icon in manifest["icons"]?.arrayValue ?? [] where icon["type"] == "image/png" {
            let picture = try await shopper.get(try #require(icon["src"]?.stringValue), accept: "*/*")
            #expect(picture.status == 200)
            #expect(picture.headers.first(name: "Content-Type") == "image/png")
        }

        // Hostile values of an operator who changes Config reach neither styles nor markup.
        let attack = "#000;}body{background:url(//evil.example)}</style><script>alert(1)</script>"
        let file: JSON = ["__type": "File", "name": "x.png", "url": "https://evil.example/x.png"]
        var hostile: JSON = ["logo": file, "icons": ["192": file], "sections": [.string(attack)]]
        for name in ["name", "font", "language", "lightAccent", "lightBackground", "lightText", "darkAccent"] {
            hostile[name] = .string(attack)
        }
        hostile["darkBackground"] = "#101010"
        try await set(hostile, on: suite)
        try await eventually("the hostile look is there", within: .seconds(60)) {
            let page = try await shopper.get("/")
            guard let path = page.link("/theme/") else { return false }
            return try await shopper.get(path, accept: "text/css").html.contains("--ground:#101010")
        }
        let attacked = try await shopper.get("/")
        let sheet = try await shopper.get(try path("/theme/", in: attacked), accept: "text/css")
        for text in [attacked.html, sheet.html] {
            #expect(!text.contains("<script>alert") && !text.contains("url(") && !text.contains("evil.example"))
        }
        #expect(attacked.headers.first(name: "Content-Security-Policy") == policy)

        // A look for the master key is no look.
        try await set(["name": "Secret"], on: suite, isHidden: true)
        try await eventually("the look is gone", within: .seconds(60)) {
            try await shopper.get("/").link("/theme/") == nil
        }
        #expect(try await !shopper.get("/").html.contains("Secret"))
    }

    @Test(.timeLimit(.minutes(10))) func ownFilesReplaceTemplatesTextsAndStyles() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "shop-\(Names.random(12))")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(
            at: folder.appending(path: "texts"), withIntermediateDirectories: true)
        for (name, text) in [
            "problem.mustache": "{{<layout}}{{$main}}<h1>Ours: {{heading}}</h1>{{/main}}{{/layout}}",
            "texts/en.json": #"{"missing.title":"Lost & found"}"#, "shop.css": "body{color:teal}",
        ] { try Data(text.utf8).write(to: folder.appending(path: name)) }
        try await Suite.with(settings: ["SATCHEL_STOREFRONT_FILES": folder.path]) { suite in
            let page = try await Browser(suite).get("/products/nothing-nothing00")
            #expect(page.status == 404)
            #expect(page.html.contains("<h1>Ours: Lost &amp; found</h1>"), "\(page.html)")
            let styles = try await Browser(suite).get(try Self.path("/shop/assets/", in: page), accept: "text/css")
            #expect(styles.html == "body{color:teal}")
        }
    }

    @Test func theHomePageShowsPromotionsInTheirTime() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let word = Names.random(10)
        let brand = try await master.create("Category", ["title": .string("House \(word)")])
        func add(_ name: String, from: Int64?, until: Int64?) async throws -> String {
            var promotion: JSON = [
                "content": .string("\(name) \(word) <b>"), "discountCode": .string("CODE-\(name.uppercased())"),
                "brand": .pointer("Category", brand.objectId),
            ]
            if let from { promotion["shownFrom"] = Timestamp.now.advanced(by: .seconds(from)).wire }
            if let until { promotion["shownUntil"] = Timestamp.now.advanced(by: .seconds(until)).wire }
            let made = try await master.create("Promotion", promotion)
            try #require(made.status == 201, "\(made.text)")
            return made.objectId
        }
        let open = try await add("open", from: -3600, until: nil)
        let limited = try await add("limited", from: -3600, until: 86_400)
        let future = try await add("future", from: 86_400, until: nil)
        let ended = try await add("ended", from: -86_400, until: -3600)
        let draft = try await add("draft", from: nil, until: nil)

        let shopper = Browser(suite)
        let home = try await shopper.get("/")
        for id in [open, limited] { #expect(home.html.contains(#"href="/?p=\#(id)""#), "\(home.html)") }
        for id in [future, ended, draft] { #expect(!home.html.contains(id)) }
        #expect(home.html.contains("open \(word) &lt;b&gt;"))
        let moved = try await shopper.get("/?p=\(open)")
        #expect(moved.location == "/promotions/\(open)")
        let flyer = try await shopper.get(try #require(moved.location))
        #expect(flyer.html.contains("<h1>open \(word) &lt;b&gt;</h1>"), "\(flyer.html)")
        #expect(flyer.html.contains("CODE-OPEN"))
        #expect(flyer.link("/brands/house-") == "/brands/house-\(word.lowercased())-\(brand.objectId)")
        #expect(try await shopper.get("/promotions/\(future)").status == 404)
        #expect(try await !shopper.get("/promotions/\(ended)").html.contains("CODE-ENDED"))
        // A push message opens a promotion that is not on the home page.
        #expect(try await shopper.get("/promotions/\(draft)").status == 200)
    }
}
