import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import Testing
import UsersService

/// Operators' search for accounts, and their edits.
@Suite struct UsersDeskTests {
    @discardableResult
    private static func signUp(_ sandbox: SandboxStore, _ username: String, _ fields: JSON = [:]) async throws -> String
    {
        var user = fields
        user["username"] = .string(username)
        user["password"] = "secret-word"
        return try await sandbox.apply(.create, "_User", nil, user, as: Principal()).objectId
    }

    private static func found(_ search: String, in sandbox: SandboxStore, limit: Int64 = 50) async throws -> [String] {
        let search = try AccountSearch(["search": .string(search), "limit": .int(limit)])
        let found = try await sandbox.store.read { try search.find(in: $0) }
        return (found["results"]?.arrayValue ?? []).compactMap { $0["username"]?.stringValue }
    }

    @Test func accountsAreFoundByTheBeginningOfANameOrAnAddress() async throws {
        try await withUsersSandbox { sandbox in
            let ada: JSON = ["firstName": "Ada", "lastName": "Quince Long", "email": "Post@Ada.example"]
            let id = try await Self.signUp(sandbox, "first", ada)
            try await Self.signUp(sandbox, "second", ["name": "Ådalen  Ltd"])
            try await Self.signUp(sandbox, "ADAMANT")
            #expect(try await Self.found("ada", in: sandbox) == ["first", "ADAMANT"])
            for start in ["QUINCE", "ada q", "Ada  Quince", "post@", "POST@ada.example", "fir"] {
                #expect(try await Self.found(start, in: sandbox) == ["first"], "\(start)")
            }
            #expect(try await Self.found("ådalen l", in: sandbox) == ["second"])
            for start in ["long", "da", "%%", "ost@", "ada_"] {
                #expect(try await Self.found(start, in: sandbox).isEmpty, "\(start)")
            }
            // Finds users by their current names, and no deleted users.
            try await sandbox.apply(.update, "_User", id, ["lastName": "Pear", "phone": "1"], as: .user(id))
            #expect(try await Self.found("quince", in: sandbox).isEmpty)
            #expect(try await Self.found("pear", in: sandbox) == ["first"])
            try await sandbox.apply(.delete, "_User", id, as: .user(id))
            #expect(try await Self.found("pear", in: sandbox).isEmpty)
            #expect(try await sandbox.count("SELECT count(*) FROM personNames WHERE userId = '\(id)'") == 0)
        }
    }

    @Test func aListEndsAtItsLimitAndLeavesOutWhoHasNoName() async throws {
        try await withUsersSandbox { sandbox in
            for index in 0..<7 { try await Self.signUp(sandbox, "same\(index)", ["firstName": "Same"]) }
            let anonymous: JSON = ["authData": ["anonymous": ["id": "5f2b9d7e-0000-4000-8000-000000000000"]]]
            let guest = try await sandbox.apply(.create, "_User", nil, anonymous, as: Principal())
            let name = try await sandbox.document("_User", guest.objectId)["username"]?.stringValue ?? ""
            #expect(try await Self.found(name, in: sandbox).isEmpty)
            let search = try AccountSearch(["search": "same", "limit": 5])
            let part = try await sandbox.store.read { try search.find(in: $0) }
            #expect(part["results"]?.arrayValue?.count == 5)
            #expect(part["isMore"] == true)
            #expect(try await Self.found("same", in: sandbox).count == 7)
            for parameters in [
                [:], ["search": ""], ["search": "a"], ["search": " a "], ["search": ["$ne": ""]],
                ["search": "ab", "limit": 0], ["search": "a\u{0}b"],
            ] as [JSON] {
                #expect(throws: ParseError.self) { try AccountSearch(parameters) }
            }
        }
    }

    /// Two names of each account have the prefix.
    @Test func aListIsFullThoughAccountsHaveSeveralNames() async throws {
        try await withUsersSandbox { sandbox in
            for index in 0..<4 {
                let names: JSON = ["firstName": .string("Same\(index)"), "lastName": "Lee"]
                try await Self.signUp(sandbox, "user\(index)", names)
            }
            let search = try AccountSearch(["search": "same", "limit": 3])
            let part = try await sandbox.store.read { try search.find(in: $0) }
            #expect(part["results"]?.arrayValue?.count == 3)
            #expect(part["isMore"] == true)
        }
    }

    /// Each character may have any number of marks.
    @Test func aComparedNameFitsIntoAnIndex() {
        let name = String(repeating: "e" + String(repeating: "\u{301}\u{316}", count: 50), count: 64)
        let compared = PersonNames.compared(name)
        #expect((1...1024).contains(compared.utf8.count))
    }

    @Test func everyAccountIsListedNewestFirstAndGuestsAreMarked() async throws {
        try await withUsersSandbox { sandbox in
            for name in ["first", "second"] { try await Self.signUp(sandbox, name) }
            let anonymous: JSON = ["authData": ["anonymous": ["id": "5f2b9d7e-0000-4000-8000-000000000001"]]]
            _ = try await sandbox.apply(.create, "_User", nil, anonymous, as: Principal())
            func page(_ parameters: JSON) async throws -> JSON {
                let list = try AccountList(parameters)
                return try await sandbox.store.read { try list.read(in: $0) }
            }
            let newest = try await page(["limit": 2])
            let accounts = newest["results"]?.arrayValue ?? []
            #expect(accounts.map { $0["isAnonymous"] } == [true, nil])
            #expect(accounts.map { $0["username"] } == [nil, "second"])
            #expect(!newest.serializedText.contains("authData"))
            let rest = try await page(["limit": 2, "after": newest["cursor"] ?? .null])
            #expect(rest["results"]?.arrayValue?.map { $0["username"] } == ["first"])
            #expect(rest["cursor"] == nil)
            for parameters in [["limit": 0], ["after": 5], ["after": ""]] as [JSON] {
                #expect(throws: ParseError.self) { try AccountList(parameters) }
            }
        }
    }

    @Test func theUsersOfAnEarlierReleaseAreFound() async throws {
        try await withUsersSandbox { sandbox in
            for index in 0..<3 { try await Self.signUp(sandbox, "old\(index)", ["lastName": "Elder"]) }
            try await sandbox.store.write { transaction in
                _ = try transaction.execute("DROP TABLE personNames")
                try PersonNames.fill(in: transaction)
            }
            #expect(try await Self.found("elder", in: sandbox).count == 3)
        }
    }

    @Test func anAddressIsTheAdminsAndTheUserNameThatIsOneFollowsIt() throws {
        let id: JSON = "uV3kQ9xWmB"
        let stored: JSON = ["username": "ann@example.com", "email": "Ann@example.com", "firstName": "Ann"]
        let new: JSON = ["userId": id, "email": "new@example.com"]
        #expect(UsersAccountTests.code { _ = try AccountEdit(new, byAdmin: false) } == 119)
        let edit = try AccountEdit(new, byAdmin: true)
        #expect(edit.object(for: stored) == ["email": "new@example.com", "username": "new@example.com"])
        #expect(edit.object(for: ["username": "ann"]) == ["email": "new@example.com"])
        let names = try AccountEdit(["userId": id, "firstName": "", "lastName": "Lee", "phone": .null], byAdmin: false)
        let gone: JSON = ["__op": "Delete"]
        #expect(names.object(for: stored) == ["firstName": gone, "lastName": "Lee", "phone": gone])
        for parameters in [
            [:], ["userId": id], ["userId": id, "email": ""], ["userId": id, "name": 1],
            ["userId": id, "name": ["__op": "Increment"]], ["userId": ["$ne": ""], "name": "x"],
            ["userId": id, "name": .string(String(repeating: "x", count: 201))],
        ] as [JSON] {
            let code = UsersAccountTests.code { _ = try AccountEdit(parameters, byAdmin: true) }
            #expect(code == 142, "\(parameters)")
        }
    }
}
