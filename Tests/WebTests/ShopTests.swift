import Foundation
import Messages
import ParseProtocol
import ProcessKit
import Testing
import WebService

/// The storefront's pages without a suite: their requests and their markup.
@Suite struct ShopTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Services/Web/Storefront")

    private static func shop() throws -> Shop {
        try Shop(
            reading: folder, shopName: "Beauty & Me", currency: try Currency("usd"), zone: .utc, isSandbox: true,
            assets: "/shop/assets/1/shop")
    }

    private static func request(_ method: String, _ path: [String], _ results: [(Int, JSON)] = []) -> ShopRequest {
        .with {
            $0.method = method
            $0.path = path
            $0.languages = "en"
            $0.results = results.map { status, body in
                .with {
                    $0.status = UInt32(status)
                    $0.body = Data(body.serialized)
                }
            }
        }
    }

    @Test func aPageAsksFirstAndIsShownThen() throws {
        let shop = try Self.shop()
        let asks = shop.reply(to: Self.request("GET", ["products", "a-b-abc"])).asks.asks
        #expect(asks.map(\.path) == ["classes/Product/abc", "classes/ProductReview", "classes/Page"])
        let product: JSON = ["objectId": "abc", "name": "A & B", "unitPrice": 3.5, "priceUnit": "kg", "stock": 2]
        let page = shop.reply(
            to: Self.request(
                "GET", ["products", "a-b-abc"], [(200, product), (200, ["results": []]), (200, ["results": []])])
        ).page
        #expect(page.status == 200)
        #expect(!page.personal)
        #expect(page.html.contains("<h1>A &amp; B</h1>"), "\(page.html)")
        #expect(page.html.contains("$3.50/kg"))
        #expect(page.html.contains("Only 2 left"))
    }

    /// ASCII has a quicker way than other letters: names of both have the same addresses.
    @Test(
        arguments: [
            ("Creme 50% OFF!! (9 ml)", "creme-50-off-9-ml-abc"), ("Crème 50% OFF!! (9 ml)", "creme-50-off-9-ml-abc"),
            (" --A_b.C\r\nd ", "a-b-c-d-abc"), (" --Ä_b.C\r\nd ", "a-b-c-d-abc"), ("?!", "abc"), ("…", "abc"),
            (String(repeating: "A", count: 81), String(repeating: "a", count: 80) + "-abc"),
            (String(repeating: "Ä", count: 81), String(repeating: "a", count: 80) + "-abc"),
        ] as [(String, String)])
    func theAddressHasTheNameInSmallLetters(_ name: String, _ address: String) throws {
        let product: JSON = ["objectId": "abc", "name": .string(name)]
        let page = try Self.shop().reply(
            to: Self.request(
                "GET", ["products", "old-abc"], [(200, product), (200, ["results": []]), (200, ["results": []])])
        ).page
        #expect(page.location == "/products/\(address)")
    }

    @Test(arguments: ["A & B", ""], ["sku-1", "-1--a-"])
    func anIdWithDashesIsFoundInItsAddress(_ name: String, _ id: String) throws {
        let shop = try Self.shop()
        let address = (name.isEmpty ? "--" : "a-b--") + id
        let path = ["products", address]
        #expect(shop.reply(to: Self.request("GET", path)).asks.asks.first?.path == "classes/Product/\(id)")
        let product: JSON = ["objectId": .string(id), "name": .string(name)]
        let none: (Int, JSON) = (200, ["results": []])
        func page(_ path: [String]) -> ShopPage {
            shop.reply(to: Self.request("GET", path, [(200, product), none, none])).page
        }
        #expect(page(path).status == 200)
        #expect(page(["products", "old--" + id]).location == "/products/\(address)")
    }

    @Test(
        arguments: [
            ("  For\u{00A0}dry \r\n skin.\n", "For dry skin."), ("", ""),
            (String(repeating: "é", count: 200), String(repeating: "é", count: 160)),
            (String(repeating: "ab ", count: 53), String(repeating: "ab ", count: 52) + "ab"),
            (String(repeating: "ab ", count: 54), String(repeating: "ab ", count: 52) + "ab…"),
            ("a" + String(repeating: " ", count: 1000) + "b", "a"),
        ] as [(String, String)])
    func theDescriptionIsTheFirstWords(_ detail: String, _ description: String) throws {
        let product: JSON = ["objectId": "abc", "name": "A", "detail": .string(detail)]
        let page = try Self.shop().reply(
            to: Self.request(
                "GET", ["products", "a-abc"], [(200, product), (200, ["results": []]), (200, ["results": []])])
        ).page
        let tag = #"<meta name="description" content="\#(description)">"#
        #expect(description.isEmpty ? !page.html.contains("og:description") : page.html.contains(tag), "\(page.html)")
    }

    @Test func aRefusedRequestIsAPageWithItsStatus() throws {
        let shop = try Self.shop()
        func status(_ result: (Int, JSON)) -> UInt32 {
            shop.reply(to: Self.request("GET", ["brands", "x"], [result])).page.status
        }
        #expect(status((404, ["code": 101, "error": "Object not found."])) == 404)
        #expect(status((429, ["code": 155, "error": "Too many."])) == 429)
        #expect(status((503, ["code": 2, "error": "…"])) == 503)
        #expect(status((400, ["code": 102, "error": "…"])) == 400)
    }

    @Test func anOddPathIsNotFound() throws {
        let shop = try Self.shop()
        for (method, path) in [("GET", ["x"]), ("POST", []), ("PUT", ["bag"]), ("GET", ["bag", "code"])] {
            #expect(shop.reply(to: Self.request(method, path)).page.status == 404, "\(method) \(path)")
        }
    }

    /// What the page of an attempt shows for the answer of the shop's payments.
    @Test func theReturnFollowsTheAnswerOfPayments() throws {
        let shop = try Self.shop()
        func page(_ results: [(Int, JSON)], guest: Bool = true) -> ShopPage {
            var request = Self.request("GET", ["checkout", "return"], results)
            request.query = ["attempt": "a&b", "redirect_status": "succeeded"]
            request.userID = "u1"
            request.guest = guest
            return shop.reply(to: request).page
        }
        let asks: JSON = ["result": ["status": "requiresAction", "clientSecret": "pi_1_secret_2", "orderId": "o"]]
        let asked = page([(200, asks)])
        #expect(asked.status == 200 && asked.personal)
        #expect(asked.html.contains(#"name="attempt" value="a&amp;b""#), "\(asked.html)")
        // The sandbox needs no secret in the page.
        #expect(!asked.html.contains("_secret_") && !asked.runsStripe)
        #expect(page([(200, ["result": ["orderId": "o/1", "orderNo": 1]])]).location == "/orders/o%2F1?thanks=1")
        for pending: (Int, JSON) in [(500, ["code": 124, "error": "…"]), (503, ["code": 2, "error": "…"])] {
            #expect(page([pending]).html.contains("/checkout/return?attempt=a%26b"))
        }
        #expect(page([(404, ["code": 101, "error": "…"])]).location == "/checkout")
        let bag: JSON = ["result": ["items": [["quantity": 1]], "totalMinorUnits": 350]]
        let entered: JSON = ["shippingAddress": ["city": "Springfield"], "note": "Ring twice."]
        let details: JSON = ["code": "card_declined", "order": entered]
        let refused: JSON = ["code": 141, "error": "Declined.", "details": details]
        let explained = page([(400, refused), (200, bag), (200, ["results": []]), (200, [:])])
        #expect(explained.status == 200)
        for text in ["Declined.", "Springfield", "Ring twice."] {
            #expect(explained.html.contains(text), "\(explained.html)")
        }
    }

    @Test func theCheckoutGoesOnWithAPaymentThatWaits() throws {
        let bag: JSON = ["items": [["quantity": 1]], "totalMinorUnits": 350, "waitingPayment": "a&b"]
        let results: [(Int, JSON)] = [(200, ["result": bag]), (200, ["results": []]), (200, [:])]
        var request = Self.request("GET", ["checkout"], results)
        request.userID = "u1"
        request.guest = true
        let page = try Self.shop().reply(to: request).page
        #expect(page.location == "/checkout/return?attempt=a%26b&again=1")
    }

    @Test func amountsFollowTheLanguage() throws {
        var request = Self.request(
            "GET", ["brands", "t-x"],
            [
                (200, ["objectId": "x", "title": "T"]),
                (200, ["results": [["objectId": "p", "name": "P", "unitPrice": 1234.5]], "count": 1]),
                (200, ["results": []]),
            ])
        let shop = try Self.shop()
        #expect(shop.reply(to: request).page.html.contains("$1,234.50"))
        request.languages = "de-DE,de;q=0.9"
        #expect(shop.reply(to: request).page.html.contains("1.234,50 $"))
    }

    /// Scripts connect only where the gateway offers it, and follow the same parts of the page when the stock is gone.
    @Test func aProductsPageNamesWhatChanges() throws {
        let shop = try Self.shop()
        func html(stock: Int64, live: Bool) -> String {
            let product: JSON = ["objectId": "abc", "name": "A", "unitPrice": 3.5, "stock": .int(stock)]
            let empty: JSON = ["results": []]
            var request = Self.request("GET", ["products", "a-abc"], [(200, product), (200, empty), (200, empty)])
            if live {
                request.livePath = "/parse"
                request.applicationID = "my\"shop"
                request.clientKey = "k"
            }
            return shop.reply(to: request).page.html
        }
        let sold = html(stock: 0, live: true)
        #expect(sold.contains(#"data-path="/parse" data-application="my&quot;shop" data-key="k""#), "\(sold)")
        #expect(sold.contains(#"data-fresh="add" disabled>"#), "\(sold)")
        let plain = html(stock: 3, live: false)
        #expect(!plain.contains("shop-live"), "\(plain)")
        #expect(plain.contains(#"data-fresh="add">"#), "\(plain)")
        #expect(plain.contains(#"data-fresh="stock">Only 3 left<"#), "\(plain)")
    }

    @Test(arguments: ["", "https://tiles.example.org/{z}/{x}/{y}.png"])
    func storesAreOnAMapWhereTheShopHasTiles(_ address: String) throws {
        let tiles = try MapTiles(Settings(["SATCHEL_DASHBOARD_TILES": address]))
        let shop = try Shop(
            reading: Self.folder, shopName: "S", currency: try Currency("usd"), zone: .utc, isSandbox: true,
            tiles: tiles, assets: "/shop/assets/1/shop")
        let place: JSON = ["__type": "GeoPoint", "latitude": 46.95, "longitude": -7]
        func page(_ stores: [JSON]) -> ShopPage {
            let results: [(Int, JSON)] = [(200, ["results": .array(stores)]), (200, ["results": []])]
            return shop.reply(to: Self.request("GET", ["stores"], results)).page
        }
        let shown = page([
            ["objectId": "a", "name": "\"A\"", "location": place], ["objectId": "b", "name": "B"],
        ])
        #expect(shown.pictureOrigin == (address.isEmpty ? "" : "https://tiles.example.org"))
        #expect(shown.html.contains("<shop-map") == !address.isEmpty, "\(shown.html)")
        #expect(shown.html.contains(#"name="satchel-tiles""#) == !address.isEmpty)
        let pin = #"id="store-a" tabindex="-1" data-latitude="46.95" data-longitude="-7.0""#
        #expect(shown.html.contains(pin) == !address.isEmpty, "\(shown.html)")
        #expect(shown.html.contains(#"id="store-b" tabindex="-1">"#), "\(shown.html)")
        #expect(shown.html.components(separatedBy: "Show on the map").count == (address.isEmpty ? 1 : 2))
        // Nothing can be shown on it.
        let unplaced = page([["objectId": "b", "name": "B"]])
        #expect(unplaced.pictureOrigin.isEmpty && !unplaced.html.contains("<shop-map"))
    }

    private static let kept: [[String]] = [
        [], ["brands", "t-b"], ["products", "n-p"], ["search"], ["stores"], ["pages", "about"], ["promotions", "x"],
    ]

    /// The gateway keeps a page only when each of its requests reads one class alone.
    @Test(arguments: kept) func pagesOfTheCatalogAskOnlyForWhatIsKept(_ path: [String]) throws {
        let shop = try Self.shop()
        let product: JSON = ["objectId": "p", "name": "N", "unitPrice": 1, "brand": .pointer("Category", "b")]
        let other: JSON = ["objectId": "b", "title": "T", "name": "about"]
        var request = Self.request("GET", path)
        request.query = ["q": "n"]
        var steps = 0
        while case .asks(let asks)? = shop.reply(to: request).outcome, steps < 8 {
            steps += 1
            for ask in asks.asks {
                #expect(ask.method == "GET" && !ask.query.contains("include"), "\(ask.path)?\(ask.query)")
                let parts = ask.path.split(separator: "/")
                try #require(parts.count > 1 && parts[0] == "classes", "\(ask.path)")
                let object = parts[1] == "Product" ? product : other
                let body: JSON = parts.count == 3 ? object : ["results": [object], "count": 1]
                request.results.append(
                    .with {
                        $0.status = 200
                        $0.body = Data(body.serialized)
                    })
            }
        }
        let page = shop.reply(to: request).page
        #expect(page.status == 200 && !page.personal)
        if path.first == "products" || path.first == "search" { #expect(page.html.contains(">T<"), "\(page.html)") }
    }

    @Test func theShoppersPartOfAPageComesSeparately() throws {
        let shop = try Self.shop()
        var results: [(Int, JSON)] = [(200, ["result": ["badgeCount": 2]])]
        func reply(guest: Bool) -> ShopReply {
            var request = Self.request("GET", ["badge"], results)
            request.query = ["product": "p"]
            request.userID = "u"
            request.guest = guest
            return shop.reply(to: request)
        }
        #expect(reply(guest: true).page.html == #"{"pieces":2,"signedIn":false}"#)
        #expect(reply(guest: false).asks.asks.map(\.path) == ["users/me"])
        results.append((200, ["firstName": "Ann <"]))
        #expect(reply(guest: false).asks.asks.map(\.path) == ["classes/FavoriteProduct"])
        results.append((200, ["results": [["objectId": "f"]]]))
        let page = reply(guest: false).page
        #expect(page.personal)
        let part = try JSON(parsing: Array(page.html.utf8))
        #expect(part == ["pieces": 2, "signedIn": true, "name": "Ann <", "favorite": "f"])
    }
}
