import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Users, sessions and roles that a Parse Server 8.2.2 stored in PostgreSQL, moved into a new shop.
@Suite struct MovedUserTests {
    private static func user(_ number: Int, _ id: String, _ hash: String, _ more: [String: JSON] = [:]) -> JSON {
        let name = JSON.string("user\(number)@example.com")
        let row: [String: JSON] = [
            "objectId": .string(id), "createdAt": "2026-11-27T12:30:36.67+00:00",
            "updatedAt": "2026-11-27T12:30:36.67+00:00", "username": name, "email": name, "emailVerified": .null,
            "authData": .null, "_rperm": [.string(id)], "_wperm": [.string(id)], "_hashed_password": .string(hash),
            "_email_verify_token": .null, "_password_history": .null, "age": 37,
        ]
        return .object(row.merging(more) { $1 })
    }

    private static func session(_ id: String, _ user: String, _ token: String, expiresAt: String) -> JSON {
        [
            "objectId": .string(id), "createdAt": "2026-11-27T12:30:36.854+00:00",
            "updatedAt": "2026-11-27T12:30:36.854+00:00", "user": .string(user), "installationId": "inst-0",
            "sessionToken": .string(token), "expiresAt": .string(expiresAt),
            "createdWith": ["action": "signup", "authProvider": "password"], "_rperm": .null, "_wperm": .null,
        ]
    }

    private static let users: [JSON] = [
        user(0, "xLmY6Eb3EC", "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK"),
        user(1, "ot2DWCUMPM", "$2y$10$dEs6..0L/u4eNlIkeMmSV.LCiA.EBzseWyHDTtLBuWeABXSMoa3z."),
        user(3, "P4OzDGDhex", "$2y$10$PigDNm9yDo50MwdeUKGUvOjWoYc0u/sAnhoNgSf.VgRIxWj3RxqY6"),
        user(4, "ltFnD1SCY6", "$2y$10$spc3240xz9bz9cq0bgRo.O/GI8jW2hd2yPU8de4rn1y2.frzs48nu"),
        [
            "objectId": "6KobwdlZNA", "username": "UVtLWxiHqVMZpsk4ujUVknWiS", "_rperm": ["6KobwdlZNA"],
            "authData": ["anonymous": ["id": "anon-41-0001"]], "_wperm": ["6KobwdlZNA"],
        ],
        [
            "objectId": "zIjfmYO8B4", "username": "AtW7Eb3Equ2GA0wTwBkC6xYTU", "_rperm": ["zIjfmYO8B4"],
            "authData": ["facebook": ["id": "fb4177", "access_token": "tok"]], "_wperm": ["zIjfmYO8B4"],
        ],
        user(
            9, "HDerCQcMmj", "$2y$31$8QKWu2CaegO8qGAZZ14cIuVrB5ra/pMikbcjkhpWXpcrrvdghXhiG"),
    ]

    private static let token = "r:39f54b83c801348ee9351bf39325feeb"
    private static let endedToken = "r:d53a55b9b0e7d73c7a52017bf052ddb0"
    private static let sessions = [
        session("nqF4jlkjGT", "xLmY6Eb3EC", token, expiresAt: "2999-11-27T12:30:36.853+00:00"),
        session("PEOFLhIKiX", "ot2DWCUMPM", endedToken, expiresAt: "2020-11-27T12:30:36.992+00:00"),
    ]

    private static let roles: [JSON] = [
        ["objectId": "JQj9yWH8K3", "name": "staff", "_rperm": ["*"], "_wperm": []],
        ["objectId": "eXoqrbttOT", "name": "editors", "_rperm": ["*"], "_wperm": []],
        ["objectId": "HHUq0VAMEh", "name": "admins", "_rperm": ["*"], "_wperm": []],
    ]

    /// Imports a file and returns the codes of the refused rows.
    private static func move(_ suite: Suite, _ name: String, _ rows: [JSON]) async throws -> [Int64] {
        let answer = try await ParseClient.master(suite).call(.POST, "/import/\(name)", .array(rows))
        guard answer.status == 200 else { throw Unexpected("import \(name)", answer) }
        return (answer["failures"]?.arrayValue ?? []).compactMap { $0["code"]?.intValue }
    }

    private static func logIn(_ suite: Suite, _ number: Int, _ password: String) async throws -> ParseClient.Answer {
        let name = JSON.string("user\(number)@example.com")
        return try await ParseClient(suite).call(.POST, "/login", ["username": name, "password": .string(password)])
    }

    private static func hash(_ suite: Suite, of userId: String) async throws -> String {
        let rows = try await suite.rows("users", "SELECT hash FROM credentials WHERE userId = '\(userId)'")
        return rows.first?.at(0)?.stringValue ?? ""
    }

    @Test func usersKeepPasswordSessionLinksAndRoles() async throws {
        try await ProviderSuite.with { suite, _ in
            let mails = suite.mails().count
            #expect(try await Self.move(suite, "_User", Self.users) == [142], "The cost 31.")
            #expect(try await Self.move(suite, "_Session", Self.sessions) == [])
            #expect(try await Self.move(suite, "_Role", Self.roles) == [137], "The admins are Satchel's own.")
            let members: [JSON] = [
                ["relatedId": "ot2DWCUMPM", "owningId": "JQj9yWH8K3"],
                ["relatedId": "xLmY6Eb3EC", "owningId": "HHUq0VAMEh"],
                ["relatedId": "P4OzDGDhex", "owningId": "eXoqrbttOT"],
            ]
            #expect(try await Self.move(suite, "_Join:users:_Role", members) == [101])
            let inner: [JSON] = [["relatedId": "JQj9yWH8K3", "owningId": "eXoqrbttOT"]]
            #expect(try await Self.move(suite, "_Join:roles:_Role", inner) == [])

            try await checkPasswords(suite)
            try await checkSessions(suite)
            try await checkRoles(suite)
            #expect(suite.mails().count == mails, "Nobody got a mail.")

            // The identity providers' users and the anonymous one return to their accounts.
            for (links, userId) in [
                (["facebook": ProviderSuite.facebook("fb4177")], "zIjfmYO8B4"),
                (["anonymous": ["id": "anon-41-0001"]], "6KobwdlZNA"),
            ] as [(JSON, String)] {
                let answer = try await ParseClient(suite).call(.POST, "/users", ["authData": links])
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.objectId == userId)
            }
        }
    }

    private func checkPasswords(_ suite: Suite) async throws {
        for wrong in ["Secret-41-1", "Secret-41-0\u{0}", "Secret-41-0\u{0}x", "secret-41-0"] {
            #expect(try await Self.logIn(suite, 0, wrong).code == 101, "\(wrong)")
        }
        #expect(try await Self.hash(suite, of: "xLmY6Eb3EC").hasPrefix("$2y$10$"))
        for _ in 0..<2 {
            let answer = try await Self.logIn(suite, 0, "Secret-41-0")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.objectId == "xLmY6Eb3EC")
            #expect(answer["createdAt"] == "2026-11-27T12:30:36.670Z")
            #expect(!answer.text.contains("$2y$"))
            #expect(try await Self.hash(suite, of: "xLmY6Eb3EC").hasPrefix("$scrypt$"))
        }
        #expect(try await Self.logIn(suite, 3, "Secret-41-3\u{E9}").status == 200)
        // bcrypt knows the first 72 bytes only, so the hash stays.
        let long = "Secret-41-4" + String(repeating: "x", count: 61)
        for end in [String(repeating: "x", count: 29), "", "another end"] {
            #expect(try await Self.logIn(suite, 4, long + end).status == 200)
            #expect(try await Self.hash(suite, of: "ltFnD1SCY6").hasPrefix("$2y$10$"))
        }
        #expect(try await Self.logIn(suite, 4, String(long.dropLast())).code == 101)
        #expect(try await Self.logIn(suite, 9, "Secret-41-9").code == 101, "The row was refused.")
    }

    private func checkSessions(_ suite: Suite) async throws {
        let client = ParseClient(suite, sessionToken: Self.token)
        #expect(try await client.get("/users/me").objectId == "xLmY6Eb3EC")
        let session = try await client.get("/sessions/me")
        #expect(session.objectId == "nqF4jlkjGT")
        #expect(session["createdWith"] == ["action": "signup", "authProvider": "password"])
        #expect(session["expiresAt"]?["iso"] == "2999-11-27T12:30:36.853Z")
        #expect(try await ParseClient(suite, sessionToken: Self.endedToken).get("/users/me").code == 209)
        #expect(try await client.call(.POST, "/logout", [:]).status == 200)
        #expect(try await client.get("/users/me").code == 209)
    }

    /// Members of `staff` are in `editors` too, because that role has this one.
    private func checkRoles(_ suite: Suite) async throws {
        let note = try await ParseClient.master(suite).create(
            "Note", ["text": "for editors", "ACL": ["role:editors": ["read": true]]])
        let path = "/classes/Note/\(note.objectId)"
        for (number, password, status) in [
            (1, "Secret-41-1", 200), (3, "Secret-41-3\u{E9}", 200), (0, "Secret-41-0", 404),
        ] {
            let token = try await Self.logIn(suite, number, password)["sessionToken"]?.stringValue
            let answer = try await ParseClient(suite, sessionToken: try #require(token)).get(path)
            #expect(answer.status == status, "user \(number): \(answer.text)")
        }
    }

    @Test func accountsAreMovedWithTheMasterKeyOnly() async throws {
        let suite = try await Suite.shared
        let clients = [
            ParseClient(suite), try await Customer.signUp(suite).client, try await Customer.admin(suite),
        ]
        for name in ["_User", "_Session", "_Role", "_Join:users:_Role"] {
            for client in clients {
                let answer = try await client.call(.POST, "/import/\(name)", .array(Self.users))
                #expect(answer.code == 119, "\(name): \(answer.text)")
            }
        }
        let master = ParseClient.master(suite)
        for name in ["_Installation", "_Join:users", "_Join:users:_Session"] {
            #expect(try await master.call(.POST, "/import/\(name)", []).code == 119, "\(name)")
        }
        #expect(try await master.call(.POST, "/import/_Join:name:_Role", []).code == 111)
    }
}
