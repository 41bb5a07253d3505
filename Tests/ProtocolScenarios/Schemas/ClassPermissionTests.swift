import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Every form of a class-level permission and of an ACL, and which operations it allows to which callers
/// (PARSE_PROTOCOL sections 6 and 7.1).
@Suite struct ClassPermissionTests {
    /// The kinds of callers: a client without a session, a signed-in user, the user named by a rule, a member of the
    /// role named by a rule, the master key.
    private enum Caller: CaseIterable { case anybody, user, named, member, master }

    private struct People: Sendable {
        let suite: Suite
        let user: Customer
        let named: Customer
        let member: Customer
        let role: String

        func client(_ caller: Caller) -> ParseClient {
            switch caller {
            case .anybody: ParseClient(suite)
            case .user: user.client
            case .named: named.client
            case .member: member.client
            case .master: .master(suite)
            }
        }
    }

    private static let people = Task { () async throws -> People in
        let suite = try await Suite.shared
        let people = People(
            suite: suite, user: try await .signUp(suite), named: try await .signUp(suite),
            member: try await .signUp(suite), role: "Permitted\(Names.random(6))")
        let role = try await ParseClient.master(suite).call(
            .POST, "/roles",
            [
                "name": .string(people.role), "ACL": [:],
                "users": ["__op": "AddRelation", "objects": [people.member.pointer]],
            ])
        guard role.status == 201 else { throw Unexpected("POST roles", role) }
        return people
    }

    /// A class with permissions and one object whose fields `owner` and `owners` name a user.
    private func make(
        _ permissions: JSON, _ people: People, acl: JSON? = nil
    ) async throws -> (path: String, id: String) {
        let master = ParseClient.master(people.suite)
        let className = "Permission\(Names.random(8))"
        var object: JSON = ["n": 1, "secret": "s", "owner": people.named.pointer, "owners": [people.named.pointer]]
        object["ACL"] = acl
        let created = try await master.create(className, object)
        let changed = try await master.call(.PUT, "/schemas/\(className)", ["classLevelPermissions": permissions])
        guard created.status == 201, changed.status == 200 else { throw Unexpected("PUT schemas", changed) }
        return ("/classes/\(className)", created.objectId)
    }

    private func callers(
        _ people: People, _ isAllowed: (ParseClient) async throws -> Bool
    ) async throws -> Set<Caller> {
        var allowed: Set<Caller> = []
        for caller in Caller.allCases where try await isAllowed(people.client(caller)) { allowed.insert(caller) }
        return allowed
    }

    private func all(_ permission: JSON, but operation: String? = nil) -> JSON {
        var permissions: JSON = [:]
        for name in ["find", "count", "get", "create", "update", "delete", "addField"] {
            permissions[name] = name == operation ? permission : ["*": true]
        }
        return permissions
    }

    @Test(.timeLimit(.minutes(10)))
    func eachKeyAdmitsWhomItNames() async throws {
        let people = try await Self.people.value
        let everybody = Set(Caller.allCases)
        let keys: [(JSON, Set<Caller>)] = [
            (["*": true], everybody),
            (["requiresAuthentication": true], [.user, .named, .member, .master]),
            (.object(["role:\(people.role)": true]), [.member, .master]),
            (.object([people.named.userId: true]), [.named, .master]),
            (["pointerFields": ["owner"]], [.named, .master]),
            (["pointerFields": ["owners"]], [.named, .master]),
            ([:], [.master]),
        ]
        for (permission, expected) in keys {
            let (path, id) = try await make(all(permission, but: "get"), people)
            let got = try await callers(people) { try await $0.get("\(path)/\(id)").status == 200 }
            #expect(got == expected, "\(permission.serializedText)")
        }
    }

    /// Each operation is refused separately, with `.operationForbidden` (119), and remains possible when another one is
    /// refused.
    @Test(.timeLimit(.minutes(10)))
    func eachOperationHasItsPermission() async throws {
        let people = try await Self.people.value
        let client = ParseClient(people.suite)
        for refused in ["find", "count", "get", "create", "update", "delete", "addField"] {
            let (path, id) = try await make(all([:], but: refused), people)
            let answers: [(String, ParseClient.Answer)] = [
                ("find", try await client.get(path)),
                ("count", try await client.get(path, ["limit": 0, "count": 1])),
                ("get", try await client.get("\(path)/\(id)")),
                ("create", try await client.call(.POST, path, ["n": 2])),
                ("addField", try await client.call(.POST, path, .object(["new\(refused)": 1]))),
                ("update", try await client.call(.PUT, "\(path)/\(id)", ["n": 3])),
                ("delete", try await client.call(.DELETE, "\(path)/\(id)")),
            ]
            for (operation, answer) in answers {
                let isRefused = operation == refused || operation == "addField" && refused == "create"
                let what = "\(refused) refused, \(operation): \(answer.text)"
                if isRefused {
                    #expect(answer.code == 119, "\(what)")
                    #expect(answer.status == 400, "\(what)")
                } else {
                    #expect(answer.status < 300, "\(what)")
                }
            }
        }
    }

    @Test func userFieldsReadAndWrite() async throws {
        let people = try await Self.people.value
        let (path, id) = try await make(["readUserFields": ["owner"], "writeUserFields": ["owners"]], people)
        #expect(try await callers(people) { try await $0.get("\(path)/\(id)").status == 200 } == [.named, .master])
        #expect(try await callers(people) { try await $0.get(path).results.count == 1 } == [.named, .master])
        let written = try await callers(people) { try await $0.call(.PUT, "\(path)/\(id)", ["n": 4]).status == 200 }
        #expect(written == [.named, .master])
        #expect(try await callers(people) { try await $0.call(.POST, path, ["n": 4]).status == 201 } == [.master])
    }

    /// A field is hidden when every group of the caller hides it.
    @Test func protectedFieldsHideByGroup() async throws {
        let people = try await Self.people.value
        let groups: [(JSON, Set<Caller>)] = [
            (["*": ["secret"]], [.master]),
            (["*": ["secret"], "authenticated": []], [.user, .named, .member, .master]),
            (.object(["*": ["secret"], "role:\(people.role)": []]), [.member, .master]),
            (.object(["*": ["secret"], people.named.userId: []]), [.named, .master]),
            (["*": ["secret"], "userField:owner": []], [.named, .master]),
        ]
        for (fields, expected) in groups {
            var permissions = all(["*": true])
            permissions["protectedFields"] = fields
            let (path, id) = try await make(permissions, people)
            #expect(
                try await callers(people) { try await $0.get("\(path)/\(id)")["secret"] != nil } == expected,
                "\(fields.serializedText)")
            let query = try await people.user.client.get(path, ["where": ["secret": "s"]])
            #expect(expected.contains(.user) || query.code == 119, "\(query.text)")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func eachFormOfAnACLAdmitsWhomItNames() async throws {
        let people = try await Self.people.value
        let forms: [(JSON?, read: Set<Caller>, write: Set<Caller>)] = [
            (nil, Set(Caller.allCases), Set(Caller.allCases)),
            ([:], [.master], [.master]),
            (["*": ["read": true]], Set(Caller.allCases), [.master]),
            (["*": ["write": true]], [.master], Set(Caller.allCases)),
            (.object([people.named.userId: ["read": true, "write": true]]), [.named, .master], [.named, .master]),
            (.object(["role:\(people.role)": ["read": true]]), [.member, .master], [.master]),
        ]
        for (acl, read, write) in forms {
            let (path, id) = try await make(all(["*": true]), people, acl: acl)
            #expect(try await callers(people) { try await $0.get("\(path)/\(id)").status == 200 } == read)
            #expect(try await callers(people) { try await $0.get(path).results.count == 1 } == read)
            let written = try await callers(people) { try await $0.call(.PUT, "\(path)/\(id)", ["n": 5]).status == 200 }
            #expect(written == write, "\(acl?.serializedText ?? "none")")
        }
    }

    /// A missing sign-in gives `.objectNotFound` (101), invalid permissions give `.invalidJSON` (107).
    @Test func refusalsHaveTheirCodes() async throws {
        let people = try await Self.people.value
        let (path, _) = try await make(all(["requiresAuthentication": true], but: "find"), people)
        let refused = try await ParseClient(people.suite).get(path)
        #expect(refused.code == 101, "\(refused.text)")
        #expect(refused.status == 404, "\(refused.text)")
        #expect(refused["error"] == "Permission denied, user needs to be authenticated.")
        let name = path.dropFirst("/classes/".count)
        for bad in [["find": ["*": false]], ["find": ["*": "yes"]], ["nothing": [:]], ["protectedFields": 1]] as [JSON]
        {
            let answer = try await ParseClient.master(people.suite).call(
                .PUT, "/schemas/\(name)", ["classLevelPermissions": bad])
            #expect(answer.code == 107, "\(bad.serializedText): \(answer.text)")
        }
    }
}
