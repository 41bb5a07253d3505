import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Pull-to-refresh: a client that already has the current answer gets 304 without a body (RFC 9110, section 13).
@Suite struct ConditionalGetTests {
    private func get(
        _ client: ParseClient, _ path: String, knowing tag: String? = nil
    ) async throws -> ParseClient.Answer {
        try await client.send(
            .GET, path, headers: client.credentials + (tag.map { [("If-None-Match", $0)] } ?? []))
    }

    @Test func whatDidNotChangeIsNotSentAgain() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Balm", "Serum"])
        let client = ParseClient(suite)
        let condition = ParseClient.queryText(["where": ["brand": shelf.pointer], "order": "name"])
        let paths = [
            "/classes/Product/\(shelf.productIds[0])", "/classes/Product?\(condition)",
            "/classes/Product?\(condition)&include=brand&count=1", "/config",
        ]
        for path in paths {
            let first = try await get(client, path)
            let tag = try #require(first.headers.first(name: "ETag"))
            #expect(tag.hasPrefix("\""))
            #expect(tag.hasSuffix("\""))
            #expect(tag.count == 18)
            #expect(first.headers.first(name: "Cache-Control") == "private, no-cache")
            #expect(first.headers.first(name: "Vary")?.contains("X-Parse-Session-Token") == true)
            for known in [tag, "W/\(tag)", "\"other\", \(tag)", "\"other\" ,W/\(tag)", "*"] {
                let second = try await get(client, path, knowing: known)
                #expect(second.status == 304, "\(path) \(known)")
                #expect(second.body.isEmpty, "\(path) \(known)")
                #expect(second.headers.first(name: "ETag") == tag)
                #expect(second.headers.first(name: "Access-Control-Allow-Origin") == "*")
                #expect(second.headers.first(name: "Content-Type") == nil)
            }
            for known in ["\"other\"", "", tag.replacing("\"", with: ""), "\"\(tag)\""] {
                let second = try await get(client, path, knowing: known)
                #expect(second.status == 200, "\(path) \(known)")
                #expect(second.body == first.body, "\(path) \(known)")
            }
        }
    }

    @Test func aChangeChangesTheTagOfEverythingThatShowsIt() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Balm"])
        let client = ParseClient(suite)
        let master = ParseClient.master(suite)
        let object = "/classes/Product/\(shelf.productIds[0])"
        let page = "/classes/Product?\(ParseClient.queryText(["where": ["brand": shelf.pointer], "include": "brand"]))"
        var tags: [String: String] = [:]
        for path in [object, page] { tags[path] = try await get(client, path).headers.first(name: "ETag") }
        // Only the included brand changes. It is part of the page's answer, but not of the object.
        _ = try await master.call(.PUT, "/classes/Category/\(shelf.brandId)", ["title": "New"])
        #expect(try await get(client, object, knowing: tags[object]).status == 304)
        let changed = try await get(client, page, knowing: tags[page])
        #expect(changed.status == 200)
        #expect(changed.text.contains("\"New\""))
        _ = try await master.call(.PUT, object, ["name": "Better balm"])
        #expect(try await get(client, object, knowing: tags[object]).status == 200)
    }

    @Test func theTagOfOneUsersAnswerIsWorthNothingToAnother() async throws {
        let suite = try await Suite.shared
        let ann = try await Customer.signUp(suite)
        let bob = try await Customer.signUp(suite)
        let mine = try await get(ann.client, "/users/me")
        let tag = try #require(mine.headers.first(name: "ETag"))
        let theirs = try await get(bob.client, "/users/me", knowing: tag)
        #expect(theirs.status == 200)
        #expect(theirs["objectId"] == .string(bob.userId))
        // A client whose session ended gets the error instead of 304.
        _ = try await ann.client.call(.POST, "/logout")
        #expect(try await get(ann.client, "/users/me", knowing: tag).code == 209)
    }

    @Test func onlyGETsAreConditional() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Balm"])
        let client = ParseClient(suite)
        let path = "/classes/Product/\(shelf.productIds[0])"
        let tag = try #require(try await get(client, path).headers.first(name: "ETag"))

        let head = try await client.send(.HEAD, path, headers: client.credentials)
        #expect(head.status == 200)
        #expect(head.headers.first(name: "ETag") == tag)
        #expect(head.body.isEmpty)
        let tunnelled = try await client.send(
            .POST, path, headers: [("Content-Type", "text/plain"), ("If-None-Match", "*")],
            body: Array(#"{"_method":"GET","_ApplicationId":"satchel"}"#.utf8))
        #expect(tunnelled.status == 200)
        #expect(tunnelled["name"] == "Balm")
        #expect(tunnelled.headers.first(name: "ETag") == nil)
        let missing = try await get(client, "/classes/Product/missing000", knowing: "*")
        #expect(missing.status == 404)
        #expect(missing.code == 101)
        #expect(missing.headers.first(name: "ETag") == nil)
        let created = try await client.send(
            .POST, "/classes/Tag\(Names.random(6))", headers: client.credentials + [("If-None-Match", "*")],
            body: Array("{}".utf8))
        #expect(created.status == 201)
        #expect(created.headers.first(name: "ETag") == nil)
    }

    @Test func browsersMaySendAndReadTheTag() async throws {
        let client = ParseClient(try await Suite.shared)
        let preflight = try await client.send(.OPTIONS, "/classes/Product")
        #expect(preflight.headers.first(name: "Access-Control-Allow-Headers")?.contains("If-None-Match") == true)
        let answer = try await get(client, "/classes/Product?limit=1")
        #expect(answer.headers.first(name: "Access-Control-Expose-Headers")?.contains("ETag") == true)
    }
}
