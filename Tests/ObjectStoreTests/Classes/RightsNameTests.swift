import ObjectStore
import ParseProtocol
import Testing

/// The names that permissions accept, and the meaning of a required string field.
@Suite struct RightsNameTests {
    @Test(arguments: ["7f9a.ada", "ada@example.com", "auth0|5f7c", "a-b_c", "émile"])
    func idsOfOtherShapesAreKept(_ id: String) async throws {
        let test = try await TestStore()
        let rights = JSON.object([id: ["read": true, "write": true]])
        let object = try await test.create("T", ["ACL": rights])
        #expect(try await test.get("T", object)["ACL"] == rights)
        #expect(try await test.get("T", object, as: Caller(userId: id, roles: []))["objectId"] == .string(object))
        await #expect(throws: ParseError.self) { try await test.get("T", object, as: .anonymous) }
    }

    @Test(arguments: ["*unresolved", "**", "a b", "role:", "userField:owner", "$ne", "a\u{7F}", ""])
    func whatMeansSomethingElseIsRefused(_ name: String) async throws {
        let test = try await TestStore()
        await #expect(throws: ParseError.self) {
            try await test.create("T", ["ACL": .object([name: ["read": true]])])
        }
    }

    @Test func nullGivesTheDefinedPermissionsBack() async throws {
        let closed = ClassPermissions(find: .everybody)
        let test = try await TestStore([ClassDefinition("T", fields: ["x": .string], permissions: closed)])
        func permissions(after change: JSON) async throws -> JSON? {
            let shown = try await test.store.write { try $0.changeClass("T", change, keeping: []) }
            return try JSON(parsing: shown)["classLevelPermissions"]
        }
        let before = try await permissions(after: ["fields": [:]])
        let edited = try await permissions(after: ["classLevelPermissions": ["create": ["*": true]]])
        #expect(edited != before)
        let reset = try await permissions(after: ["classLevelPermissions": .null])
        #expect(reset == before)
    }

    @Test(arguments: ["", .null, ["__op": "Delete"]] as [JSON])
    func aRequiredTextIsThere(_ value: JSON) async throws {
        let test = try await TestStore()
        let schema: JSON = ["fields": ["title": ["type": "String", "required": true]]]
        _ = try await test.store.write { try $0.createClass("T", schema) }
        await #expect(throws: ParseError(.validationError, "title is required")) {
            try await test.create("T", ["title": value])
        }
        let made = try await test.create("T", ["title": "x"])
        await #expect(throws: ParseError(.validationError, "title is required")) {
            try await test.update("T", made, ["title": value])
        }
    }

    @Test func operatorsApplyToWhatIsNoFieldToo() throws {
        #expect(try JSON.object(["__op": "Increment", "amount": 2]).applied(to: 3, named: "n") == 5)
        #expect(try JSON.object(["__op": "Delete"]).applied(to: 3, named: "n") == nil)
        #expect(try JSON.object(["__op": "AddUnique", "objects": ["a"]]).applied(to: ["a"], named: "n") == ["a"])
        #expect(try JSON.string("x").applied(to: 3, named: "n") == "x")
        for bad in [
            ["__op": "Increment", "amount": 1], ["__op": "AddRelation", "objects": []], ["__op": "Nonsense"],
        ] as [JSON] {
            #expect(throws: ParseError.self) { try bad.applied(to: "text", named: "n") }
        }
    }
}
