import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// The OpenAPI document is valid and describes exactly the routes that the gateway offers.
@Suite struct OpenAPITests {
    private static let verbs = ["get": HTTPMethod.GET, "post": .POST, "put": .PUT, "delete": .DELETE]

    private static func document(_ suite: Suite) async throws -> JSON {
        let answer = try await ParseClient(suite).send(.GET, "/openapi.json")
        guard answer.status == 200 else { throw Unexpected("GET openapi.json", answer) }
        return answer.json
    }

    /// The faults found by two third-party tools, a validator of documents and one of schemas.
    static func problems(in document: JSON, samples: [JSON]) async throws -> JSON {
        let folder = FileManager.default.temporaryDirectory.path + "/satchel-openapi-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, content) in [("document", document), ("samples", .array(samples))] {
            try Data(content.serialized).write(to: URL(fileURLWithPath: "\(folder)/\(name).json"))
        }
        let script = "\(checkoutDirectory)/Tests/Peers/clients/openapi_check.py"
        let text = try await Command.run(
            [Peer.python, script, "\(folder)/document.json", "\(folder)/samples.json"])
        return try JSON(parsing: text.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    @Test func everybodyMayReadTheDocument() async throws {
        let suite = try await Suite.shared
        var client = ParseClient(suite)
        let answer = try await client.send(.GET, "/openapi.json")
        #expect(answer.status == 200, "\(answer.text.prefix(200))")
        #expect(answer["openapi"] == "3.1.0", "\(answer.text.prefix(200))")
        #expect(answer.headers.first(name: "Content-Type") == "application/json; charset=utf-8")
        #expect(answer.json.at("servers", 0, "url") == .string(suite.url))
        client.url = client.url.replacingOccurrences(of: "/parse", with: "/1")
        let hosted = try await client.send(.GET, "/openapi.json/")
        #expect(hosted.body == answer.body)
    }

    @Test(.timeLimit(.minutes(10)))
    func theDocumentIsValidAndItsExamplesFitTheirSchemas() async throws {
        let suite = try await Suite.shared
        let document = try await Self.document(suite)
        let found = try await Self.problems(in: document, samples: [])
        #expect(found["problems"] == [], "\(found.serializedText)")
        #expect(found["operations"]?.intValue ?? 0 >= 80, "\(found)")
        #expect(found["examples"]?.intValue ?? 0 >= 130, "\(found)")
        // Checks that the tools detect faults.
        var broken = document
        broken["info"] = nil
        let samples: [JSON] = [["operation": "getHealth", "status": 200, "answer": ["status": 7]]]
        let problems = try await Self.problems(in: broken, samples: samples)["problems"]?.arrayValue ?? []
        #expect(problems.count == 2, "\(problems)")
    }

    /// Each operation, called with only the names in its path, is refused or executed, but never unknown.
    @Test(.timeLimit(.minutes(10)))
    func everyOperationOfTheDocumentHasARoute() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let document = try await Self.document(suite)
        var called = 0
        for (template, item) in document["paths"]?.objectValue ?? [:] {
            var client = master
            // Crash reports use a path outside the mount.
            if item["servers"] != nil { client.url = client.url.replacingOccurrences(of: "/parse", with: "") }
            for (name, verb) in Self.verbs where item[name] != nil {
                let answer = try await client.send(
                    verb, Self.path(template), headers: client.credentials + [("Content-Type", "application/json")],
                    body: verb == .POST || verb == .PUT ? Array("{}".utf8) : nil)
                #expect(!answer.text.contains("There is no such"), "\(verb) \(template): \(answer.text.prefix(200))")
                #expect(answer.status < 500, "\(verb) \(template): \(answer.status) \(answer.text.prefix(200))")
                if template.hasPrefix("/functions/"), !template.contains("{") {
                    #expect(answer.code != 141, "\(template): \(answer.text)")
                }
                called += 1
            }
        }
        #expect(called >= 80)
    }

    /// A route that is missing in the document answers 404 with a clear text.
    @Test(.timeLimit(.minutes(10)))
    func whatTheDocumentLacksIsNotThere() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let document = try await Self.document(suite)
        let templates = (document["paths"]?.objectValue ?? [:]).filter { $0.value["servers"] == nil }
        func isDocumented(_ verb: String, _ path: String) -> Bool {
            templates.contains { template, item in
                let (parts, wanted) = (template.split(separator: "/"), path.split(separator: "/"))
                return item[verb] != nil && parts.count == wanted.count
                    && zip(parts, wanted).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
            }
        }
        var paths = Set(templates.keys.map(Self.path))
        // One part more, one part less, different case, and routes of other servers.
        for path in paths {
            paths.insert(path + "/more")
            paths.insert(path.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" })
            paths.insert(path.uppercased())
        }
        paths.formUnion(["/graphql", "/playground", "/LiveQuery", "/apps", "/installations/a/b", "/graphql-config"])
        var refused = 0
        for path in paths.sorted() {
            for (name, verb) in Self.verbs where !isDocumented(name, path) {
                let answer = try await master.send(
                    verb, path, headers: master.credentials, body: verb == .POST ? Array("{}".utf8) : nil)
                let others = Self.verbs.keys.filter { isDocumented($0, path) }.map { $0.uppercased() }
                let allowed = answer.headers.first(name: "Allow")?.components(separatedBy: ", ") ?? []
                #expect(answer.status == 404, "\(verb) \(path): \(answer.status) \(answer.text.prefix(200))")
                #expect(
                    path.hasPrefix("/apps") || Set(allowed) == Set(others), "\(verb) \(path): \(allowed)")
                // Routes below /apps answer with a page for people.
                #expect(answer.code == 108 || path.hasPrefix("/apps"), "\(verb) \(path): \(answer.text.prefix(200))")
                refused += 1
            }
        }
        #expect(refused > 300)
    }

    /// A path with names of nonexistent objects.
    private static func path(_ template: String) -> String {
        template.split(separator: "/").reduce(into: "") { path, part in
            let value =
                switch part {
                case "{className}": "Nowhere\(part.count)"
                case "{triggerName}": "beforeSave"
                case "{applicationId}": "satchel"
                default: part.hasPrefix("{") ? "nothing123" : String(part)
                }
            path += "/\(value)"
        }
    }
}
