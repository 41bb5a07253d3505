import ParseProtocol
import TestSupport
import Testing

/// A database that a real Parse Server wrote moves into a running suite, from the dry run to the last sign-in.
@Suite struct ParseServerScenarioTests {
    /// The fixture's users by number, with the letters that follow the number in the password.
    private static let passwords = [0: "", 1: "", 3: "é", 4: String(repeating: "x", count: 90), 11: ""]
    private static let tokens = [
        "r:3d63aca568f00544650e5ae93711eb21", "r:0a3f0d5cba9c6db7be001cb35442079d",
        "r:39f54b83c801348ee9351bf39325feeb", "r:4b183e3ed52a4e8660dad4d9a58baf8e",
    ]

    @Test(.timeLimit(.minutes(10))) func everyObjectPasswordAndSessionArrives() async throws {
        try await Suite.with { suite in
            let move = try await FixtureMove(suite)
            // 19.995 cannot be paid, and the old role `admins` would have rights on the desk.
            let found = await #expect(throws: Command.Failed.self) { try await move.run("--dry-run") }
            #expect(found?.description.contains("unitPrice: 19.995") == true, "\(found?.description ?? "")")
            #expect(try await move.run("--dry-run", "--map", move.map).contains("admins"))
            let staged = try await move.stage()
            #expect(staged.contains("196 moved"), "\(staged)")
            #expect(try await move.run("--verify", "--map", move.map).contains("Everything of the old server is here."))

            let client = ParseClient(suite)
            #expect(try await client.find("Book").results.isEmpty)
            try await move.run("--switch", "--map", move.map)
            #expect(try await move.run("--verify", "--map", move.map).contains("Everything of the old server is here."))

            for (number, end) in Self.passwords {
                let credentials: JSON = [
                    "username": .string("user\(number)@example.com"), "password": .string("Secret-41-\(number)\(end)"),
                ]
                let login = try await client.call(.POST, "/login", credentials)
                #expect(login.status == 200, "\(number): \(login.text)")
                var wrong = credentials
                wrong["password"] = .string("Secret-41-\(number)")
                let isRight = end.isEmpty
                #expect(try await client.call(.POST, "/login", wrong).status == (isRight ? 200 : 404), "\(number)")
            }
            for token in Self.tokens {
                var holder = client
                holder.sessionToken = token
                #expect(try await holder.get("/users/me")["sessionToken"] == .string(token))
            }
            #expect(try await client.get("/config")["params"]?["welcome"] == "Hello")
            let book = try await ParseClient.master(suite).find("Book").results.first { $0["cover"] != nil }
            let cover = try #require(book?["cover"]?["name"]?.stringValue)
            #expect(try await client.download(client.path(of: cover)).status == 200)
        }
    }
}
