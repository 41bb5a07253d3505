import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import Synchronization
import Testing
import UsersService

/// Rows of another server in the store.
@Suite struct UsersMovingTests {
    private static let master = Principal.with { $0.master = true }
    private static let hash = "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK"
    private static let former = "$2y$10$dEs6..0L/u4eNlIkeMmSV.LCiA.EBzseWyHDTtLBuWeABXSMoa3z."
    private static let token = "r:39f54b83c801348ee9351bf39325feeb"

    /// As PostgreSQL's `json_agg` writes it.
    private static let user: JSON = [
        "objectId": "xLmY6Eb3EC", "createdAt": "2026-11-27T12:30:36.67+00:00",
        "updatedAt": "2026-11-27T12:31:36.67+00:00", "username": "user0@example.com", "email": "user0@example.com",
        "emailVerified": true, "authData": .null, "_rperm": ["xLmY6Eb3EC"], "_wperm": ["xLmY6Eb3EC"],
        "_hashed_password": .string(hash), "_perishable_token": "abc", "_email_verify_token": "def",
        "_failed_login_count": 3, "_account_lockout_expires_at": .null, "firstName": "ros\u{E9}", "age": 37,
        "photo": "58e33c92b8de977770736a3236d1882e_pic0.png", "isAdmin": true,
    ]

    private func add(_ className: String, _ row: JSON, to sandbox: SandboxStore) async throws {
        try await sandbox.apply(.create, className, row["objectId"]?.stringValue, row, imported: true, as: Self.master)
    }

    private static func changed(_ more: [String: JSON]) -> JSON {
        .object((user.objectValue ?? [:]).merging(more) { $1 })
    }

    @Test func aRowOfPostgreSQLBecomesAUserWithoutItsSecrets() async throws {
        try await withUsersSandbox { sandbox in
            try await add("_User", Self.user, to: sandbox)
            let user = try await sandbox.document("_User", "xLmY6Eb3EC")
            let expected: JSON = [
                "objectId": "xLmY6Eb3EC", "createdAt": "2026-11-27T12:30:36.670Z",
                "updatedAt": "2026-11-27T12:31:36.670Z", "username": "user0@example.com",
                "email": "user0@example.com", "emailVerified": true, "firstName": "ros\u{E9}", "age": 37,
                "photo": ["__type": "File", "name": "58e33c92b8de977770736a3236d1882e_pic0.png"],
                "ACL": ["xLmY6Eb3EC": ["read": true, "write": true]],
            ]
            for (name, value) in expected.objectValue ?? [:] where name != "photo" { #expect(user[name] == value) }
            #expect(user["photo"]?["name"] == expected["photo"]?["name"])
            #expect(Set(user.objectValue?.keys.map { $0 } ?? []) == Set(expected.objectValue?.keys.map { $0 } ?? []))
            #expect(try await sandbox.count("SELECT count(*) FROM credentials WHERE hash = '\(Self.hash)'") == 1)
            #expect(try await sandbox.count("SELECT max(cost) FROM movedPasswords") == 10)
            let counters = "SELECT count(*) FROM signInFailures WHERE failures = 3"
            #expect(try await sandbox.count(counters) == 1)
            #expect(try await sandbox.count("SELECT count(*) FROM identities WHERE userId = 'xLmY6Eb3EC'") == 2)
        }
    }

    /// A password that the user chose here wins over a repeated import.
    @Test func aRepeatedImportKeepsAPasswordOfSatchel() async throws {
        try await withUsersSandbox { sandbox in
            try await add("_User", Self.user, to: sandbox)
            try await add("_User", Self.changed(["age": 38, "_hashed_password": .string(Self.former)]), to: sandbox)
            let moved = "SELECT count(*) FROM credentials WHERE hash = '\(Self.former)'"
            #expect(try await sandbox.count(moved) == 1, "Nobody signed in yet.")
            #expect(try await sandbox.document("_User", "xLmY6Eb3EC")["age"] == 38)
            try await sandbox.apply(.update, "_User", "xLmY6Eb3EC", ["password": "another one"], as: Self.master)
            #expect(try await sandbox.count("SELECT count(*) FROM movedPasswords") == 0)
            try await add("_User", Self.user, to: sandbox)
            #expect(try await sandbox.count("SELECT count(*) FROM credentials WHERE hash LIKE '$scrypt$%'") == 1)
            #expect(try await sandbox.count("SELECT count(*) FROM movedPasswords") == 0)
        }
    }

    @Test func aRepeatedImportMakesAGuestAFullUser() async throws {
        try await withUsersSandbox { sandbox in
            let guest: [String: JSON] = ["_hashed_password": .null, "_auth_data_anonymous": ["id": "5f2b9d7e"]]
            try await add("_User", Self.changed(guest), to: sandbox)
            let ids = "SELECT count(*) FROM identities WHERE kind = 'auth:anonymous'"
            #expect(try await sandbox.count(ids) == 1)
            try await add("_User", Self.user, to: sandbox)
            #expect(try await sandbox.count(ids) == 0)
            #expect(try await sandbox.count("SELECT count(*) FROM anonymousIds") == 0)
            #expect(try await sandbox.document("_User", "xLmY6Eb3EC")["authData"] == nil)
        }
    }

    @Test func aRepeatedImportKeepsTheSecondFactorOfSatchel() async throws {
        try await withUsersSandbox { sandbox in
            let row = Self.changed(["_auth_data_facebook": ["id": "fb4177"]])
            try await add("_User", row, to: sandbox)
            let linked: JSON = ["facebook": ["id": "fb4177"], "mfa": ["status": "enabled"]]
            try await sandbox.store.write { transaction in
                _ = try SecondFactors.enrol(
                    "xLmY6Eb3EC", secret: Array(0..<20), step: 0, key: testAccountKey, in: transaction)
                _ = try transaction.update("_User", "xLmY6Eb3EC", ["authData": linked], caller: .master)
            }
            try await add("_User", row, to: sandbox)
            #expect(try await sandbox.document("_User", "xLmY6Eb3EC")["authData"] == linked)
        }
    }

    private final class Told: Sendable {
        private let told = Mutex<[String]>([])

        var ids: [String] { told.withLock { $0 } }

        func add(_ changes: [StoredChange]) { told.withLock { $0 += changes.map(\.objectId) } }
    }

    @Test func liveQueriesAreNotTold() async throws {
        try await withUsersSandbox { sandbox in
            let told = Told()
            sandbox.store.watch.listen { told.add($0) }
            sandbox.store.watch.watch(["_User"])
            try await add("_User", Self.user, to: sandbox)
            try await add("_User", Self.changed(["age": 38]), to: sandbox)
            #expect(told.ids.isEmpty)
            try await sandbox.apply(.update, "_User", "xLmY6Eb3EC", ["age": 39], as: Self.master)
            #expect(told.ids == ["xLmY6Eb3EC"], "Changes here are told.")
        }
    }

    @Test func aRowOfMongoDBIsTaken() async throws {
        try await withUsersSandbox { sandbox in
            let row: JSON = [
                "_id": "zIjfmYO8B4", "_created_at": ["$date": "2026-11-27T12:30:38.695Z"],
                "_updated_at": ["$date": ["$numberLong": "1795782638695"]], "username": "AtW7Eb3Equ2GA0wTwBkC6xYTU",
                "_auth_data_facebook": ["id": "fb4177", "access_token": "tok"], "_auth_data_github": ["id": "7"],
                "_p_store": "Store$abcdefghij", "_acl": ["zIjfmYO8B4": ["r": true, "w": true]],
                "_rperm": ["*", "zIjfmYO8B4"], "_wperm": ["zIjfmYO8B4"],
                "_account_lockout_expires_at": ["$date": "2999-01-01T00:00:00.000Z"], "_failed_login_count": 5,
            ]
            try await add("_User", row, to: sandbox)
            let user = try await sandbox.document("_User", "zIjfmYO8B4")
            #expect(user["createdAt"] == "2026-11-27T12:30:38.695Z")
            #expect(user["updatedAt"] == "2026-11-27T12:30:38.695Z")
            #expect(user["authData"] == ["facebook": ["id": "fb4177"]])
            #expect(user["store"] == .pointer("Store", "abcdefghij"))
            #expect(user["ACL"] == ["*": ["read": true], "zIjfmYO8B4": ["read": true, "write": true]])
            let lock = "SELECT count(*) FROM signInFailures WHERE subject = 'account:zIjfmYO8B4' AND failures = 20"
            #expect(try await sandbox.count(lock) == 1)
            // A longer wait would be shortened to none.
            let end = Timestamp.now.advanced(by: SignInSubject.window).milliseconds
            #expect(try await sandbox.count("SELECT max(endsAt) FROM signInFailures") <= end)
            let links = "SELECT count(*) FROM identities WHERE kind = 'auth:facebook' AND value = 'fb4177'"
            #expect(try await sandbox.count(links) == 1)
        }
    }

    @Test func aTimeOutsideOfTheCalendarIsLeftOut() async throws {
        try await withUsersSandbox { sandbox in
            for time in [["$numberLong": "-9223372036854775808"], 9_223_372_036_854_775_807] as [JSON] {
                try await add("_User", Self.changed(["_password_changed_at": ["$date": time]]), to: sandbox)
                let known = "SELECT count(*) FROM passwordHistory WHERE chosenAt BETWEEN 0 AND 253402300799999"
                #expect(try await sandbox.count(known) == 1, "\(time)")
            }
        }
    }

    /// An import is a change of an account that is here; a move keeps the times (`MoveSwitch`).
    @Test func aMoveKeepsTheTimesOfAnAccountThatIsHere() async throws {
        try await withUsersSandbox { sandbox in
            let mover = Principal.with {
                $0.master = true
                $0.maintenance = true
            }
            for _ in 0..<2 {
                try await sandbox.apply(.create, "_User", "xLmY6Eb3EC", Self.user, imported: true, as: mover)
                let user = try await sandbox.document("_User", "xLmY6Eb3EC")
                #expect(user["createdAt"] == "2026-11-27T12:30:36.670Z")
                #expect(user["updatedAt"] == "2026-11-27T12:31:36.670Z")
            }
            try await add("_User", Self.user, to: sandbox)
            #expect(try await sandbox.document("_User", "xLmY6Eb3EC")["updatedAt"] != "2026-11-27T12:31:36.670Z")
        }
    }

    @Test func anAnonymousUserIsFoundByItsId() async throws {
        try await withUsersSandbox { sandbox in
            let row: JSON = [
                "objectId": "6KobwdlZNA", "username": "UVtLWxiHqVMZpsk4ujUVknWiS",
                "authData": ["anonymous": ["id": "anon-41-0001"]],
            ]
            try await add("_User", row, to: sandbox)
            let stored = try await sandbox.document("_User", "6KobwdlZNA")
            #expect(stored["authData"] == ["anonymous": [:]], "The id is a secret.")
            let returned = try await sandbox.apply(
                .create, "_User", nil, ["authData": ["anonymous": ["id": "anon-41-0001"]]], as: .user(""))
            #expect(returned.objectId == "6KobwdlZNA")
        }
    }

    @Test func whatCannotBeTakenIsRefused() async throws {
        try await withUsersSandbox { sandbox in
            func code(_ className: String, _ row: JSON, as principal: Principal = Self.master) async -> Int? {
                await parseCode {
                    try await sandbox.apply(
                        .create, className, row["objectId"]?.stringValue, row, imported: true, as: principal)
                }
            }
            let costly = "$2y$31$" + String(Self.hash.dropFirst(7))
            for hash in [JSON.string(costly), "secret", 7] {
                #expect(await code("_User", Self.changed(["_hashed_password": hash])) == 142, "\(hash)")
                let hosted = Self.changed(["_hashed_password": .null, "bcryptPassword": hash])
                #expect(await code("_User", hosted) == 142, "\(hash)")
            }
            #expect(await code("_User", Self.changed(["password": "secret"])) == 142)
            #expect(await code("_User", Self.changed(["username": .null])) == 200)
            let session: JSON = [
                "objectId": "nqF4jlkjGT", "user": "xLmY6Eb3EC", "sessionToken": .string(Self.token),
                "expiresAt": "2999-11-27T12:30:36.853+00:00",
            ]
            let role: JSON = ["objectId": "JQj9yWH8K3", "name": "staff", "_rperm": ["*"], "_wperm": []]
            for principal in [Principal.user("xLmY6Eb3EC"), Principal.user("")] {
                #expect(await code("_User", Self.user, as: principal) == 119)
                #expect(await code("_Session", session, as: principal) == 119)
                #expect(await code("_Role", role, as: principal) == 119)
            }
            #expect(await code("_Session", session) == 101, "The user is missing.")
            #expect(await code("_User", Self.user) == nil)
            #expect(await code("_User", Self.changed(["objectId": "another123"])) == 202, "The name is taken.")
            #expect(await code("_Session", session) == nil)
            #expect(await code("_Session", session) == nil, "A repeated import.")
            for (name, value) in [
                ("objectId", "another123"), ("sessionToken", "short"), ("sessionToken", .null), ("expiresAt", "soon"),
                ("user", "a/b"),
            ] as [(String, JSON)] {
                var wrong = session
                wrong[name] = value
                #expect(await code("_Session", wrong) == (name == "objectId" ? 137 : 142), "\(name) \(value)")
            }
            let sessions = try await sandbox.count("SELECT count(*) FROM sessionTokens")
            #expect(sessions == 1)
            #expect(await code("_Role", role) == nil)
            let stored = try await sandbox.document("_Role", "JQj9yWH8K3")
            #expect(stored["ACL"] == ["*": ["read": true]])
            var admins = role
            admins["objectId"] = "HHUq0VAMEh"
            admins["name"] = "admins"
            #expect(await code("_Role", admins) == 137)
        }
    }
}
