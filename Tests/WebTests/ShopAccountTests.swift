import Foundation
import Messages
import ParseProtocol
import Testing
import WebService

/// The account's pages of the storefront without a suite.
@Suite struct ShopAccountTests {
    private static func reply(
        _ method: String, _ path: String, form: [String: String] = [:], kept: [String: String] = [:],
        user: String = "u1", language: String = "en", _ results: [JSON] = []
    ) throws -> ShopReply {
        try ShopReplies.reply(method, path, form: form, kept: kept, user: user, language: language, results)
    }

    @Test func strangersAreSentToTheLogIn() throws {
        for name in ["contact", "addresses", "payments", "devices", "password", "delete"] {
            let page = try Self.reply("GET", "account/\(name)", user: "").page
            #expect(page.status == 303)
            #expect(page.location == "/log-in?next=%2Faccount%2F\(name)")
        }
        #expect(try Self.reply("GET", "account/forgotten", user: "").page.status == 200)
        #expect(try Self.reply("GET", "account/nothing", user: "").page.status == 404)
        #expect(try Self.reply("POST", "account/addresses/a1/nothing").page.status == 404)
    }

    @Test func aWrongFieldIsMarkedAndTheRestIsKept() throws {
        let form = ["firstName": "\"Ann\"", "city": "Rome", "zipcode": String(repeating: "9", count: 201)]
        let refused = try Self.reply("POST", "account/addresses/new", form: form, language: "de").page
        #expect(refused.status == 303 && refused.location == "/account/addresses/new")
        let page = try Self.reply("GET", "account/addresses/new", kept: refused.kept, language: "de").page
        #expect(page.html.contains(#"name="firstName" value="&quot;Ann&quot;""#), "\(page.html)")
        #expect(page.html.contains(#"id="lastName-wrong">Bitte fülle dieses Feld aus."#))
        #expect(page.html.contains(#"id="zipcode-wrong">Dieser Text ist zu lang."#))
        #expect(!page.html.contains("city-wrong"))
    }

    @Test func aPasswordIsCheckedBeforeItIsReplacedAndNeverShown() throws {
        let form = ["password": "old-secret", "newPassword": "new-secret"]
        func reply(_ results: [JSON]) throws -> ShopReply {
            try Self.reply("POST", "account/password", form: form, results)
        }
        #expect(try reply([]).asks.asks.map(\.path) == ["users/me"])
        let user: JSON = ["objectId": "u1", "username": "ann"]
        #expect(try reply([user]).asks.asks.map(\.path) == ["verifyPassword"])
        let wrong = try reply([user, ["code": 101, "error": "Invalid username/password."]]).page
        #expect(wrong.location == "/account/password")
        #expect(!wrong.kept.values.contains { $0.contains("secret") }, "\(wrong.kept)")
        let change = try #require(try reply([user, user]).asks.asks.first)
        #expect(change.method == "PUT" && change.path == "users/u1" && change.beginsSession)
        #expect(try reply([user, user, ["updatedAt": "2030-05-02T10:15:00.000Z"]]).page.location == "/account?saved=1")
        let policy = try reply([user, user, ["code": 142, "error": "Choose another one."]]).page
        let shown = try Self.reply("GET", "account/password", kept: policy.kept).page
        #expect(shown.html.contains(#"id="newPassword-wrong">Choose another one."#), "\(shown.html)")
    }

    @Test func onlyLinesThatAreSoldAreOrderedAgain() throws {
        func line(_ id: String, _ product: JSON) -> JSON {
            var product = product
            product["objectId"] = .string(id)
            return ["objectId": .string("i\(id)"), "quantity": 3, "product": product]
        }
        let order: JSON = [
            "objectId": "o1",
            "items": [
                line("sold", ["name": "A", "stock": 5]), line("inactive", ["name": "B", "active": false]),
                line("empty", ["name": "C", "stock": 0]), line("deleted", [:]),
            ],
        ]
        let asks = try Self.reply("POST", "orders/o1/again", [order]).asks.asks
        #expect(asks.map(\.path) == ["functions/addToBag"])
        let body = try JSON(parsing: Array(try #require(asks.first).body))
        #expect(body == ["productId": "sold", "quantity": 3])
        #expect(try Self.reply("POST", "orders/o1/again", [order, ["result": [:]]]).page.location == "/bag?missing=3")
    }

    @Test func anOrderShowsRefundsOfItsLinesAndLinksOnlyToTheWeb() throws {
        var order: JSON = [
            "objectId": "o1", "orderNo": 7, "orderStatus": 1, "orderState": "shipped", "total": 1520,
            "discountMinorUnits": 380, "refundState": "done", "trackingNumber": "T1",
            "trackingUrl": "javascript:alert(1)",
            "items": [["objectId": "i1", "quantity": 2, "name": "A", "unitPriceMinorUnits": 350]],
        ]
        #expect(try Self.reply("GET", "orders/o1", [order]).asks.asks.map(\.path) == ["functions/orderRefunds"])
        let refunds: JSON = [
            "result": [
                ["amount": 280, "state": "done", "lines": [["itemId": "i1", "quantity": 1]]],
                ["amount": 280, "state": "failed", "lines": [["itemId": "i1", "quantity": 1]]],
            ]
        ]
        let page = try Self.reply("GET", "orders/o1", [order, refunds]).page
        for text in ["1 refunded", "$2.80", "Failed", "-$3.80", "$19.00", "T1"] {
            #expect(page.html.contains(text), "\(text): \(page.html)")
        }
        #expect(!page.html.contains("javascript:"))
        order["refundState"] = nil
        order["trackingUrl"] = "https://post.example/T1"
        let plain = try Self.reply("GET", "orders/o1", [order]).page
        #expect(plain.html.contains(#"href="https://post.example/T1""#))
        #expect(!plain.html.contains("Refunds"))
    }

    @Test func numbersOfAnImportedOrderMayHaveAnySize() throws {
        let huge: JSON = 9_000_000_000_000_000_000
        let order: JSON = [
            "objectId": "o1", "orderStatus": 1, "orderState": "shipped", "total": huge, "discountMinorUnits": huge,
            "refundState": "done",
            "items": [
                ["objectId": "i1", "quantity": huge, "name": "A", "unitPriceMinorUnits": 2],
                ["objectId": "i2", "quantity": .int(.min), "name": "B", "unitPriceMinorUnits": 2],
            ],
        ]
        let line: JSON = ["itemId": "i1", "quantity": huge]
        let refunds: JSON = ["result": [["amount": 1, "state": "done", "lines": [line, line]]]]
        let html = try Self.reply("GET", "orders/o1", [order, refunds]).page.html
        for text in [
            "<span>$92,233,720,368,547,758.07</span>", "<dd>$92,233,720,368,547,758.07</dd>",
            "<span>-$92,233,720,368,547,758.08</span>", "9223372036854775807 refunded",
        ] {
            #expect(html.contains(text), "\(text): \(html)")
        }
    }
}
