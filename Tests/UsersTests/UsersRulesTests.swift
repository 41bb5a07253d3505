import Messages
import ParseProtocol
import ServiceKit
import Testing
import UsersService

/// Sessions, roles, names and the limits on sign-ins.
@Suite struct UsersRulesTests {
    typealias Role = RoleHierarchy.Role

    static func code(_ work: () throws -> Void) -> Int? { UsersAccountTests.code(work) }

    // MARK: Roles

    /// Parent roles by child role: a member of the child has the rights of its parents.
    static func roles(_ direct: [String], _ parents: [String: [String]]) -> Set<String> {
        func role(_ name: String) -> Role { Role(objectId: "id-\(name)", name: name) }
        let held = RoleHierarchy.closure(of: direct.map(role)) { children in
            children.flatMap { parents[$0.name] ?? [] }.map(role)
        }
        return Set(held.map(\.name))
    }

    @Test func membersOfAChildRoleHaveTheRightsOfItsParents() {
        let parents = ["helpers": ["editors"], "editors": ["admins", "press"]]
        #expect(Self.roles(["helpers"], parents) == ["helpers", "editors", "admins", "press"])
    }

    @Test func membersOfAParentRoleHaveNoRightsOfItsChildren() {
        #expect(Self.roles(["admins"], ["editors": ["admins"]]) == ["admins"])
        #expect(Self.roles([], ["editors": ["admins"]]).isEmpty)
    }

    @Test func aCircleOfRolesEnds() {
        #expect(Self.roles(["a"], ["a": ["b"], "b": ["c"], "c": ["a", "c"]]) == ["a", "b", "c"])
    }

    static let newRoles: [(JSON, Int?)] = [
        (["name": "Shop staff_2-b", "ACL": [:]], nil), (["ACL": [:]], 111), (["name": "a"], 111),
        (["name": "a", "ACL": .null], 111), (["name": "a", "ACL": ["__op": "Delete"]], 111),
        (["name": "", "ACL": [:]], 139), (["name": "a:b", "ACL": [:]], 139), (["name": ["a"], "ACL": [:]], 139),
        (["name": "ädmins", "ACL": [:]], 139), (["name": "admins", "ACL": [:]], 137),
        (["name": "order-desk", "ACL": [:]], 137), (["name": "developers", "ACL": [:]], 137),
        (["name": "a", "ACL": [:], "objectId": "mine"], 105),
    ]

    @Test(arguments: newRoles)
    func aRoleNeedsANameAndAnACL(_ role: JSON, _ code: Int?) {
        #expect(Self.code { try RoleRules.checkNew(role, isMaster: false) } == code)
    }

    @Test func theRolesOfOneUserEnd() {
        let roles = Self.roles(["r0"], Dictionary(uniqueKeysWithValues: (0..<3000).map { ("r\($0)", ["r\($0 + 1)"]) }))
        #expect(roles.count == RoleHierarchy.rolesMax)
        #expect(Self.roles(["a"], ["a": (0..<3000).map(String.init)]).count == RoleHierarchy.rolesMax)
    }

    @Test func onlySessionsOfThoseConcernedAreForgotten() {
        func forgotten(_ object: JSON, _ verb: ProposedChange.Verb = .update) -> Forget? {
            RoleRules.forgotten(
                by: ProposedChange(
                    verb: verb, className: "_Role", objectId: "r1", object: object, principal: Principal(),
                    for: nil))
        }
        func operation(_ name: String, _ className: String, _ id: String) -> JSON {
            ["__op": .string(name), "objects": [.pointer(className, id)]]
        }
        #expect(forgotten(["color": 1, "users": ["__type": "Relation", "className": "_User"]]) == nil)
        #expect(forgotten(["users": operation("AddRelation", "_User", "u1")], .create)?.userIds == ["u1"])
        let batch = forgotten([
            "users": [
                "__op": "Batch",
                "ops": [operation("AddRelation", "_User", "u1"), operation("RemoveRelation", "_User", "u2")],
            ]
        ])
        #expect(batch?.userIds == ["u1", "u2"])
        #expect(batch?.everything == false)
        #expect(forgotten(["roles": operation("AddRelation", "_Role", "r2")])?.everything == true)
        #expect(forgotten([:], .delete)?.everything == true)
    }

    @Test func aRoleKeepsAnACL() {
        #expect(Self.code { try RoleRules.checkUpdate(["ACL": .null]) } == 111)
        #expect(Self.code { try RoleRules.checkUpdate(["users": ["__op": "AddRelation", "objects": []]]) } == nil)
    }

    // MARK: Sessions

    @Test(
        arguments: [
            "user", "sessionToken", "expiresAt", "createdWith", "installationId", "restricted", "ACL",
            "createdWith.action",
        ], [JSON.null, 0, "", false, "x"])
    func clientsNeverWriteSessionFields(_ field: String, _ value: JSON) {
        #expect(Self.code { try SessionRules.check(.object([field: value]), isMaster: false) } == 105)
    }

    @Test func clientsAddFieldsToSessionsAndTheMasterKeyEndsThem() throws {
        try SessionRules.check(["cart": "blue"], isMaster: false)
        try SessionRules.check(["expiresAt": Timestamp(milliseconds: 0).wire], isMaster: true)
        #expect(Self.code { try SessionRules.check(["user": .null], isMaster: true) } == 105)
    }

    // MARK: Names

    @Test(arguments: [("Ann", "aNN"), ("Ａｎｎ", "ann"), ("STRASSE", "straße"), ("ΟΔΟΣ", "οδος"), ("e\u{301}", "\u{E9}")])
    func namesThatLookAlikeAreOne(_ a: String, _ b: String) {
        #expect(AccountNames.folded(a) == AccountNames.folded(b))
        #expect(AccountNames.folded(AccountNames.folded(a)) == AccountNames.folded(a))
    }

    /// The table of names has folded names. Unicode 16 gave the first letter a capital, which is the second.
    @Test(arguments: [
        ("\u{264}", "\u{264}"), ("ANN\u{A7CB}\u{C4}", "ann\u{A7CB}\u{E4}"), ("\u{10D50}A\u{308}", "\u{10D50}\u{E4}"),
    ])
    func namesAreFoldedAlikeByAllToolchains(_ name: String, _ folded: String) {
        #expect(Array(AccountNames.folded(name).unicodeScalars) == Array(folded.unicodeScalars))
    }

    @Test(arguments: [
        "ann@example.com", "a.n+n@mail.example.co", "jorg@xn--mller-kva.example", "o'neil+{1}@b.c",
    ])
    func acceptsAnAddress(_ address: String) { #expect(AccountNames.isEmail(address)) }

    @Test(arguments: [
        "", "@", "ann", "andrew@x", "ann@localhost", "ann@", "@example.com",
        "a@b@c.d", "a b@c.d", "ann@exa mple.com", "ann@.com", "ann@example.",
        "a..n@b.c", ".a@b.c", "ann@-b.c", "<ann@b.c>", "ann@b.c\n", "a\u{0}@b.c", "ann@b_c.d",
        String(repeating: "a", count: 65) + "@b.c",
        "jörg@example.com", "ann@müller.example", "ann@example.com\u{301}", "ann\u{200B}@example.com",
        "\"ann\"@example.com",
    ])
    func refusesWhatIsNoAddress(_ address: String) { #expect(!AccountNames.isEmail(address)) }
}
