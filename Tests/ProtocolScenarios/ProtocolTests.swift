import ParseProtocol
import TestSupport
import Testing

/// The basics of the Parse protocol that every SDK relies on.
@Suite struct ProtocolTests {
    @Test func keysDecideWhoIsAdmitted() async throws {
        let suite = try await Suite.shared
        var client = ParseClient(suite)
        for id in [nil, "other"] {
            client.applicationId = id
            let refused = try await client.find("Product")
            #expect(refused.status == 403)
            #expect(refused["error"] == "unauthorized" && refused.code == nil, "\(refused.text)")
        }
        client = ParseClient(suite, masterKey: "wrong")
        #expect(try await client.find("Product").status == 403)
        let info = try await ParseClient(suite).get("/serverInfo")
        #expect(info.status == 403)
        #expect(info["error"] == "unauthorized: master key is required" && info.code == nil, "\(info.text)")
        let allowed = try await ParseClient.master(suite).get("/serverInfo/")
        #expect(allowed.status == 200)
        #expect(allowed["parseServerVersion"]?.stringValue != nil)
        #expect(allowed["features"]?.objectValue != nil)
    }

    @Test func anUnknownRouteIsA404InJSON() async throws {
        let client = ParseClient(try await Suite.shared)
        for path in ["/nothing", "/classes", "/", "/classes/A/b/c"] {
            let answer = try await client.get(path)
            #expect(answer.status == 404, "\(path): \(answer.status) \(answer.text)")
            #expect(answer.code != nil)
            #expect(answer.headers.first(name: "Content-Type")?.hasPrefix("application/json") == true)
        }
    }

    @Test func browsersAreAllowed() async throws {
        let client = ParseClient(try await Suite.shared)
        let preflight = try await client.send(
            .OPTIONS, "/classes/Product",
            headers: [("Origin", "http://shop.example"), ("Access-Control-Request-Method", "PUT")])
        #expect(preflight.status == 200)
        #expect(preflight.headers.first(name: "Access-Control-Allow-Origin") == "*")
        #expect(preflight.headers.first(name: "Access-Control-Allow-Methods")?.contains("PUT") == true)
        #expect(
            preflight.headers.first(name: "Access-Control-Allow-Headers")?.contains("X-Parse-Session-Token") == true)
        let errors = try await client.get("/classes/Product/nothing")
        #expect(errors.headers.first(name: "Access-Control-Allow-Origin") == "*")
    }

    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func anObjectsLife(style: ParseClient.Style) async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite, style: style)
        let className = "Life\(Names.random(6))"
        #expect(try await client.find(className).json == ["results": []])

        let created = try await client.create(
            className,
            [
                "name": "Ann", "count": ["__op": "Increment", "amount": 2],
                "tags": ["__op": "AddUnique", "objects": ["a", "a"]],
                "gone": ["__op": "Delete"], "nothing": .null,
                "seen": ["__type": "Date", "iso": "2022-01-01T12:23:45.678Z"],
                "nested": ["deep": [1, 2.5, true]],
            ])
        try #require(created.status == 201, "\(created.text)")
        #expect(created.headers.first(name: "Location") == "\(suite.url)/classes/\(className)/\(created.objectId)")
        #expect(created.objectId.count == 10)
        let path = "/classes/\(className)/\(created.objectId)"
        let read = try await client.get(path)
        #expect(read["createdAt"] == created["createdAt"])
        #expect(read["updatedAt"] == created["createdAt"])
        #expect(read["count"] == 2)
        #expect(read["tags"] == ["a"])
        #expect(read["gone"] == nil)
        #expect(read["nothing"] == .some(.null))
        #expect(read.json.at("seen", "iso") == "2022-01-01T12:23:45.678Z")
        #expect(read.json.at("nested", "deep") == [1, 2.5, true])
        #expect(read["ACL"] == nil)

        let updated = try await client.call(
            .PUT, path,
            [
                "count": ["__op": "Increment", "amount": -5], "tags": ["__op": "Add", "objects": ["b", "c"]],
                "name": ["__op": "Delete"], "nested.deep": "flat",
            ])
        #expect(updated.status == 200, "\(updated.text)")
        #expect(updated["count"] == -3)
        #expect(updated["tags"] == ["a", "b", "c"])
        #expect(updated["updatedAt"] != nil)
        let removed = try await client.call(.PUT, path, ["tags": ["__op": "Remove", "objects": ["a", "c"]]])
        #expect(removed["tags"] == ["b"])
        let after = try await client.get(path)
        #expect(after["name"] == nil)
        #expect(after["count"] == -3)
        #expect(after.json.at("nested", "deep") == "flat")

        #expect(try await client.call(.DELETE, path).json == [:])
        let missing = try await client.get(path)
        #expect(missing.status == 404)
        #expect(missing.text == #"{"code":101,"error":"Object not found."}"#)
        #expect(try await client.call(.PUT, path, ["a": 1]).status == 404)
    }

    @Test func queriesOrderPageCountAndChooseKeys() async throws {
        let client = ParseClient(try await Suite.shared)
        let className = "Query\(Names.random(6))"
        let requests = (0..<10).map { index -> JSON in
            let body: JSON = ["n": .int(Int64(index)), "even": .bool(index % 2 == 0), "name": .string("Name \(index)")]
            return ["method": "POST", "path": .string("/parse/classes/\(className)"), "body": body]
        }
        #expect(try await client.call(.POST, "/batch", ["requests": .array(requests)]).status == 200)
        func numbers(_ condition: JSON, _ options: [String: JSON] = [:]) async throws -> [Int64] {
            let answer = try await client.find(className, condition, ["order": "n"].merging(options) { $1 })
            #expect(answer.status == 200, "\(answer.text)")
            return answer.results.compactMap { $0["n"]?.intValue }
        }
        #expect(try await numbers(["n": ["$gt": 2, "$lte": 5]]) == [3, 4, 5])
        #expect(try await numbers(["n": ["$in": [1, 3, 77]]]) == [1, 3])
        #expect(try await numbers(["n": ["$nin": [0, 1, 2, 3, 4, 5, 6]]]) == [7, 8, 9])
        #expect(try await numbers(["even": true, "n": ["$ne": 4]]) == [0, 2, 6, 8])
        #expect(try await numbers(["$or": [["n": 1], ["name": "Name 8"]]]) == [1, 8])
        #expect(try await numbers(["$nor": [["even": true], ["n": ["$lt": 6]]]]) == [7, 9])
        #expect(try await numbers(["name": ["$regex": "^name [89]", "$options": "i"]]) == [8, 9])
        #expect(try await numbers(["missing": ["$exists": false], "n": ["$lt": 2]]) == [0, 1])
        #expect(try await numbers([:], ["order": "-even,-n", "skip": 1, "limit": 3]) == [6, 4, 2])
        let counted = try await client.find(className, ["even": true], ["limit": 0, "count": 1])
        #expect(counted.json == ["results": [], "count": 5])
        let keys = try await client.find(className, ["n": 3], ["keys": "name"])
        #expect(
            Set(keys.results[0].objectValue?.keys.map { $0 } ?? []) == ["objectId", "createdAt", "updatedAt", "name"])
    }

    @Test func aBatchAnswersInOrderAndHasLimits() async throws {
        let client = ParseClient(try await Suite.shared)
        let className = "Batch\(Names.random(6))"
        func request(_ method: JSON, _ path: String, _ body: JSON = [:]) -> JSON {
            ["method": method, "path": .string(path), "body": body]
        }
        let collection = "/parse/classes/\(className)"
        let answer = try await client.call(
            .POST, "/batch",
            [
                "requests": [
                    request("POST", collection, ["n": 1]), request("DELETE", "\(collection)/nothing"),
                    request("POST", collection, ["n": "text"]), request("POST", "/1/classes/\(className)", ["n": 2]),
                    request("GET", "\(collection)?limit=0&count=1"),
                    request("POST", "/parse/batch", ["requests": []]), request("POST", "/parse/nothing"),
                ]
            ])
        #expect(answer.status == 200, "\(answer.text)")
        let items = answer.json.arrayValue ?? []
        try #require(items.count == 7)
        #expect(items[0].at("success", "objectId") != nil)
        #expect(items[3].at("success", "objectId") != nil)
        #expect(items[1] == ["error": ["code": 101, "error": "Object not found."]])
        #expect(items[2].at("error", "code") == 111)
        #expect(items[4].at("success", "count") == 2)
        #expect(items[5].at("error", "code") == 107)
        #expect(items[6].at("error", "code") != nil)

        let one = request("POST", collection, ["n": 3])
        let tooMany = try await client.call(
            .POST, "/batch", ["requests": .array(Array(repeating: one, count: 201))])
        #expect(tooMany.status == 400)
        #expect(tooMany.code == 107)
        #expect(try await client.call(.POST, "/batch", ["requests": [:]]).code == 107)
        let outside = request("POST", "/other/classes/A")
        let refused = try await client.call(.POST, "/batch", ["requests": [outside]])
        #expect(refused.status == 200, "\(refused.text)")
        #expect(refused.json.at(0, "error", "code") == 107, "\(refused.text)")
        let atomic = try await client.call(
            .POST, "/batch", ["transaction": true, "requests": [one, request("POST", collection, ["n": "text"])]])
        #expect(atomic.status >= 400)
        #expect(try await client.find(className, [:], ["limit": 0, "count": 1])["count"] == 2)
    }

    @Test func aclsHideObjects() async throws {
        let suite = try await Suite.shared
        let ada = try await Customer.signUp(suite)
        let bob = try await Customer.signUp(suite)
        let className = "Secret\(Names.random(6))"
        let created = try await ada.client.create(
            className, ["n": 1, "ACL": .object([ada.userId: ["read": true, "write": true]])])
        let path = "/classes/\(className)/\(created.objectId)"
        #expect(try await ada.client.get(path)["n"] == 1)
        for client in [bob.client, ParseClient(suite)] {
            #expect(try await client.get(path).code == 101)
            #expect(try await client.call(.PUT, path, ["n": 2]).code == 101)
            #expect(try await client.call(.DELETE, path).code == 101)
            #expect(try await client.find(className, [:], ["count": 1]).json == ["results": [], "count": 0])
        }
        let shared = try await ada.client.call(
            .PUT, path, ["ACL": .object([ada.userId: ["read": true, "write": true], "*": ["read": true]])])
        #expect(shared.status == 200)
        #expect(try await bob.client.get(path)["n"] == 1)
        #expect(try await bob.client.call(.PUT, path, ["n": 2]).code == 101)
        #expect(try await ParseClient.master(suite).call(.DELETE, path).status == 200)
    }
}
