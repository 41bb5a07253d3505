import Foundation
import Messages
import ParseProtocol
import Testing
import WebService

/// Log-in at the storefront without a suite: the requests of the pages, and the stored session.
@Suite struct ShopSignInTests {
    private static func reply(
        _ method: String, _ path: String, query: [String: String] = [:], form: [String: String] = [:],
        kept: [String: String] = [:], user: String = "", refusal: UInt32 = 0, _ results: [JSON] = []
    ) throws -> ShopReply {
        try ShopReplies.reply(
            method, path, query: query, form: form, kept: kept, user: user, refusal: refusal, results)
    }

    private static func body(_ reply: ShopReply) throws -> JSON {
        try JSON(parsing: Array(try #require(reply.asks.asks.first).body))
    }

    @Test func theButtonsAreThoseThatWork() throws {
        #expect(try Self.body(Self.reply("GET", "log-in")) == ["step": "options"])
        let page = try Self.reply("GET", "log-in", query: ["next": "/bag"], [["providers": ["google", "twitter"]]]).page
        #expect(page.html.contains(#"href="/log-in/google?next=%2Fbag""#), "\(page.html)")
        #expect(page.html.contains("Continue with X"))
        #expect(!page.html.contains("Apple"))
        let none = try Self.reply("GET", "sign-up", [["code": 2, "error": "…"]]).page
        #expect(none.status == 200 && !none.html.contains("Continue with"))
    }

    @Test func aProviderGetsTheBrowserAndReturnsIt() throws {
        let start: JSON = ["url": "https://login.example/?state=s", "kept": ["state": "s", "nonce": "n"]]
        #expect(try Self.body(Self.reply("GET", "log-in/google")) == ["step": "begin", "provider": "google"])
        let page = try Self.reply("GET", "log-in/google", query: ["next": "//evil.example"], [start]).page
        #expect(page.leaves && page.location == "https://login.example/?state=s")
        #expect(page.kept == ["state": "s", "nonce": "n", "next": "/account"])

        let query = ["state": "s", "code": "c"]
        let kept = ["state": "s", "nonce": "n", "next": "/bag"]
        let stranger = try Self.reply("GET", "log-in/google/back", query: query).page
        #expect(stranger.location == "/log-in?next=%2Faccount" && !stranger.kept.isEmpty)
        func back(_ results: [JSON]) throws -> ShopReply {
            try Self.reply("GET", "log-in/google/back", query: query, kept: kept, results)
        }
        let end = try Self.body(back([]))
        #expect(end["step"] == "end" && end["query"] == ["state": "s", "code": "c"], "\(end)")
        #expect(end["kept"]?["nonce"] == "n")
        let proof: JSON = ["authData": ["google": ["id": "1", "id_token": "t"]]]
        let asks = try back([proof]).asks.asks
        #expect(asks.map(\.path) == ["users"] && asks.allSatisfy(\.beginsSession))
        #expect(try back([proof, ["objectId": "u"]]).page.location == "/bag")
        let coded = try back([proof, ["code": 211, "error": "Missing"]]).page
        #expect(coded.location == "/log-in/code" && coded.kept["next"] == "/bag" && coded.kept["path"] == "users")
        let away = try back([["code": 2, "error": "…"]]).page
        #expect(away.kept["problem"]?.contains("cannot be reached") == true, "\(away.kept)")
        #expect(try Self.reply("GET", "log-in/myspace", [["code": 252, "error": "…"]]).page.status == 404)
    }

    @Test func theCodeIsSentWithTheFirstRequest() throws {
        let form = ["email": "a@b.example", "password": "a-secret", "next": "/bag"]
        let asked = try Self.reply("POST", "log-in", form: form, [["code": 211, "error": "Missing"]]).page
        #expect(asked.location == "/log-in/code")
        let shown = try Self.reply("GET", "log-in/code", kept: asked.kept).page
        #expect(shown.kept == asked.kept, "Reload asks again.")
        #expect(!shown.html.contains("a-secret"))
        #expect(try Self.reply("GET", "log-in/code").page.location == "/log-in")
        func send(_ results: [JSON]) throws -> ShopReply {
            try Self.reply("POST", "log-in/code", form: ["code": "123 456"], kept: asked.kept, results)
        }
        let sent = try Self.body(send([]))
        #expect(sent.serializedText.contains("a-secret"))
        #expect(sent["authData"] == ["mfa": ["token": "123456"]], "\(sent)")
        let wrong = try send([["code": 141, "error": "Invalid MFA token"]]).page
        #expect(wrong.location == "/log-in/code")
        let again = try Self.reply("GET", "log-in/code", kept: wrong.kept).page
        #expect(again.html.contains("This code is not right"), "\(again.html)")
        #expect(again.kept == asked.kept)
        let done = try send([["objectId": "u"]]).page
        #expect(done.location == "/bag" && done.kept.isEmpty)
    }

    @Test func aRefusedRequestHasAPage() throws {
        for (status, text) in [(403, "Another site"), (413, "too large"), (429, "Too many"), (503, "on our side")] {
            let page = try Self.reply("GET", "", refusal: UInt32(status)).page
            #expect(page.status == UInt32(status))
            #expect(page.html.contains(text), "\(page.html)")
        }
        #expect(try Self.reply("GET", "", refusal: 404).page.html.contains("Not found"))
    }

    @Test func whoHasNoPasswordDeletesTheAccountWithoutOne() throws {
        let asks = try Self.reply("POST", "account/delete", user: "u1", [["hasPassword": false]]).asks.asks
        #expect(asks.map(\.method) == ["DELETE"])
        let page = try Self.reply("GET", "account/delete", user: "u1", [["hasPassword": false]]).page
        #expect(!page.html.contains(#"type="password""#))
    }
}
