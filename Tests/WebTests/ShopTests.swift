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
