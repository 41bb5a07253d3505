import ParseProtocol
import TestSupport
import Testing

/// The class views (`Tests/Peers/pages/dashboard_schema.py`): columns, permissions, viewing as another user, queries.
@Suite(.serialized) struct DashboardSchemaTests {
    private static let desk = Desk.shared

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func aClassIsMadeWithColumnsOfEveryTypeWhoseValuesAreEdited(_ screen: Desk.Screen) async throws {
        let name = "Made\(Names.random(6))"
        try await Self.desk.check("schema", on: screen, ["class": .string(name)])
        let master = ParseClient.master(try await Self.desk.suite)
        let schema = try await master.get("/schemas/\(name)")
        let types = ["text": "String", "fans": "Relation", "area": "Polygon", "paper": "File", "raw": "Bytes"]
        for (field, type) in types {
            #expect(schema.json.at("fields", .member(field), "type") == .string(type), "\(schema.text)")
        }
        #expect(schema.json.at("fields", "short") == nil)
        #expect(schema.json.at("indexes", "text_desc_count") == nil)
        #expect(schema.json.at("classLevelPermissions", "find") == ["role:admins": true])
        let row = try #require(try await master.find(name).results.first)
        #expect(row["text"] == "first & <b>")
        #expect(row["count"] == 0.5)
        #expect(row["flag"] == false)
        #expect(row["list"] == ["a", 7])
        #expect(row["thing"] == ["deep": true])
        #expect(row["area"]?["coordinates"]?.arrayValue?.count ?? 0 >= 3)
        #expect(row["raw"]?["base64"] == "aGk=")
        #expect(row["paper"]?.wireType == "File")
        #expect(row["friend"]?.pointerTarget?.className == name)
        let related: JSON = ["$relatedTo": ["object": .pointer(name, row.text("objectId")), "key": "fans"]]
        #expect(try await master.find(name, related).results.count == 1)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func permissionsAreReviewedAndAnotherUsersRowsLookedAt(_ screen: Desk.Screen) async throws {
        let (name, _) = try await Self.desk.classOfTwo()
        let customer = try await Customer.signUp(Self.desk.suite)
        try await Self.desk.check(
            "permissions", on: screen, ["class": .string(name), "customer": .string(customer.userId)])
        let rows = try await customer.client.find(name)
        #expect(rows.results.count == 1)
        #expect(rows.results.first?["text"] == nil, "\(rows.text)")
        let schema = try await ParseClient.master(try await Self.desk.suite).get("/schemas/\(name)")
        #expect(schema.json.at("classLevelPermissions", "delete") == ["role:admins": true], "\(schema.text)")
        #expect(schema.json.at("classLevelPermissions", "find") == ["*": true], "\(schema.text)")
    }

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func aQueryIsRunCountedAndExplained(_ screen: Desk.Screen) async throws {
        let (name, rowId) = try await Self.desk.classOfTwo()
        try await Self.desk.check("console", on: screen, ["class": .string(name), "row": .string(rowId)])
    }
}
