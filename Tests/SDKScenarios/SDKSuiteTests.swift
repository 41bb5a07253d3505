import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Requirements of the SDKs' own test suites that their documentation does not mention, with the requests that they
/// send.
@Suite struct SDKSuiteTests {
    private let name = "Sdk\(Names.random(6))"

    private static func point(_ latitude: Double, _ longitude: Double) -> JSON {
        ["__type": "GeoPoint", "latitude": .double(latitude), "longitude": .double(longitude)]
    }

    // MARK: JavaScript

    @Test func theRelationOfAnObjectThatWasNeverSavedIsEmpty() async throws {
        let client = ParseClient(try await Suite.shared, style: .tunnelled)
        for owner in [
            ["__type": "Pointer", "className": .string(name)],
            ["__type": "Pointer", "className": .string(name), "objectId": .null],
        ] as [JSON] {
            let answer = try await client.find(name, ["$relatedTo": ["object": owner, "key": "friends"]])
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.results.isEmpty, "\(answer.text)")
        }
        let bad = try await client.find(name, ["$relatedTo": ["object": ["__type": "Pointer"], "key": "friends"]])
        #expect(bad.code == 102, "\(bad.text)")
    }

    @Test func mongoDBsNamesOfTheTimesOrder() async throws {
        let client = ParseClient(try await Suite.shared, style: .tunnelled)
        for n in 0..<3 { _ = try await client.create(name, ["n": .int(Int64(n))]) }
        for (order, expected) in [
            ("_created_at", [0, 1, 2]), ("-_created_at", [2, 1, 0]), ("-_updated_at", [2, 1, 0]),
        ] {
            let answer = try await client.find(name, [:], ["order": .string(order)])
            #expect(
                answer.results.compactMap { $0["n"]?.intValue }.map(Int.init) == expected, "\(order): \(answer.text)")
        }
        #expect(try await client.find(name, [:], ["order": "_password"]).code == 105)
    }

    @Test func permissionsComeBackAsTheyWereSet() async throws {
        let master = ParseClient(try await Suite.shared, masterKey: Suite.masterKey, style: .tunnelled)
        func permissions(_ answer: ParseClient.Answer) -> JSON? { answer["classLevelPermissions"] }
        let made = try await master.call(.POST, "/schemas/\(name)", ["className": .string(name)])
        #expect(permissions(made)?["protectedFields"] == ["*": []])
        #expect(permissions(made)?["find"] == ["*": true])
        for nothing in [[:], [], 1234] as [JSON] {
            let changed = try await master.call(
                .PUT, "/schemas/\(name)", ["className": .string(name), "classLevelPermissions": nothing])
            #expect(changed.status == 200, "\(changed.text)")
            let members = permissions(changed)?.objectValue ?? [:]
            #expect(members.count == 8, "\(changed.text)")
            #expect(members.values.allSatisfy { $0 == [:] }, "\(changed.text)")
        }
        #expect(try await master.call(.PUT, "/schemas/\(name)", ["classLevelPermissions": "none"]).code == 107)
    }

    @Test func aDefaultIsShownAsItWasSent() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let open: JSON = ["__type": "Polygon", "coordinates": [[0, 0], [0, 1], [1, 1], [1, 0]]]
        let made = try await master.call(
            .POST, "/schemas/\(name)", ["fields": ["area": ["type": "Polygon", "defaultValue": open]]])
        #expect(made.json.at("fields", "area", "defaultValue") == open, "\(made.text)")
        let object = try await master.create(name, [:])
        #expect(object.json.at("area", "coordinates")?.arrayValue?.count == 5, "\(object.text)")
    }

    @Test func aStreamedFileBringsItsMetadataInHeaders() async throws {
        let client = try await Customer.signUp(try await Suite.shared).client
        func upload(_ headers: [(String, String)]) async throws -> ParseClient.Answer {
            try await client.send(
                .POST, "/files/note.txt", headers: client.credentials + [("Content-Type", "text/plain")] + headers,
                body: Array("note".utf8))
        }
        let mode = ("X-Parse-Upload-Mode", "stream")
        let made = try await upload(
            [mode, ("X-Parse-File-Metadata", #"{"by":"ann"}"#), ("X-Parse-File-Tags", #"{"kind":"note"}"#)])
        #expect(made.status == 201, "\(made.text)")
        let read = try await client.download("/files/satchel/metadata/\(made.json.text("name"))")
        #expect(read["metadata"] == ["by": "ann"], "\(read.text)")
        #expect(read["tags"] == ["kind": "note"], "\(read.text)")
        #expect(try await upload([mode, ("X-Parse-File-Tags", "[1]")]).code == 107)
        #expect(try await upload([mode, ("X-Parse-File-Metadata", #"{"__proto__":1}"#)]).code == 105)
    }

    // MARK: PHP

    @Test func anEmptyArrayStandsForAnEmptyObjectInASchema() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let made = try await master.call(
            .POST, "/schemas/\(name)", ["fields": ["a": ["type": "String"]], "indexes": []])
        #expect(made.status == 200, "\(made.text)")
        let indexed = try await master.call(.PUT, "/schemas/\(name)", ["fields": [], "indexes": ["byA": ["a": 1]]])
        #expect(indexed.json.at("indexes", "byA") == ["a": 1], "\(indexed.text)")
        #expect(try await master.call(.PUT, "/schemas/\(name)", ["fields": [1]]).code == 107)
    }

    @Test func aBoxLiesBetweenAnyTwoOppositeCorners() async throws {
        let client = ParseClient(try await Suite.shared)
        for (title, longitude) in [("far west", -165.0), ("near west", -175), ("near east", 175), ("far east", 165)] {
            _ = try await client.create(name, ["title": .string(title), "at": Self.point(1, longitude)])
        }
        func titles(_ a: JSON, _ b: JSON) async throws -> [String] {
            let answer = try await client.find(name, ["at": ["$within": ["$box": [a, b]]]], ["order": "title"])
            return answer.results.map { $0.text("title") }
        }
        for (south, west, north, east) in [(-10.0, 160.0, 10.0, 170.0), (-10, -180, 10, -170)] {
            let expected = west > 0 ? ["far east"] : ["near west"]
            for corners in [
                ((south, west), (north, east)), ((north, east), (south, west)), ((north, west), (south, east)),
                ((south, east), (north, west)),
            ] {
                let (a, b) = (Self.point(corners.0.0, corners.0.1), Self.point(corners.1.0, corners.1.1))
                #expect(try await titles(a, b) == expected)
            }
        }
        #expect(try await titles(Self.point(-10, 170), Self.point(10, -170)) == ["far east", "far west"])
    }

    @Test func theMasterKeyReadsAndEmptiesConfigAsAClass() async throws {
        try await Suite.with { suite in
            let (master, client) = (ParseClient.master(suite), ParseClient(suite))
            for name in try await master.get("/config").json["params"]?.objectValue?.keys.sorted() ?? [] {
                _ = try await master.call(.PUT, "/config", ["params": .object([name: ["__op": "Delete"]])])
            }
            let path = "/classes/_GlobalConfig"
            #expect(try await master.get(path, ["limit": 100, "order": "objectId"]).json == ["results": []])
            #expect(try await master.call(.DELETE, path + "/1").code == 101)
            _ = try await master.call(.PUT, "/config", ["params": ["a": 1], "masterKeyOnly": ["a": true]])
            let found = try await master.get(path)
            #expect(
                found.results == [["objectId": "1", "params": ["a": 1], "masterKeyOnly": ["a": true]]], "\(found.text)")
            #expect(try await client.get(path).code == 119)
            #expect(try await client.call(.DELETE, path + "/1").code == 119)
            #expect(try await master.call(.DELETE, path + "/1").json == [:])
            #expect(try await master.get("/config").json["params"] == [:])
        }
    }

    @Test func aFileWithoutAnExtensionIsTakenAsBytes() async throws {
        let client = try await Customer.signUp(try await Suite.shared).client
        let made = try await client.upload(Array("abc".utf8), as: "noextension", type: "unknown/unknown")
        #expect(made.status == 201, "\(made.text)")
        let read = try await client.download(client.path(of: made.json.text("name")))
        #expect(read.text == "abc", "\(read.headers)")
        #expect(read.headers.first(name: "Content-Type") == "application/octet-stream", "\(read.headers)")
    }

    /// The SDK's current user was deleted: the next sign-up succeeds without it.
    @Test func signUpIgnoresAVoidSession() async throws {
        let suite = try await Suite.shared
        let gone = try await Customer.signUp(suite)
        #expect(try await ParseClient.master(suite).call(.DELETE, "/users/\(gone.userId)").status == 200)
        #expect(try await gone.client.get("/classes/Store").code == 209)
        for path in ["/users", "/classes/_User"] {
            let made = try await gone.client.call(
                .POST, path, ["username": .string("next-\(Names.random(8))"), "password": "a word of mine 1"])
            #expect(made.status == 201, "\(path): \(made.text)")
            #expect(made["sessionToken"] != nil, "\(path): \(made.text)")
        }
        #expect(try await gone.client.create(name, ["a": 1]).code == 209)
    }

    @Test func theMasterKeyUnlinksAnAnonymousId() async throws {
        let suite = try await Suite.shared
        let (client, userId) = try await Customer.anonymous(suite)
        let unlink: JSON = ["authData": ["anonymous": .null]]
        #expect(try await client.call(.PUT, "/classes/_User/\(userId)", unlink).code == 253)
        let master = ParseClient.master(suite)
        let answer = try await master.call(.PUT, "/classes/_User/\(userId)", unlink)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try await master.get("/users/\(userId)")["authData"] == nil)
    }

    // MARK: Settings that suites ask for

    @Test func sessionsMayOutliveAPasswordAndRequestsBeLogged() async throws {
        let settings = ["SATCHEL_REVOKE_SESSIONS_ON_PASSWORD_CHANGE": "false", "SATCHEL_LOG_REQUESTS": "true"]
        try await Suite.with(settings: settings) { suite in
            let customer = try await Customer.signUp(suite)
            let path = "/users/\(customer.userId)"
            for client in [ParseClient.master(suite), customer.client] {
                let word = Names.random(12)
                let changed = try await client.call(.PUT, path, ["password": .string(word)])
                #expect(changed.status == 200, "\(changed.text)")
                #expect(changed["sessionToken"] == nil, "\(changed.text)")
                #expect(try await customer.client.get("/users/me").status == 200)
                let names: JSON = ["username": .string(customer.email), "password": .string(word)]
                #expect(try await ParseClient(suite).call(.POST, "/login", names).status == 200)
            }
            _ = try await ParseClient(suite).get("/login", ["username": "nobody", "password": "s3cret-word"])
            let master = ParseClient.master(suite)
            func logged() async throws -> [JSON] {
                let lines = try await master.get("/scriptlog", ["size": 1000]).json.arrayValue ?? []
                return lines.filter { $0["message"] == "A request was answered." }
            }
            try await eventually("the requests are in the log") {
                try await logged().contains { $0["method"] == "GET" && $0["url"] == "/parse/login" }
            }
            let text = JSON.array(try await logged()).serializedText
            #expect(!text.contains("s3cret-word"))
            #expect(!text.contains("nobody"))
        }
    }

    // MARK: Clean-ups

    /// The suites empty classes with `/purge`: leftover references to deleted objects must cause no errors.
    @Test func aPurgeDeletesEachObjectAsIfAlone() async throws {
        try await Suite.with { suite in
            let master = ParseClient.master(suite)
            let shelf = try await Shelf.fill(suite, names: ["Soap"])
            let customer = try await Customer.signUp(suite)
            let review: JSON = ["product": .pointer("Product", shelf.productIds[0]), "rating": 4, "content": "Fine."]
            #expect(try await customer.client.create("ProductReview", review).status == 201)
            #expect(try await master.call(.DELETE, "/purge/ProductReview").json == [:])
            let product = try await master.get("/classes/Product/\(shelf.productIds[0])")
            #expect(product["ratingCount"] == 0, "\(product.text)")
            #expect(product["ratingAverage"] == nil, "\(product.text)")

            let names: JSON = ["username": "again", "password": "a word of mine 1", "email": "again@shop.example"]
            let first = try await ParseClient(suite).call(.POST, "/users", names)
            var signedIn = ParseClient(suite)
            signedIn.sessionToken = first["sessionToken"]?.stringValue
            #expect(try await signedIn.get("/classes/Store").status == 200)
            #expect(try await master.call(.DELETE, "/purge/_User").json == [:])
            #expect(try await master.find("_User", [:], ["count": 1, "limit": 0])["count"] == 0)
            #expect(try await master.find("_Session").results.isEmpty)
            #expect(try await signedIn.get("/classes/Store").code == 209)
            let second = try await ParseClient(suite).call(.POST, "/users", names)
            #expect(second.status == 201, "\(second.text)")
        }
    }
}
