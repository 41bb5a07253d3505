import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Form bodies, and parameters in a query string.
@Suite struct ClientFormTests {
    private func send(
        _ client: ParseClient, _ method: HTTPMethod, _ path: String, _ body: String
    ) async throws -> ParseClient.Answer {
        try await client.send(
            method, path,
            headers: client.credentials + [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(body.utf8))
    }

    @Test func aFormIsABodyOnEveryRoute() async throws {
        let client = ParseClient(try await Suite.shared)
        let (user, digits) = ("form+\(Names.random(8))@customers.example", "12345678")
        let account = "username=\(Wire.escaped(user))&password=\(digits)"
        let signedUp = try await send(client, .POST, "/users", account)
        #expect(signedUp.status == 201, "\(signedUp.text)")
        let signedIn = try await send(client, .POST, "/login", account)
        #expect(signedIn.objectId == signedUp.objectId, "\(signedIn.text)")
        #expect(signedIn["username"] == .string(user), "\(signedIn.text)")
        let path = "/classes/Form\(Names.random(8))"
        let created = try await send(
            client, .POST, path,
            "name=Blue+vase&n=5&tags=%5B%22a%22%5D&ACL=" + Wire.escaped(#"{"*":{"read":true,"write":true}}"#))
        #expect(created.status == 201, "\(created.text)")
        let object = try await client.get("\(path)/\(created.objectId)")
        #expect(object["name"] == "Blue vase", "\(object.text)")
        #expect(object["n"] == "5", "\(object.text)")
        #expect(object["tags"] == ["a"], "\(object.text)")
        let changed = try await send(client, .PUT, "\(path)/\(created.objectId)", "name=Red")
        #expect(changed.status == 200, "\(changed.text)")
        let found = try await send(client, .POST, path, "_method=GET&limit=1&where=%7B%22name%22%3A%22Red%22%7D")
        #expect(found.results.map(\.objectId) == [created.objectId], "\(found.text)")
        var stranger = client
        stranger.applicationId = nil
        let tunnelled = try await send(stranger, .POST, path, "_ApplicationId=satchel&_method=GET&count=1&limit=0")
        #expect(tunnelled["count"] == 1, "\(tunnelled.text)")
    }

    /// Curl labels every body as a form by default.
    @Test func aFormThatHoldsJSONIsJSON() async throws {
        let client = ParseClient(try await Suite.shared)
        let path = "/classes/Form\(Names.random(8))"
        let created = try await send(client, .POST, path, " {\"name\":\"a=b&c\",\"n\":5}")
        #expect(try await client.get("\(path)/\(created.objectId)")["name"] == "a=b&c", "\(created.text)")
        for bad in ["{\"n\"=1", "hello", "[1]", "a=%zz"] {
            #expect(try await send(client, .POST, path, bad).code == 107, "\(bad)")
        }
    }

    @Test func parametersOfAFunctionMayStandInTheQueryString() async throws {
        let host = try await WebhookHost.shared
        let (client, name) = (ParseClient(host.suite), WebhookHost.name("params"))
        try await host.function(name, ["json": ["success": 1]])
        let answer = try await client.send(
            .POST, "/functions/\(name)?a=x&b=2&c=%7B%22d%22%3A1%7D&f=1&f=true&f=", headers: client.credentials,
            body: Array(#"{"a":"body","e":true}"#.utf8))
        #expect(answer.result == 1, "\(answer.text)")
        #expect(
            host.calls(name).last?.at("body", "params") == [
                "a": "x", "b": "2", "c": #"{"d":1}"#, "e": true, "f": ["1", "true", ""],
            ],
            "\(host.calls(name))")
        // One of Satchel's own functions expects a number.
        let shelf = try await Shelf.fill(host.suite, names: ["q \(Names.random(6))"])
        let customer = try await Customer.signUp(host.suite).client
        let bag = try await customer.send(
            .POST, "/functions/addToBag?productId=\(shelf.productIds[0])&quantity=2", headers: customer.credentials)
        #expect(bag.result["badgeCount"] == 2, "\(bag.text)")
    }
}
