import ParseProtocol
import TestSupport
import Testing

/// Batches in the forms that SDKs write, and the request ids that they send.
@Suite struct ClientBatchTests {
    private func send(_ client: ParseClient, _ requests: String) async throws -> ParseClient.Answer {
        try await client.send(
            .POST, "/batch", headers: client.credentials + [("Content-Type", "application/json")],
            body: Array(#"{"requests":[\#(requests)]}"#.utf8))
    }

    /// PHP serializes an empty object as `[]`.
    @Test func anEmptyListIsAnEmptyBody() async throws {
        let client = ParseClient(try await Suite.shared)
        let name = "Php\(Names.random(8))"
        let items = ["POST", "GET"].map { #"{"method":"\#($0)","path":"/parse/classes/\#(name)","body":[]}"# }
        let answer = try await send(client, items.joined(separator: ","))
        #expect(answer.json.at(0, "success", "objectId") != nil, "\(answer.text)")
        #expect(answer.json.at(1, "success", "results")?.arrayValue?.count == 1, "\(answer.text)")
    }

    @Test func aBadItemFailsAlone() async throws {
        let client = ParseClient(try await Suite.shared)
        let name = "Alone\(Names.random(8))"
        let good = #"{"method":"POST","path":"\/parse\/classes\/\#(name)","body":{"n":1}}"#
        for bad in [
            #"{"method":"POST","path":"/parse/classes/\#(name)","body":[1]}"#, #"{"method":"POST"}"#, "5", "null",
            #"{"method":"PATCH","path":"/parse/classes/\#(name)"}"#, #"{"method":"GET","path":"/elsewhere/classes/A"}"#,
            #"{"method":"GET","path":"/parse/%zz"}"#,
        ] {
            let answer = try await send(client, "\(good),\(bad),\(good)")
            #expect(answer.status == 200, "\(bad): \(answer.text)")
            let succeeded = answer.json.arrayValue?.map { $0["success"] != nil }
            #expect(succeeded == [true, false, true], "\(bad): \(answer.text)")
            #expect(answer.json.at(1, "error", "code") == 107, "\(bad): \(answer.text)")
            // A transaction still fails as a whole.
            let atomic = try await client.send(
                .POST, "/batch", headers: client.credentials,
                body: Array(#"{"transaction":true,"requests":[\#(good),\#(bad)]}"#.utf8))
            #expect(atomic.status == 400, "\(bad): \(atomic.text)")
            #expect(atomic.code == 107, "\(bad): \(atomic.text)")
        }
        #expect(try await client.find(name, [:], ["count": 1, "limit": 0])["count"] == 14)
    }

    @Test func pathsAreThoseThatTheClientSees() async throws {
        let client = ParseClient(try await ClientSuites.proxied.suite)
        let name = "Seen\(Names.random(8))"
        let items = ["/parse", "/1", "/api/v2/parse", "\\/api\\/v2\\/parse"].map {
            #"{"method":"POST","path":"\#($0)/classes/\#(name)","body":{}}"#
        }
        let answer = try await send(
            client, (items + [#"{"method":"POST","path":"/api/classes/\#(name)","body":{}}"#]).joined(separator: ","))
        #expect(
            answer.json.arrayValue?.map { $0["success"] != nil } == [true, true, true, true, false], "\(answer.text)")
        #expect(try await client.find(name).results.count == 4)
    }

    /// iOS 4.1 to 6.1.1 sends one request id with all requests of a launch.
    @Test func oneIdForManyRequestsHoldsUpNoneButRepetitions() async throws {
        let client = ParseClient(try await ClientSuites.proxied.suite)
        let (name, launch) = ("Once\(Names.random(8))", Names.random(20))
        func send(_ path: String, _ body: String) async throws -> ParseClient.Answer {
            try await client.send(
                .POST, path, headers: client.credentials + [("X-Parse-Request-Id", launch)], body: Array(body.utf8))
        }
        for n in 1...3 { #expect(try await send("/classes/\(name)", #"{"n":\#(n)}"#).status == 201) }
        #expect(try await send("/classes/\(name)Other", #"{"n":1}"#).status == 201)
        #expect(try await send("/functions/nothing", "{}").code == 141)
        #expect(try await send("/functions/nothing?a=1", "{}").code == 141)
        let item = #"{"requests":[{"method":"POST","path":"/1/classes/\#(name)","body":{"n":4}}]}"#
        #expect(try await send("/batch", item).json.at(0, "success") != nil)
        for (path, body) in [("/classes/\(name)", #"{"n":1}"#), ("/functions/nothing", "{}"), ("/batch", item)] {
            #expect(try await send(path, body).code == 159, "\(path)")
        }
        #expect(try await client.find(name).results.count == 4)
    }
}
