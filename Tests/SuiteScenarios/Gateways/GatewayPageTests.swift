import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Each gateway keeps pages of the storefront for itself: none of them shows an old page, or a shopper's.
@Suite(.serialized) struct GatewayPageTests {
    @Test(.timeLimit(.minutes(10))) func twoShoppersSeeTheirOwnAtBothGateways() async throws {
        try await Suite.with(scale: "gateway=2") { suite in
            let word = Names.random(10)
            let shelf = try await Shelf.fill(suite, names: ["Balm \(word)", "Secret"])
            let stranger = Browser(suite)
            let path = try #require(try await stranger.get("/products/x-\(shelf.productIds[0])").location)
            let brand = try #require(try await stranger.get("/brands/x-\(shelf.brandId)").location)
            let pages = ["/", path, brand, "/search?q=\(word)"]
            try await eachShowsWhatTheOtherChanges(suite, shelf.productIds[0], pages)
            try await noShopperIsInAnothersPage(suite, shelf, path, brand)
            try await aProductThatIsNotSoldIsGone(suite, shelf.productIds[0], path)
        }
    }

    private func hits(_ suite: Suite, gateway: Int) async throws -> Int64 {
        let info = try await SeveralGateways(suite: suite).call(gateway, .master(suite), .GET, "/serverInfo")
        return info.json.at("readCache", "hits")?.intValue ?? -1
    }

    private func change(_ suite: Suite, gateway: Int, _ object: String, _ fields: JSON) async throws {
        let answer = try await SeveralGateways(suite: suite).call(
            gateway, .master(suite), .PUT, "/classes/\(object)", fields)
        try #require(answer.status == 200, "\(answer.text)")
    }

    private func eachShowsWhatTheOtherChanges(_ suite: Suite, _ product: String, _ paths: [String]) async throws {
        let browser = Browser(suite)
        func pages(gateway: Int) async throws -> [String] {
            browser.use(gateway: gateway, of: suite)
            var pages: [String] = []
            for path in paths { pages.append(try await browser.get(path).html) }
            return pages
        }
        let before = [try await hits(suite, gateway: 1), try await hits(suite, gateway: 2)]
        for price in 20...29 as ClosedRange<Int64> {
            // Both keep the old pages.
            for _ in 0..<3 { for gateway in [1, 2] { _ = try await pages(gateway: gateway) } }
            try await change(suite, gateway: Int(price % 2) + 1, "Product/\(product)", ["unitPrice": .int(price)])
            for gateway in [1, 2] {
                for page in try await pages(gateway: gateway) {
                    #expect(page.contains("$\(price).00"), "gateway \(gateway): \(page)")
                }
            }
        }
        for gateway in [1, 2] { #expect(try await hits(suite, gateway: gateway) > before[gateway - 1] + 40) }
    }

    private func noShopperIsInAnothersPage(
        _ suite: Suite, _ shelf: Shelf, _ path: String, _ brand: String
    ) async throws {
        let (ann, bob, stranger) = (Browser(suite), Browser(suite), Browser(suite))
        let names = ["Ann\(Names.random(8))", "Bob\(Names.random(8))"]
        for (shopper, name) in zip([ann, bob], names) {
            let form = [
                "email": "\(name.lowercased())@customers.example", "password": "a-long-secret", "firstName": name,
            ]
            let signedUp = try await shopper.post("/sign-up", form)
            try #require(signedUp.status == 303, "\(signedUp.html)")
        }
        let token = try #require(ann.cookies.values.first)
        let me = try await ParseClient(suite, sessionToken: token).get("/users/me").objectId
        let secret = shelf.productIds[1]
        try await change(suite, gateway: 1, "Product/\(secret)", ["ACL": .object([me: ["read": true]])])
        let askers: [(Browser, Int, [String])] = [(ann, 2, [names[0]]), (bob, 1, [names[1]]), (stranger, 1, [])]
        for _ in 0..<2 {
            for gateway in [1, 2] {
                for (browser, count, shown) in askers + askers.reversed() {
                    browser.use(gateway: gateway, of: suite)
                    for path in ["/", path, brand] {
                        let page = try await browser.get(path)
                        #expect(page.status == 200)
                        #expect(!names.contains(where: { page.html.contains($0) }), "gateway \(gateway), \(path)")
                    }
                    #expect(try await browser.get(brand).html.contains("\(count) products"))
                    let own = try await browser.get("/badge").html
                    #expect(names.filter { own.contains($0) } == shown)
                }
            }
        }
    }

    private func aProductThatIsNotSoldIsGone(_ suite: Suite, _ product: String, _ path: String) async throws {
        let browser = Browser(suite)
        for (writer, reader) in [(1, 2), (2, 1)] {
            try await change(suite, gateway: writer, "Product/\(product)", ["active": true])
            for gateway in [1, 2, 1, 2, 1, 2] {
                browser.use(gateway: gateway, of: suite)
                #expect(try await browser.get(path).status == 200)
            }
            try await change(suite, gateway: writer, "Product/\(product)", ["active": false])
            for gateway in [reader, writer] {
                browser.use(gateway: gateway, of: suite)
                #expect(try await browser.get(path).status == 404, "gateway \(gateway)")
            }
        }
    }
}
