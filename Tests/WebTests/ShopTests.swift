import Foundation
import Messages
import ParseProtocol
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
        let product: JSON = ["objectId": "abc", "name": "A & B", "unitPrice": 3.5, "priceUnit": "ea", "stock": 2]
        let page = shop.reply(
            to: Self.request(
                "GET", ["products", "a-b-abc"], [(200, product), (200, ["results": []]), (200, ["results": []])])
        ).page
        #expect(page.status == 200)
        #expect(!page.personal)
        #expect(page.html.contains("<h1>A &amp; B</h1>"), "\(page.html)")
        #expect(page.html.contains("$3.50/ea"))
        #expect(page.html.contains("Only 2 left"))
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
        #expect(explained.status == 400)
        for text in ["Declined.", "Springfield", "Ring twice."] {
            #expect(explained.html.contains(text), "\(explained.html)")
        }
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
}
