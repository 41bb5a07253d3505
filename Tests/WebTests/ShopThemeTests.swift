import Foundation
import Messages
import ParseProtocol
import Testing
import WebService

/// The look of the storefront, its home page and an operator's own files, without a suite.
@Suite struct ShopThemeTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Services/Web/Storefront")
    private static let none: JSON = ["results": []]

    private static func shop(own: String? = nil) throws -> Shop {
        try Shop(
            reading: folder, replacements: own, shopName: "Beauty & Me", currency: try Currency("usd"), zone: .utc,
            isSandbox: true, assets: "/shop/assets/1/shop")
    }

    private static func request(_ path: [String], _ theme: JSON? = nil, _ results: [JSON] = []) -> ShopRequest {
        .with {
            $0.method = "GET"
            $0.path = path
            $0.languages = "en"
            $0.theme = theme.map { Data($0.serialized) } ?? Data()
            $0.results = results.map { body in
                .with {
                    $0.status = 200
                    $0.body = Data(body.serialized)
                }
            }
        }
    }

    private static func page(_ path: [String], _ theme: JSON? = nil, _ results: [JSON] = []) throws -> ShopPage {
        try shop().reply(to: request(path, theme, results)).page
    }

    // MARK: - Colours and fonts

    /// As in `Tests/Pages/shop/storefront.test.mjs`, which checks the preview.
    private static let schemes: [(JSON, String)] = [
        (
            ["lightAccent": "#0055AA"],
            """
            light){:root{--ground:#fbfaf8;--card:#ffffff;--ink:#1d1b18;--soft:#6b6966;--line:#d3d2d0;\
            --accent:#0055aa;--on-accent:#ffffff;--bad:#a3241a;--good:#1f6b3a}}
            """
        ),
        (
            ["lightBackground": "#ffff00", "lightText": "#ffff66"],
            """
            light){:root{--ground:#ffff00;--card:#ffff99;--ink:#000000;--soft:#595900;--line:#d1d100;\
            --accent:#8a3b52;--on-accent:#ffffff;--bad:#a3241a;--good:#1f6b3a}}
            """
        ),
        (
            ["darkBackground": "#102030", "darkText": "#777777", "darkAccent": "red"],
            """
            dark){:root{--ground:#102030;--card:#1e2d3c;--ink:#ffffff;--soft:#abb1b7;--line:#3b4855;\
            --accent:#e79ab3;--on-accent:#000000;--bad:#ff9a8f;--good:#8fd6a5}}
            """
        ),
    ]

    @Test(arguments: schemes)
    func coloursAreReadable(_ value: JSON, _ css: String) throws {
        #expect(ShopTheme(value).css == "@media (prefers-color-scheme:\(css)\n")
    }

    @Test func contrastIsThatOfWCAG() throws {
        let gray = try #require(ShopColor("#767676"))
        #expect(abs(gray.contrast(.white) - 4.54) < 0.01)
        #expect(abs(ShopColor.black.contrast(.white) - 21) < 0.001)
        #expect(ShopColor("#ABCDEF")?.description == "#abcdef")
    }

    @Test(arguments: [
        "red", "#fff", "#12345", "#1234567", "#12345g", "rgb(0,0,0)", "#123456;}", "#12345\u{301}6", "＃123456",
        "var(--ink)", "url(//evil.example)", "", "#", "#-12345", "# 12345", "</style>", "#000000}body{display:none",
    ])
    func whatIsNoColourIsIgnored(_ text: String) {
        #expect(ShopColor(text) == nil)
        var value: JSON = [:]
        for name in ["lightAccent", "lightBackground", "lightText", "darkText", "font"] { value[name] = .string(text) }
        #expect(ShopTheme(value).css == nil)
    }

    private static let odd: [JSON] = [
        .null, [], 5, "storefront",
        ["lightAccent": ["#000000"], "font": 3, "name": [:], "sections": "new", "logo": "x"],
        ["icons": ["a"], "logo": ["url": "https://x.example"], "sections": [["new"], "x", 1], "language": 4],
    ]

    @Test(arguments: odd)
    func whatIsNoThemeIsTheStandard(_ value: JSON) throws {
        #expect(ShopTheme(value).css == nil)
        let standard = try Self.page(["offline"]).html
        #expect(try Self.page(["offline"], value).html == standard)
        #expect(!standard.contains("/theme/"))
    }

    @Test func theStyleSheetHasItsContentInItsPath() throws {
        let theme: JSON = ["font": "slab", "lightAccent": "#0055aa"]
        let path = try #require(ShopTheme(theme).path)
        let html = try Self.page(["offline"], theme).html
        #expect(html.contains(#"<link rel="stylesheet" href="\#(path)">"#))
        #expect(!html.contains("style="))
        #expect(html.contains(##"<meta name="theme-color" content="#0055aa" media="(prefers-color-scheme: light)">"##))
        let file = String(path.dropFirst("/theme/".count))
        let styles = try Self.page(["theme", file], theme)
        #expect(styles.contentType == "text/css; charset=utf-8")
        #expect(styles.html == ShopTheme(theme).css)
        #expect(styles.html.contains("Rockwell"))
        #expect(!styles.personal)
        // An old page gets the present styles, which no cache may keep under the old path.
        #expect(try Self.page(["theme", "0000000000000000.css"], theme).personal)
        #expect(try Self.page(["theme", file]).status == 404)
        #expect(ShopTheme(["font": "mono"]).path != path)
    }

    // MARK: - Name, pictures and language

    @Test func nameAndPicturesAreValues() throws {
        let name = #"R"><script>alert(1)</script>"#
        let logo: JSON = ["__type": "File", "name": "l.png", "url": #"https://shop.example/l"x.png"#]
        let theme: JSON = [
            "name": .string(name), "logo": logo, "language": "de",
            "icons": ["192": ["__type": "File", "name": "i.png", "url": "/files/i.png"], "apple": "x"],
        ]
        let html = try Self.page(["offline"], theme).html
        #expect(!html.contains("<script>alert") && html.contains("R&quot;&gt;&lt;script&gt;"))
        #expect(html.contains(#"<img src="https://shop.example/l&quot;x.png""#))
        #expect(html.contains(#"<html lang="de">"#))
        #expect(html.contains(#"<link rel="icon" href="/files/i.png" type="image/png">"#))
        #expect(html.contains(#"<link rel="apple-touch-icon" href="/shop/assets/1/shop/icon-apple.png">"#))
        let manifest = try JSON(parsing: Array(try Self.page(["manifest.webmanifest"], theme).html.utf8))
        #expect(manifest["name"] == .string(name))
        #expect(manifest["icons"]?.arrayValue?.map { $0["src"] } == ["/files/i.png"])
        for url in ["javascript:alert(1)", "//evil.example/x.png", "data:image/png,", "x.png"] {
            let logo: JSON = ["__type": "File", "name": "l", "url": .string(url)]
            let html = try Self.page(["offline"], ["logo": logo]).html
            #expect(!html.contains("<img"), "\(url)")
        }
        for wrong in ["", " ", "a\nb", String(repeating: "x", count: 61)] {
            #expect(try Self.page(["offline"], ["name": .string(wrong)]).html.contains("Beauty &amp; Me"))
        }
    }

    @Test func theManifestHasIconsOfEachKind() throws {
        let manifest = try JSON(parsing: Array(try Self.page(["manifest.webmanifest"]).html.utf8))
        let icons = manifest["icons"]?.arrayValue ?? []
        #expect(icons.map { $0["sizes"] } == ["any", "192x192", "512x512", "512x512"])
        #expect(icons.map { $0["purpose"] } == ["any", "any", "any", "maskable"])
        let site = Self.folder.deletingLastPathComponent().appending(path: "Site/shop")
        for name in ["192", "512", "maskable", "apple"] {
            let data = try Data(contentsOf: site.appending(path: "icon-\(name).png"))
            #expect(data.count <= 10 << 10 && data.starts(with: [0x89, 0x50, 0x4E, 0x47]), "\(name)")
        }
    }

    // MARK: - The home page

    @Test func theHomePageHasItsSectionsInOrder() throws {
        let theme: JSON = ["sections": ["best", "promotions", "nothing", "best", "brands"]]
        let asks = try Self.shop().reply(to: Self.request([], theme)).asks.asks
        #expect(asks.map(\.path) == ["classes/Product", "classes/Promotion", "classes/Category", "classes/Page"])
        let best: JSON = ["results": [["objectId": "p", "name": "Serum", "unitPrice": 1]]]
        let offer: JSON = [
            "objectId": "o", "content": "<b>Sale</b>", "image": ["url": "/files/large.jpg"],
            "thumbnail": ["url": "/files/small.jpg"],
        ]
        let html = try Self.page([], theme, [best, ["results": [offer]], Self.none, Self.none]).html
        let found = html.components(separatedBy: "data-section=\"").dropFirst().map { $0.prefix { $0 != "\"" } }
        #expect(found == ["best", "promotions", "brands"])
        #expect(html.contains(#"<a href="/?p=o"><img src="/files/large.jpg""#))
        #expect(html.contains("&lt;b&gt;Sale&lt;/b&gt;"))
        let without = try Self.page([], theme, [best, Self.none, Self.none, Self.none]).html
        #expect(!without.contains("data-section=\"promotions\""))
    }

    /// A browser does not wait for the place of the largest picture on the screen.
    @Test func picturesOfTheFirstSectionLoadAtOnce() throws {
        let theme: JSON = ["sections": ["promotions", "brands"]]
        func entries(_ count: Int) -> JSON {
            let one: JSON = ["objectId": "o", "title": "Bloom", "content": "Sale", "image": ["url": "/files/a.jpg"]]
            return ["results": .array(Array(repeating: one, count: count))]
        }
        func lazy(_ promotions: JSON, _ brands: JSON) throws -> Int {
            let html = try Self.page([], theme, [promotions, brands, Self.none]).html
            return html.components(separatedBy: "loading=\"lazy\"").count - 1
        }
        #expect(try lazy(entries(3), entries(2)) == 2)
        #expect(try lazy(Self.none, entries(6)) == 2)
    }

    @Test func onlyPromotionsOfTheMomentAreAskedFor() throws {
        let asks = try Self.shop().reply(to: Self.request([])).asks.asks
        let query = try #require(asks.first { $0.path == "classes/Promotion" }?.query.removingPercentEncoding)
        #expect(query.contains(#""shownFrom":{"$lte":{"#), "\(query)")
        #expect(query.contains(#""shownUntil":{"$gt":{"#) && query.contains(#""$exists":false"#), "\(query)")
        #expect(query.contains("keys=content,image,thumbnail"))
    }

    @Test func aFlyerIsShownInItsTime() throws {
        func date(_ year: Int) -> JSON { ["__type": "Date", "iso": .string("\(year)-01-01T00:00:00.000Z")] }
        func flyer(_ from: JSON?, _ until: JSON?) throws -> ShopPage {
            var promotion: JSON = [
                "objectId": "o", "content": "Sale", "discountCode": "SAVE10",
                "product": .pointer("Product", "p"), "brand": .pointer("Category", "b"),
            ]
            if let from { promotion["shownFrom"] = from }
            if let until { promotion["shownUntil"] = until }
            return try Self.page(["promotions", "o"], nil, [promotion, ["objectId": "p", "name": "Serum"]])
        }
        // The push message of a promotion that is not on the home page opens it as well.
        let page = try flyer(nil, nil)
        #expect(page.html.contains("SAVE10") && page.html.contains(#"data-text="SAVE10""#))
        #expect(page.html.contains(#"href="/products/serum-p">Serum</a>"#), "\(page.html)")
        #expect(try flyer(date(2020), date(9000)).html.contains("SAVE10"))
        #expect(try flyer(date(9000), nil).status == 404)
        let ended = try flyer(date(2020), date(2021)).html
        #expect(ended.contains("has ended") && !ended.contains("SAVE10"))
    }

    // MARK: - An operator's own files

    private static func with(_ files: [String: String], _ work: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "shop-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files {
            let url = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
        try work(folder.path)
    }

    @Test func ownFilesReplaceTheirNamesakes() throws {
        let files = [
            "problem.mustache": "{{<layout}}{{$main}}<p>{{> own/part}} {{t.bag.title}}</p>{{/main}}{{/layout}}",
            "own/part.mustache": "Own part.", "texts/en.json": #"{"bag.title":"Basket","bag":"x","..":"x"}"#,
            "texts/fr.json": #"{"bag.title":"Panier"}"#,
        ]
        try Self.with(files) { own in
            let shop = try Self.shop(own: own)
            var request = Self.request(["nothing"])
            let html = shop.reply(to: request).page.html
            #expect(html.contains("<p>Own part. Basket</p>"), "\(html)")
            request.languages = "fr"
            let french = shop.reply(to: request).page.html
            #expect(french.contains("Panier") && french.contains(#"<html lang="fr">"#))
        }
    }

    /// A text that is the same on each page is part of the template, except an unusual one. No page shows that.
    @Test func textsAreShownAsTheyAre() throws {
        let tags = "[{{t.own}}|{{t.odd}}|{{{t.own}}}|{{t.none}}|{{ t.own }}|{{t.blank}}{{#t.own}}+{{/t.own}}]"
        let files = [
            "problem.mustache": "{{<layout}}{{$main}}<p>{{> own/plain}}{{> own/comment}}</p>{{/main}}{{/layout}}",
            "own/plain.mustache": tags, "own/comment.mustache": "{{! A comment.}}\(tags)",
            "texts/en.json": #"{"own":"<b>","odd":"{{heading}}","blank":" "}"#,
        ]
        try Self.with(files) { own in
            let html = try Self.shop(own: own).reply(to: Self.request(["nothing"])).page.html
            let shown = "[&lt;b&gt;|{{heading}}|<b>||&lt;b&gt;| +]"
            #expect(html.contains("<p>\(shown)\(shown)</p>"), "\(html)")
        }
    }

    @Test(arguments: [
        ("home.mustache", "<p>\n\n{{#open}}</p>", "home.mustache is wrong in line 3"),
        ("own/part.mustache", "{{/never}}", "own/part.mustache is wrong in line 1"),
        ("texts/en.json", "[]", "texts/en.json, which is not a JSON object"),
        ("texts/english.json", "{}", "not named after a language"),
    ])
    func aBrokenFileIsNamed(_ name: String, _ text: String, _ problem: String) throws {
        try Self.with([name: text]) { own in
            let error = #expect(throws: (any Error).self) { try Self.shop(own: own) }
            #expect(error.map { "\($0)" }?.contains(problem) == true, "\(String(describing: error))")
        }
        #expect(throws: (any Error).self) { try Self.shop(own: "/nowhere/at/all") }
    }
}
