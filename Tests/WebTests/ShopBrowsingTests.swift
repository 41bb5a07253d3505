import Foundation
import Messages
import ParseProtocol
import Testing
import WebService

/// The storefront's data for search engines and other sites, and its markup of the shop's texts.
@Suite struct ShopBrowsingTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Services/Web/Storefront")
    private static let origin = "https://shop.example"
    private static let none: (Int, JSON) = (200, ["results": []])

    private static func page(
        _ path: [String], _ results: [(Int, JSON)] = [], query: [String: String] = [:], shopName: String = "Beauty & Me"
    ) throws -> ShopPage {
        let shop = try Shop(
            reading: folder, shopName: shopName, currency: try Currency("usd"), zone: .utc, isSandbox: true,
            assets: "/shop/assets/1/shop")
        let reply = shop.reply(
            to: .with {
                $0.method = "GET"
                $0.path = path
                $0.query = query
                $0.languages = "en"
                $0.url = origin
                $0.results = results.map { status, body in
                    .with {
                        $0.status = UInt32(status)
                        $0.body = Data(body.serialized)
                    }
                }
            })
        return reply.page
    }

    /// The objects for search engines, as a browser finds them.
    private static func things(_ html: String) throws -> [JSON] {
        try html.components(separatedBy: #"<script type="application/ld+json">"#).dropFirst().map { part -> JSON in
            let text = try #require(part.components(separatedBy: "</script>").first)
            return try JSON(parsing: Array(text.utf8))
        }
    }

    @Test func aProductHasStructuredData() throws {
        let product: JSON = [
            "objectId": "abc", "name": "Rose Serum", "detail": "For  dry\nskin.", "unitPrice": 3.5, "stock": 0,
            "ratingAverage": 4.5, "ratingCount": 2, "brand": .pointer("Category", "b"),
            "thumbnail": ["url": "/files/rose.jpg"],
        ]
        let brand: JSON = ["objectId": "b", "title": "Bloom"]
        let page = try Self.page(
            ["products", "rose-serum-abc"], [(200, product), Self.none, Self.none, Self.none, (200, brand)])
        let things = try Self.things(page.html)
        try #require(things.count == 2, "\(page.html)")
        #expect(things[0]["@type"] == "Product")
        #expect(things[0]["offers"]?["price"] == "3.50")
        #expect(things[0]["offers"]?["priceCurrency"] == "USD")
        #expect(things[0]["offers"]?["availability"] == "https://schema.org/OutOfStock")
        #expect(things[0]["aggregateRating"]?["ratingValue"] == 4.5)
        #expect(things[0]["image"] == "https://shop.example/files/rose.jpg")
        let crumbs = things[1]["itemListElement"]?.arrayValue ?? []
        #expect(crumbs.compactMap { $0["name"]?.stringValue } == ["Beauty & Me", "Bloom", "Rose Serum"])
        #expect(crumbs.last?["item"] == "https://shop.example/products/rose-serum-abc")
        #expect(page.html.contains(#"<link rel="canonical" href="https://shop.example/products/rose-serum-abc">"#))
        #expect(page.html.contains(#"<meta name="description" content="For dry skin.">"#), "\(page.html)")
        #expect(page.html.contains(#"<meta property="og:image" content="https://shop.example/files/rose.jpg">"#))
        #expect(!page.html.contains("noindex"))
    }

    @Test(arguments: [
        "</script><script>alert(1)</script>", "<!--<script>", #"" onerror="alert(1)"#, "\"\u{301} onload=x y=\"",
        "<\u{338}script>", "'>]]>&lt;", "{{{content}}}", "\u{2028}\\",
    ])
    func hostileNamesAreTexts(_ name: String) throws {
        let product: JSON = [
            "objectId": "abc", "name": .string(name), "detail": .string(name), "unitPrice": 1,
            "brand": .pointer("Category", "b"), "thumbnail": ["url": .string("/" + name)],
        ]
        let moved = try Self.page(["products", "abc"], [(200, product), Self.none, Self.none])
        let path = moved.status == 301 ? String(moved.location.dropFirst("/products/".count)) : "abc"
        let review: JSON = ["results": [["authorName": .string(name), "content": .string(name), "rating": 1]]]
        let others: JSON = ["results": [["objectId": "o", "name": .string(name), "unitPrice": 1]]]
        let page = try Self.page(
            ["products", path],
            [
                (200, product), (200, review), (200, ["results": [["name": "n", "title": .string(name)]]]),
                (200, others), (200, ["objectId": "b", "title": .string(name)]),
            ],
            shopName: name)
        try #require(page.status == 200)
        let thing = try #require(try Self.things(page.html).first, "\(page.html)")
        #expect(thing["name"]?.stringValue == name)
        // By scalars: a quote or bracket with a combining mark is another character.
        let scalars = page.html.unicodeScalars.map { $0.value < 0x80 ? Character($0) : "?" }
        // Structured data are no markup, and have no end but the element's.
        let data = try Regex("<script type=\"application/ld\\+json\">.*?</script>").dotMatchesNewlines()
        let html = String(scalars).replacing(data, with: "")
        for pattern in ["<script>", "<!--", "\" onerror", "\"? onload", "<?script"] {
            #expect(!html.contains(pattern), "\(pattern): \(page.html)")
        }
    }

    @Test func anObjectHasOneAddress() throws {
        let brand: JSON = ["objectId": "x", "title": "Old & New"]
        let moved = try Self.page(
            ["brands", "former-x"], [(200, brand)], query: ["sort": "-createdAt", "page": "2", "a\r\nb": "1"])
        #expect(moved.status == 301)
        #expect(moved.location == "/brands/old-new-x?page=2&sort=-createdAt")
        let page = try Self.page(["brands", "old-new-x"], [(200, brand), Self.none, Self.none])
        #expect(page.status == 200)
        #expect(page.html.contains(#"href="https://shop.example/brands/old-new-x""#))
        // A list with options is not listed.
        let sorted = try Self.page(
            ["brands", "old-new-x"], [(200, brand), Self.none, Self.none], query: ["sort": "unitPrice"])
        #expect(sorted.html.contains(#"<meta name="robots" content="noindex">"#))
    }

    @Test func aPushMessageLeadsToItsPromotion() throws {
        #expect(try Self.page([], query: ["p": "pO6jNb4wTy"]).location == "/promotions/pO6jNb4wTy")
        #expect(try Self.page([], query: ["p": "/evil.example"]).location == "/promotions/%2Fevil.example")
        let page = try Self.page(
            ["promotions", "x"], [(200, ["content": "Sale!", "image": ["url": "/files/sale.jpg"]])])
        #expect(page.html.contains(#"<meta property="og:image" content="https://shop.example/files/sale.jpg">"#))
        #expect(page.html.contains("noindex"))
    }

    @Test func aBrandHasSectionsByLetter() throws {
        let brand: JSON = ["objectId": "x", "title": "T"]
        let names = ["10 Balm", "Apple", "Zinc", "apricot", "Öl"]
        let products = names.enumerated().map { index, name -> JSON in
            ["objectId": .string("p\(index)"), "name": .string(name), "unitPrice": 1]
        }
        let whole: JSON = ["results": .array(products), "count": 5]
        let page = try Self.page(["brands", "t-x"], [(200, brand), (200, whole), Self.none])
        #expect(page.html.components(separatedBy: "<h2 id=\"letter-").count == 4, "\(page.html)")
        #expect(page.html.contains("href=\"#letter-A\"") && !page.html.contains("href=\"#letter-B\""))
        let long: JSON = ["results": .array(products), "count": 50]
        let first = try Self.page(["brands", "t-x"], [(200, brand), (200, long), Self.none], query: ["view": "list"])
        #expect(first.html.contains("/brands/t-x?letter=B&amp;view=list"), "\(first.html)")
        #expect(first.html.contains(#"rel="next" href="/brands/t-x?page=2&amp;view=list""#))
        #expect(first.html.contains(#"class="cards list""#))
        let byPrice = try Self.page(
            ["brands", "t-x"], [(200, brand), (200, long), Self.none], query: ["sort": "unitPrice"])
        #expect(!byPrice.html.contains("letter="))
    }

    @Test func siteMapsAreBounded() throws {
        #expect(try Self.page(["sitemap.xml"], [(200, ["results": [], "count": 0])]).html.contains("brands.xml"))
        let index = try Self.page(["sitemap.xml"], [(200, ["results": [], "count": 10_001])])
        #expect(index.contentType == "application/xml; charset=utf-8")
        #expect(index.html.contains("<loc>https://shop.example/sitemaps/products-2.xml</loc>"), "\(index.html)")
        #expect(!index.html.contains("products-3.xml"))
        let huge = try Self.page(["sitemap.xml"], [(200, ["results": [], "count": 90_000_000])])
        #expect(huge.html.components(separatedBy: "<sitemap>").count == 52)
        let product: JSON = [
            "objectId": "p", "name": "A <&> B", "updatedAt": "2030-05-02T10:00:00.000Z",
        ]
        let results = [(200, ["results": [product]] as JSON)] + Array(repeating: Self.none, count: 9)
        let file = try Self.page(["sitemaps", "products-1.xml"], results)
        #expect(
            file.html.contains(
                "<url><loc>https://shop.example/products/a-b-p</loc><lastmod>2030-05-02T10:00:00.000Z</lastmod></url>"),
            "\(file.html)")
        for name in ["products-0.xml", "products-51.xml", "products-x.xml", "products-1", "x.xml"] {
            #expect(try Self.page(["sitemaps", name]).status == 404, "\(name)")
        }
    }

    @Test func browsersAndRobotsFindTheirFiles() throws {
        let robots = try Self.page(["robots.txt"])
        #expect(robots.contentType.hasPrefix("text/plain"))
        #expect(robots.html.contains("Disallow: /bag\n"))
        #expect(robots.html.contains("Sitemap: https://shop.example/sitemap.xml\n"))
        let manifest = try JSON(parsing: Array(try Self.page(["manifest.webmanifest"]).html.utf8))
        #expect(manifest["name"] == "Beauty & Me")
        #expect(manifest["icons"]?.arrayValue?.first?["src"] == "/shop/assets/1/shop/../shared/icon.svg")
        #expect(try Self.page(["offline"]).html.contains("noindex"))
    }

    @Test func suggestionsNeedTwoCharacters() throws {
        #expect(try Self.page(["search", "suggestions"], query: ["q": "a"]).html == #"{"suggestions":[]}"#)
        let page = try Self.page(
            ["search", "suggestions"],
            [
                (200, ["results": [["objectId": "b", "title": "Rose"]]]),
                (200, ["results": [["objectId": "p", "name": "Rose </script>"]]]),
            ], query: ["q": "ros"])
        let found = try JSON(parsing: Array(page.html.utf8))["suggestions"]?.arrayValue ?? []
        #expect(found.compactMap { $0["href"]?.stringValue } == ["/brands/rose-b", "/products/rose-script-p"])
        #expect(page.contentType.hasPrefix("application/json"))
    }

    @Test(arguments: [
        ("# About *us*", "<h2>About <em>us</em></h2>\n"),
        ("one\ntwo\n\nthree", "<p>one\ntwo</p>\n<p>three</p>\n"),
        (
            "- a\n* **b**\n\n1. c",
            "<ul class=\"dots\">\n<li>a</li>\n<li><strong>b</strong></li>\n</ul>\n<ol>\n<li>c</li>\n</ol>\n"
        ),
        (
            "[Shop](/x) & [mail](mailto:a@b.example)",
            "<p><a href=\"/x\">Shop</a> &amp; <a href=\"mailto:a@b.example\">mail</a></p>\n"
        ),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        ("[x](JavaScript:a) [y](//evil.example)", "<p>[x](JavaScript:a) [y](//evil.example)</p>\n"),
        ("[x](https://a.example/\"onclick=b)", "<p><a href=\"https://a.example/&quot;onclick=b\">x</a></p>\n"),
        ("2 * 3 and *more*", "<p>2 * 3 and <em>more</em></p>\n"),
        ("**open", "<p>**open</p>\n"),
        ("", ""),
    ])
    func markdownIsASmallSubset(_ text: String, _ html: String) {
        #expect(ShopMarkdown.html(text) == html)
    }

    @Test(arguments: ["[", "*", "**", "*a ", "[a](b) ", "[[](", "#"])
    func longMarkdownIsReadOnce(_ part: String) {
        let text = String(repeating: part, count: 20_000)
        #expect(ShopMarkdown.html(text).count >= text.count)
    }
}
