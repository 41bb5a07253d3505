import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Unity's WWW only supports POST: every request is one, with its query string, and `_method` and `_noBody` in the
/// body. `DotNetReplayTests` covers the common parts with .NET; these tests cover Unity's own bytes.
@Suite struct UnityReplayTests {
    private func device() async throws -> DotNetSDK { DotNetSDK(try await Suite.shared, .unity) }

    private func post(_ sdk: DotNetSDK, _ path: String, _ body: String) async throws -> Wire.Answer {
        let line = "POST /1/\(path)"
        let headers = [
            "X-Parse-Application-Id: satchel", "X-Parse-Client-Version: unity-1.6.2.0",
            "X-Parse-Installation-Id: \(sdk.installation)", "X-Parse-Windows-Key: ", "X-Parse-Revocable-Session: 1",
            "Content-Type: application/json",
        ]
        return try await sdk.wire.send(line, headers, body).readable(line)
    }

    @Test(.timeLimit(.minutes(10))) func aShoppingSession() async throws {
        let suite = try await Suite.shared
        try await ShoppingSession.run(DotNetSDK(suite, .unity), in: suite)
    }

    @Test func findsAndCountsAreInTheQueryString() async throws {
        let sdk = try await device()
        let name = "Unity\(Names.random(6))"
        for n in 0..<4 { #expect(try await post(sdk, "classes/\(name)", #"{"n":\#(n)}"#).status == 201) }
        let read = #"{"_method":"GET","_noBody":true}"#
        let condition = "where=%7B%22n%22%3A%7B%22%24gt%22%3A0%7D%7D"
        let found = try await post(sdk, "classes/\(name)?\(condition)&order=-n&limit=2&skip=1", read)
        #expect(found.results.map { $0["n"] } == [2, 1], "\(found.text)")
        let counted = try await post(sdk, "classes/\(name)?\(condition)&limit=0&count=1", read)
        #expect(counted.json == ["results": [], "count": 3], "\(counted.text)")
        // For a value in both places, the query string wins.
        let both = try await post(
            sdk, "classes/\(name)?limit=1", #"{"order":"-n","limit":3,"_method":"GET","_noBody":true}"#)
        #expect(both.results.map { $0["n"] } == [3], "\(both.text)")
        let id = both.results.first?.objectId ?? ""
        let changed = try await post(sdk, "classes/\(name)/\(id)", #"{"n":9,"_method":"PUT","_noBody":false}"#)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed.json["updatedAt"] != nil, "\(changed.text)")
        #expect(try await post(sdk, "classes/\(name)/\(id)", read).json["n"] == 9)
        let removed = try await post(sdk, "classes/\(name)/\(id)", #"{"_method":"DELETE","_noBody":true}"#)
        #expect(removed.text == "{}")
    }

    @Test func logInsAreInTheQueryString() async throws {
        let sdk = try await device()
        let name = "\(Names.random(10).lowercased())@unity.example"
        let user = #"{"username":"\#(name)","password":"12345678"}"#
        let created = try await post(sdk, "classes/_User", user)
        #expect(created.status == 201, "\(created.text)")
        let read = #"{"_method":"GET","_noBody":true}"#
        let query = "username=\(DotNetSDK.escaped(name))&password"
        let login = try await post(sdk, "login?\(query)=12345678", read)
        #expect(login.status == 200, "\(login.text)")
        #expect(login.json.text("sessionToken").hasPrefix("r:"), "\(login.text)")
        let wrong = try await post(sdk, "login?\(query)=87654321", read)
        #expect(wrong.status == 404, "\(wrong.text)")
        #expect(wrong.code == 101, "\(wrong.text)")
    }
}
