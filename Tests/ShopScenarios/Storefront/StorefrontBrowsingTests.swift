import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Brands, search, company pages and stores of the storefront, and its data for search engines.
@Suite struct StorefrontBrowsingTests {
    /// The path or URL after a text, up to the next quote.
    private static func address(after start: String, in html: String) -> String? {
        guard let found = html.range(of: start) else { return nil }
        return String(html[found.upperBound...].prefix { $0 != "\"" }).replacing("&amp;", with: "&")
    }

    @Test func aBrandHasLettersPagesAndOneAddress() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let word = Names.random(8)
        let brand = try await master.create("Category", ["title": .string("House \(word)")])
        for number in 1...26 {
            let letter = number == 26 ? "Z" : "A"
            let product = try await master.create(
                "Product",
                [
                    "name": .string("\(letter)\(word) \(String(format: "%02d", number))"), "unitPrice": 2,
                    "brand": .pointer("Category", brand.objectId),
                ])
            try #require(product.status == 201, "\(product.text)")
        }
        let browser = Browser(suite)
        let moved = try await browser.get("/brands/other-\(brand.objectId)?view=list&evil=1")
        #expect(moved.status == 301)
        let path = "/brands/house-\(word.lowercased())-\(brand.objectId)"
        #expect(moved.location == path + "?view=list")
        let first = try await browser.get(path)
        #expect(first.status == 200)
        #expect(first.html.contains("26 products"), "\(first.html)")
        #expect(first.html.contains(#"id="letter-A""#) && !first.html.contains(#"id="letter-Z""#))
        #expect(Self.address(after: #"rel="canonical" href=""#, in: first.html)?.hasSuffix(path) == true)
        let next = try #require(Self.address(after: #"rel="next" href=""#, in: first.html))
        #expect(try await browser.get(next).html.contains("Z\(word) 26"))
        // A robot that counts on finds an end.
        let beyond = try await browser.get("\(path)?page=9999999999")
        #expect(!beyond.html.contains(#"rel="next""#) && beyond.html.contains("noindex"), "\(beyond.html)")
        let letter = try await browser.get(try #require(first.link("\(path)?letter=Z")))
        #expect(letter.html.contains("1 products") && letter.html.contains("Z\(word) 26"), "\(letter.html)")
        #expect(letter.html.contains("noindex"))
        #expect(first.html.contains(#""@type":"BreadcrumbList""#))

        // A product that gets another name keeps its old links.
        let product = try #require(first.link("/products/"))
        let id = try #require(product.split(separator: "-").last)
        let page = try await browser.get(product)
        #expect(page.html.contains(#""@type":"Offer""#), "\(page.html)")
        #expect(page.html.contains("More of this brand"))
        _ = try await master.call(.PUT, "/classes/Product/\(id)", ["name": .string("</script>\(word)")])
        let renamed = try await browser.get(product)
        #expect(renamed.status == 301)
        #expect(renamed.location == "/products/script-\(word.lowercased())-\(id)")
        let shown = try await browser.get(try #require(renamed.location))
        #expect(shown.html.contains(#""name":"\u003c/script\u003e"#), "\(shown.html)")
    }

    @Test func theSearchFieldGetsSuggestions() async throws {
        let suite = try await Suite.shared
        let word = Names.random(10)
        let product = try await ParseClient.master(suite).create(
            "Product",
            [
                "name": .string("Pick \(word)"), "unitPrice": 2,
            ])
        _ = try await ParseClient.master(suite).create(
            "Product",
            [
                "name": .string("Old \(word)"), "unitPrice": 2, "active": false,
            ])
        let page = try await Browser(suite).get("/search/suggestions?q=\(word.lowercased())", accept: "*/*")
        #expect(page.status == 200)
        #expect(page.headers.first(name: "Content-Type") == "application/json; charset=utf-8")
        let found = try JSON(parsing: Array(page.html.utf8))["suggestions"]
        let wanted: JSON = [
            [
                "title": .string("Pick \(word)"),
                "href": .string("/products/pick-\(word.lowercased())-\(product.objectId)"),
            ]
        ]
        #expect(found == wanted, "\(page.html)")
    }

    @Test func companyPagesAreShownWhenTheyArePublished() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        // The footer shows the first pages by name.
        let name = "0\(Names.random(10).lowercased())"
        let made = try await master.create(
            "Page",
            [
                "name": .string(name), "title": "Terms & more",
                "content": "# Terms\n\n- **Fair** <b>prices</b>\n- [Stores](/stores)",
            ])
        try #require(made.status == 201, "\(made.text)")
        let browser = Browser(suite)
        let page = try await browser.get("/pages/\(name)")
        #expect(page.status == 200)
        #expect(page.html.contains("<h2>Terms</h2>"), "\(page.html)")
        #expect(page.html.contains("<strong>Fair</strong> &lt;b&gt;prices&lt;/b&gt;"))
        #expect(page.html.contains(#"<a href="/stores">Stores</a></li>"#))
        #expect(try await browser.get("/").html.contains(#"<a href="/pages/\#(name)">Terms &amp; more</a>"#))
        #expect(try await browser.get("/pages").html.contains("/pages/\(name)"))
        _ = try await master.call(.PUT, "/classes/Page/\(made.objectId)", ["published": false])
        #expect(try await browser.get("/pages/\(name)").status == 404)
        #expect(!(try await browser.get("/").html.contains("/pages/\(name)")))
    }

    @Test func storesAreSortedByDistance() async throws {
        let suite = try await Suite.shared
        let town = Names.random(10)
        for (name, longitude) in [("Far", 33.2), ("Near", 33.0)] {
            let store = try await ParseClient.master(suite).create(
                "Store",
                [
                    "name": .string("\(name) \(town)"), "city": .string(town), "zipcode": "1", "address": "1 Main St",
                    "location": ["__type": "GeoPoint", "latitude": -51, "longitude": JSON(number: longitude)],
                ])
            try #require(store.status == 201, "\(store.text)")
        }
        let browser = Browser(suite)
        let page = try await browser.get("/stores?latitude=-51&longitude=33")
        let near = try #require(page.html.range(of: "Near \(town)"), "\(page.html)")
        let far = try #require(page.html.range(of: "Far \(town)"))
        #expect(near.lowerBound < far.lowerBound)
        #expect(page.html.contains("0.0 km away") && page.html.contains("14.0 km away"), "\(page.html)")
        #expect(try await browser.get("/stores?q=\(town)").html.contains("Far \(town)"))
        #expect(try await browser.get("/stores?latitude=1000&longitude=nan").status == 400)
    }

    @Test func searchEnginesFindEveryProduct() async throws {
        let suite = try await Suite.shared
        let product = try await ParseClient.master(suite).create(
            "Product",
            [
                "name": .string("Map \(Names.random(8))"), "unitPrice": 2,
            ])
        let hidden = try await ParseClient.master(suite).create(
            "Product",
            [
                "name": "Hidden", "unitPrice": 2, "active": false,
            ])
        let browser = Browser(suite)
        let robots = try await browser.get("/robots.txt", accept: "*/*")
        #expect(robots.status == 200)
        #expect(robots.headers.first(name: "Content-Type") == "text/plain; charset=utf-8")
        #expect(robots.html.contains("Disallow: /checkout"))
        let address = try #require(robots.html.range(of: "Sitemap: "), "\(robots.html)")
        #expect(robots.html[address.upperBound...].contains("/sitemap.xml"))
        let index = try await browser.get("/sitemap.xml", accept: "*/*")
        #expect(index.headers.first(name: "Content-Type") == "application/xml; charset=utf-8")
        #expect(index.html.contains("/sitemaps/brands.xml"), "\(index.html)")
        let files = index.html.components(separatedBy: "/sitemaps/").dropFirst().map { $0.prefix { $0 != "<" } }
        var all = ""
        for file in files { all += try await browser.get("/sitemaps/\(file)", accept: "*/*").html }
        #expect(all.contains("-\(product.objectId)</loc><lastmod>"))
        #expect(!all.contains(hidden.objectId))
        #expect(all.contains("/stores</loc>"))
    }

    @Test func theShopIsAnAppWithAnOfflinePage() async throws {
        let suite = try await Suite.shared
        let browser = Browser(suite)
        _ = try await browser.post("/bag", ["product": "none"])
        let manifest = try await browser.get("/manifest.webmanifest", accept: "*/*")
        #expect(manifest.headers.first(name: "Content-Type") == "application/manifest+json; charset=utf-8")
        let icon = try JSON(parsing: Array(manifest.html.utf8))["icons"]?.arrayValue?.first?["src"]?.stringValue
        let parts = try #require(icon).components(separatedBy: "/shop/../")
        #expect(try await browser.get(parts.joined(separator: "/"), accept: "*/*").status == 200)
        let offline = try await browser.get("/offline")
        #expect(offline.html.contains("You are offline"))
        #expect(offline.headers.first(name: "Cache-Control") == "private, no-cache")
        let worker = try await browser.get("\(parts[0])/shop/worker.js", accept: "*/*")
        #expect(worker.headers.first(name: "Service-Worker-Allowed") == "/")
        #expect(worker.headers.first(name: "Content-Security-Policy")?.contains("connect-src 'self'") == true)
        let policy = try #require(offline.headers.first(name: "Content-Security-Policy"))
        #expect(policy.contains("trusted-types worker") && policy.contains("script-src 'self'"), "\(policy)")
    }
}
