import ParseProtocol
import TestSupport
import Testing

/// Company pages: every client reads published content; only admins write.
@Suite struct PageTests {
    private static func page(_ name: String, published: JSON? = nil) -> JSON {
        var page: JSON = ["name": .string(name), "title": "About us", "content": "# About\n\nWe sell **serum**."]
        page["published"] = published
        return page
    }

    private static func name() -> String { "page-\(Names.random(8).lowercased())" }

    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func anybodyReadsAPublishedPage(_ style: ParseClient.Style) async throws {
        let suite = try await Suite.shared
        let name = Self.name()
        let created = try await Customer.admin(suite).create("Page", Self.page(name))
        #expect(created.status == 201, "\(created.text)")
        let stranger = ParseClient(suite, style: style)
        let found = try await stranger.find("Page", ["name": .string(name)])
        #expect(found.results.count == 1)
        #expect(found.results.first?["content"] == "# About\n\nWe sell **serum**.")
        #expect(found.results.first?["published"] == true)
        #expect(try await stranger.get("/classes/Page/\(created.objectId)")["title"] == "About us")
    }

    @Test func onlyAdminsWritePages() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let page = try await admin.create("Page", Self.page(Self.name()))
        let path = "/classes/Page/\(page.objectId)"
        for client in [ParseClient(suite), try await Customer.signUp(suite).client] {
            #expect(try await client.create("Page", Self.page(Self.name())).code == 119)
            for answer in [
                try await client.call(.PUT, path, ["content": "Mine."]), try await client.call(.DELETE, path),
            ] {
                #expect([101, 119].contains(answer.code ?? 0), "\(answer.text)")
            }
        }
        #expect(try await admin.call(.PUT, path, ["content": "Ours.", "ACL": ["*": ["write": true]]]).status == 200)
        let kept = try await ParseClient(suite).get(path)
        #expect(kept["content"] == "Ours.")
        #expect(kept.json.at("ACL", "*") == ["read": true])
        #expect(try await admin.call(.DELETE, path).status == 200)
    }

    @Test func aDraftIsForAdminsUntilItIsPublished() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let path = "/classes/Page/\(try await admin.create("Page", Self.page(Self.name(), published: false)).objectId)"
        let customer = try await Customer.signUp(suite).client
        #expect(try await customer.get(path).status == 404)
        #expect(try await ParseClient(suite).get(path).status == 404)
        #expect(try await admin.get(path)["published"] == false)
        #expect(try await admin.call(.PUT, path, ["title": "Still a draft"]).status == 200)
        #expect(try await customer.get(path).status == 404)
        #expect(try await admin.call(.PUT, path, ["published": true]).status == 200)
        #expect(try await customer.get(path)["title"] == "Still a draft")
        #expect(try await admin.call(.PUT, path, ["published": false]).status == 200)
        #expect(try await ParseClient(suite).get(path).status == 404)
        #expect(try await admin.call(.PUT, path, ["published": ["__op": "Delete"]]).code == 142)
    }

    @Test func aPageHasANameOfItsOwnThatFitsAnAddress() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let name = Self.name()
        let first = try await admin.create("Page", Self.page(name))
        #expect(try await admin.create("Page", Self.page(name, published: false)).code == 137)
        let second = try await admin.create("Page", Self.page(Self.name()))
        #expect(try await admin.call(.PUT, "/classes/Page/\(second.objectId)", ["name": .string(name)]).code == 137)
        #expect(try await admin.call(.PUT, "/classes/Page/\(first.objectId)", ["name": .string(name)]).status == 200)
        for bad in ["", "About", "a b", "-a", "a-", "a--b", "ü", "a/b", String(repeating: "a", count: 65)] {
            #expect(try await admin.create("Page", Self.page(bad)).code == 142, "\(bad)")
        }
        #expect(try await admin.create("Page", ["name": .string(Self.name())]).code == 142)
    }
}
