import ParseProtocol
import TestSupport
import Testing

/// The views of classes (`Tests/Peers/dashboard_schema.py`): columns, permissions, looking as somebody else, queries.
extension DashboardTests {
    /// A class that everybody may read, with a row of everybody's and one of the operators'.
    private static func classOfTwo() async throws -> (name: String, rowId: String) {
        let master = ParseClient.master(try await suite)
        let name = "Seen\(Names.random(6))"
        let verbs = ["find", "get", "count", "create", "update", "delete", "addField"]
        let everybody: JSON = ["*": true]
        let permissions = JSON.object(Dictionary(uniqueKeysWithValues: verbs.map { ($0, everybody) }))
        let fields: JSON = ["text": ["type": "String"], "owner": ["type": "Pointer", "targetClass": "_User"]]
        let made = try await master.call(
            .POST, "/schemas/\(name)", ["fields": fields, "classLevelPermissions": permissions])
        guard made.status == 200 else { throw Unexpected("POST schemas", made) }
        let operators: JSON = ["read": true, "write": true]
        let open = try await master.create(
            name, ["text": "everybody's", "ACL": ["*": ["read": true], "role:admins": operators]])
        let secret = try await master.create(name, ["text": "secret", "ACL": ["role:admins": operators]])
        guard open.status == 201, secret.status == 201 else { throw Unexpected("POST", secret) }
        return (name, open.objectId)
    }

    /// The paths of these views, with something in each.
    static func schemaPaths() async throws -> [JSON] {
        let (name, _) = try await classOfTwo()
        let customer = try await Customer.signUp(suite)
        return [
            "/data", "/data/console", .string("/data/\(name)/schema"), .string("/data/\(name)/permissions"),
            .string("/data/\(name)?as=\(customer.userId)"),
        ]
    }

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func aClassIsMadeWithColumnsOfEveryTypeWhoseValuesAreEdited(_ screen: Screen) async throws {
        let name = "Made\(Names.random(6))"
        try await Self.check("schema", on: screen, ["class": .string(name)])
        let master = ParseClient.master(try await Self.suite)
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

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func permissionsAreReviewedAndAnotherUsersRowsLookedAt(_ screen: Screen) async throws {
        let (name, _) = try await Self.classOfTwo()
        let customer = try await Customer.signUp(Self.suite)
        try await Self.check(
            "permissions", on: screen, ["class": .string(name), "customer": .string(customer.userId)])
        let rows = try await customer.client.find(name)
        #expect(rows.results.count == 1)
        #expect(rows.results.first?["text"] == nil, "\(rows.text)")
        let schema = try await ParseClient.master(try await Self.suite).get("/schemas/\(name)")
        #expect(schema.json.at("classLevelPermissions", "delete") == ["role:admins": true], "\(schema.text)")
        #expect(schema.json.at("classLevelPermissions", "find") == ["*": true], "\(schema.text)")
    }

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func aQueryIsRunCountedAndExplained(_ screen: Screen) async throws {
        let (name, rowId) = try await Self.classOfTwo()
        try await Self.check("console", on: screen, ["class": .string(name), "row": .string(rowId)])
    }
}
