import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Addresses in uploads and in File values: the server ignores a client's statement about where a file is.
@Suite struct FileAddressAdvisoryTests {
    private static func uploaded(_ suite: Suite) async throws -> (client: ParseClient, name: String) {
        let client = try await Customer.signUp(suite).client
        let answer = try await client.upload([1, 2, 3], as: "digits.txt", type: "text/plain")
        guard answer.status == 201 else { throw Unexpected("POST files", answer) }
        return (client, answer.json.text("name"))
    }

    @Test("2025-64430: no form of an upload makes the server fetch an address")
    func advisory2025_64430_noUploadIsFetched() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        try await Peer.with("http_answers.py") { peer in
            let url = JSON.string("\(peer.url)/large/10")
            let forms: [JSON] = [
                ["uri": url], ["url": url], ["base64": url],
                ["_source": ["format": "uri", "uri": url, "type": "text/plain"]],
                ["source": ["format": "uri", "uri": url]], ["file": ["uri": url]], ["fileData": ["uri": url]],
                ["fileData": ["metadata": ["uri": url], "source": url]], ["base64": ["uri": url]],
                ["__type": "File", "name": "a.txt", "url": url],
            ]
            for form in forms {
                var body = form
                body["_ApplicationId"] = "satchel"
                body["_SessionToken"] = .string(customer.client.sessionToken ?? "")
                let tunnelled = try await ParseClient(suite).send(
                    .POST, "/files/a.txt", headers: [("Content-Type", "text/plain")], body: body.serialized)
                #expect(tunnelled.status == 400, "\(form): \(tunnelled.text)")
                #expect(tunnelled.code == 130, "\(form): \(tunnelled.text)")
                // With the keys in headers, the body is the file's content and is stored unchanged.
                let raw = try await customer.client.upload(form.serialized, as: "a.json", type: "application/json")
                #expect(raw.status == 201)
                let kept = try await customer.client.download(customer.client.path(of: raw.json.text("name")))
                #expect(kept.body == form.serialized)
            }
            let forms2 = ["?uri=\(peer.url)/large/10", "?url=\(peer.url)/large/10"]
            for query in forms2 {
                let answer = try await customer.client.send(
                    .POST, "/files/a.txt\(query)", headers: customer.client.credentials, body: [])
                #expect(answer.status == 400, "\(answer.text)")
            }
            try await expectOnlyOurVisit(peer, suite)
        }
    }

    @Test("#10044: a File's url is never kept and never fetched")
    func advisory10044_foreignURLsAreNeitherKeptNorFetched() async throws {
        let suite = try await Suite.shared
        let (client, name) = try await Self.uploaded(suite)
        let master = ParseClient.master(suite)
        try await Peer.with("http_answers.py") { peer in
            let evil = "\(peer.url)/large/100"
            let file: JSON = ["__type": "File", "name": .string(name), "url": .string(evil)]
            let ours: JSON = [
                "__type": "File", "name": .string(name), "url": .string("\(suite.url)/files/satchel/\(name)"),
            ]
            let className = "Album\(Names.random(6))"
            for way in Way.allCases {
                let made = try await client.go(
                    way, .POST, "/classes/\(className)",
                    [
                        "cover": file, "pages": [file, ["deep": [file]]],
                        "more": ["__op": "AddUnique", "objects": [file]],
                    ])
                #expect(made.isSuccess, "\(way): \(made.text)")
                #expect(!made.text.contains(evil), "\(way): \(made.text)")
                let path = "/classes/\(className)/\(made.json.objectId)"
                let changed = try await client.go(way, .PUT, path, ["pages": ["__op": "Add", "objects": [file]]])
                #expect(changed.isSuccess, "\(way): \(changed.text)")
                #expect(!changed.text.contains(evil), "\(way): \(changed.text)")
                let stored = try await client.get(path)
                #expect(stored["cover"] == ours, "\(stored.text)")
                #expect(stored.json.at("pages", 2) == ours, "\(stored.text)")
                #expect(!stored.text.contains(peer.url))
            }
            // A product's pictures are processed when they are set: either the stored file of that name, or an error.
            for value in [
                file, ["__type": "File", "name": .string(evil)],
                ["__type": "File", "name": .string(evil), "url": .string(evil)], .file("../catalog.sqlite"),
                .file("/etc/passwd"), .file(String(name.prefix(33)) + "../../catalog.sqlite"),
                .file("file:///etc/passwd"),
            ] as [JSON] {
                let product = try await master.create("Product", ["name": "P", "unitPrice": 1, "fullsizeImage": value])
                #expect(product.status == 400, "\(product.text)")
                #expect(product.code == 150, "\(product.text)")
            }
            let me = try await client.get("/users/me")
            #expect(try await client.call(.PUT, "/users/\(me.objectId)", ["photo": file]).status == 200)
            #expect(try await client.get("/users/me")["photo"] == ours)
            let configured = try await master.call(.PUT, "/config", ["params": ["banner\(name.prefix(6))": file]])
            #expect(configured.status == 200)
            let config = try await client.get("/config")
            #expect(config.text.contains(name), "\(config.text)")
            #expect(!config.text.contains(peer.url), "\(config.text)")
            let exported = try await master.get("/export/\(className)")
            #expect(exported.status == 200)
            #expect(exported.text.contains(name))
            #expect(!exported.text.contains(peer.url))
            let rows = try await suite.rows("catalog", "SELECT count(*) FROM files WHERE name LIKE '%large%'")
            #expect(rows == [[0]])
            try await expectOnlyOurVisit(peer, suite)
        }
    }

    /// Checks that the peer got no request so far, and that it does report a request of this test.
    private func expectOnlyOurVisit(_ peer: Peer, _ suite: Suite) async throws {
        #expect(peer.reports().isEmpty, "\(peer.reports())")
        var visitor = ParseClient(suite)
        visitor.url = peer.url
        #expect(try await visitor.send(.GET, "/echo").status == 200)
        try await eventually("the peer reports the visit") { peer.reports().count == 1 }
    }

    @Test("2026-109301: File values of any form are stored, refused or queried without harm")
    func advisory2026_109301_fileValuesWithoutAURLEndNothing() async throws {
        let suite = try await Suite.shared
        let pulse = try await suite.pulse()
        let (client, name) = try await Self.uploaded(suite)
        let className = "Shape\(Names.random(6))"
        let good: JSON = ["__type": "File", "name": .string(name)]
        let first = try await client.create(className, ["file": good, "list": [good]])
        #expect(first.status == 201, "\(first.text)")
        let path = "/classes/\(className)/\(first.objectId)"
        let bad: [JSON] = [
            ["__type": "File"], ["__type": "File", "url": "http://a.example/x"], ["__type": "File", "name": .null],
            ["__type": "File", "name": ""], ["__type": "File", "name": 0], ["__type": "File", "name": [.string(name)]],
            ["__type": "File", "name": ["$ne": ""]], ["__type": "File", "name": "a\u{0}b"],
            ["__type": ["$ne": 1], "name": .string(name)], ["__type": .null, "name": .string(name)],
        ]
        for value in bad {
            for (field, body) in [
                ("file", value), ("list", [value]), ("deep", ["a": [["b": value]]]),
                ("list", ["__op": "Add", "objects": [value]]), ("list", ["__op": "AddUnique", "objects": [value]]),
                ("deep.a", value),
            ] as [(String, JSON)] {
                for way in [Way.plain, .tunnelled, .batched] {
                    let outcome = try await client.go(way, .PUT, path, [field: body])
                    #expect(!outcome.isSuccess, "\(way) \(value): \(outcome.text)")
                    #expect([107, 111].contains(outcome.code), "\(way) \(value): \(outcome.text)")
                }
            }
            for condition in [
                ["file": value], ["file": ["$in": [value]]], ["list": ["$all": [value]]], ["$or": [["file": value]]],
            ]
                as [JSON]
            {
                let found = try await client.find(className, condition)
                #expect([200, 400].contains(found.status), "\(condition): \(found.text)")
                #expect(found.results.isEmpty, "\(condition): \(found.text)")
            }
            #expect(try await client.run("addToBag", ["productId": value]).code == 142)
            #expect(try await client.call(.PUT, "/users/me", ["photo": value]).status >= 400)
        }
        // Other members next to the name are dropped, and the url is always the server's.
        for value in [
            good, ["__type": "File", "name": .string(name), "url": .null],
            ["__type": "File", "name": .string(name), "url": ["$ne": 1]],
            ["__type": "File", "name": .string(name), "_source": ["format": "uri"]],
        ] as [JSON] {
            #expect(try await client.call(.PUT, path, ["file": value]).status == 200)
            let url = try await client.get(path).json.at("file", "url")
            #expect(url == .string("\(suite.url)/files/satchel/\(name)"))
            #expect(try await client.find(className, ["file": good]).results.count == 1)
        }
        #expect(try await suite.pulse() == pulse)
    }
}
