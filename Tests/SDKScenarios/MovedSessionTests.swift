import ParseProtocol
import TestSupport
import Testing

/// Apps go on after a move: SDKs' sessions of users whose accounts, data and files come from a Parse Server.
@Suite struct MovedSessionTests {
    private static let users = [
        MovedUser(number: 1, id: "ot2DWCUMPM", roles: ["staff"], books: 25, readBooks: [], orderNo: 1_000_002),
        MovedUser(
            number: 2, id: "fu4uvMFZ27", roles: ["editors", "staff"], books: 24,
            readBooks: ["HsR7hFbDeo", "SSY6eknYJ7"], orderNo: 1_000_003),
        MovedUser(
            number: 3, id: "P4OzDGDhex", passwordEnd: "é", roles: ["editors"], books: 23,
            readBooks: ["D00kxHMD3u", "HsR7hFbDeo", "RVpFK3w5oe", "rI6t3Dg0ld"], orderNo: 1_000_004),
        MovedUser(number: 5, id: "OQG04tuX2U", roles: [], books: 24, readBooks: ["HsR7hFbDeo"], orderNo: nil),
    ]

    @Test(.timeLimit(.minutes(15))) func movedUsersGoOnWithTheirApps() async throws {
        try await Suite.with { suite in
            try await FixtureMove(suite).moveIn()
            // Signed in with the old server's tokens: two users, an anonymous one, and one of Facebook.
            try await goOn(IOSSDK(suite, .new), "r:39f54b83c801348ee9351bf39325feeb", "xLmY6Eb3EC")
            try await goOn(AndroidSDK(suite, .old), "r:4b183e3ed52a4e8660dad4d9a58baf8e", "ot2DWCUMPM")
            try await goOn(FlutterSDK(suite, .old), "r:3d63aca568f00544650e5ae93711eb21", "6KobwdlZNA")
            try await goOn(DotNetSDK(suite, .unity), "r:0a3f0d5cba9c6db7be001cb35442079d", "zIjfmYO8B4")

            try await MovedSession.run(IOSSDK(suite, .old), Self.users[0], in: suite)
            try await MovedSession.run(AndroidSDK(suite, .new), Self.users[1], in: suite)
            try await MovedSession.run(FlutterSDK(suite, .new), Self.users[2], in: suite)
            try await MovedSession.run(DotNetSDK(suite, .new), Self.users[3], in: suite)
        }
    }

    private func goOn(_ sdk: some ReplayedSDK, _ token: String, _ userId: String) async throws {
        var sdk = sdk
        sdk.session = token
        let me = try await sdk.me()
        #expect(me.json.objectId == userId, "\(me.text)")
        #expect(me.json["sessionToken"] == .string(token), "\(me.text)")
        let books = try await sdk.find("Book", SDKQuery(limit: 100))
        #expect(books.results.contains { $0["ACL"] == nil }, "\(books.text)")
        #expect(try await sdk.function("bag", "{}").json.at("result", "badgeCount") == 0)
    }
}
