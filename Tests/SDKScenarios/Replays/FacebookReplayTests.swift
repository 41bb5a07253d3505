import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Facebook accounts as the iOS and Android SDKs link and use them. The `authData` of an answer replaces the device's
/// copy; a partial one would make the SDK unlink the account (MOBILE_SDKS section 7).
@Suite struct FacebookReplayTests {
    @Test(.timeLimit(.minutes(10))) func iOSAccountsStayLinked() async throws {
        try await ProviderSuite.with { suite, _ in
            for version in IOSSDK.Version.allCases {
                let id = "1\(Int.random(in: 100_000...999_999))"
                let more = #""expiration_date":"2030-01-01T00:00:00.000Z""#
                let data = #"{"id":"\#(id)","access_token":"fb-app:\#(id)",\#(more)}"#
                try await Self.run(IOSSDK(suite, version), data)
            }
        }
    }

    /// All values are strings, and there are additional ones.
    @Test(.timeLimit(.minutes(10))) func androidAccountsStayLinked() async throws {
        try await ProviderSuite.with { suite, _ in
            for version in AndroidSDK.Version.allCases {
                let id = "2\(Int.random(in: 100_000...999_999))"
                let more = #"""
                    "expiration_date":"2030-01-01T00:00:00.000Z","last_refresh_date":"2015-10-08T00:28:56.123Z",\#
                    "permissions":"email"
                    """#
                let data = #"{"id":"\#(id)","access_token":"fb-app:\#(id)",\#(more)}"#
                try await Self.run(AndroidSDK(suite, version), data)
            }
        }
    }

    private static func run(_ start: some TunnellingSDK, _ data: String) async throws {
        // An anonymous user links a Facebook account.
        var sdk = start
        try await sdk.begin()
        let id = sdk.userId
        let linked = try await sdk.update("_User", id, #""authData":{"facebook":\#(data),"anonymous":null}"#)
        #expect(linked.status == 200, "\(linked.text)")
        linked.expectWholeAuthData("facebook", data)
        sdk.become(linked)
        for path in ["users/me", "classes/_User/\(id)"] {
            let own = try await sdk.command("GET", path, nil)
            #expect(own.status == 200, "\(own.text)")
            own.expectWholeAuthData("facebook", data)
            #expect(own.json["authData"]?["anonymous"] == nil, "\(own.text)")
        }
        // Every save repeats the link.
        let saved = try await sdk.update("_User", id, #""city":"Ulm","authData":{"facebook":\#(data)}"#)
        #expect(saved.status == 200, "\(saved.text)")
        saved.expectWholeAuthData("facebook", data)
        let body = #"{"authData":{"facebook":\#(data)}}"#
        let batch = #"{"method":"PUT","path":"\#(sdk.base)/classes/_User/\#(id)","body":\#(body)}"#
        let together = try await sdk.command("POST", "batch", #"{"requests":[\#(batch)]}"#)
        #expect(together.json.at(0, "success") != nil, "\(together.text)")
        // A sign-up on another device: 200, the same user.
        var other = start
        for _ in 0..<2 {
            other.session = ""
            let answer = try await other.serviceLogIn("facebook", data)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json.objectId == id, "\(answer.text)")
            answer.expectWholeAuthData("facebook", data)
            other.become(answer)
            let me = try await other.me()
            #expect(me.json.objectId == id, "\(me.text)")
            me.expectWholeAuthData("facebook", data)
        }
        // Another user must log in with it instead.
        var stranger = start
        let name = "\(Names.random(10).lowercased())@linked.example"
        stranger.become(try await stranger.signUp(name, "secret1"))
        let refused = try await stranger.update("_User", stranger.userId, #""authData":{"facebook":\#(data)}"#)
        #expect(refused.status == 400, "\(refused.text)")
        #expect(refused.code == 208, "\(refused.text)")
        let unlinked = try await other.update("_User", id, #""authData":{"facebook":null}"#)
        #expect(unlinked.status == 200, "\(unlinked.text)")
        #expect(unlinked.json["authData"]?["facebook"] == nil, "\(unlinked.text)")
    }
}
