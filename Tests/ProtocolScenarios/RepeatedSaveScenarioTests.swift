import ParseProtocol
import TestSupport
import Testing

/// Saves as old mobile SDKs send them: with the object's id in the body, and with relations as values.
@Suite struct RepeatedSaveScenarioTests {
    /// The Android SDK repeats the id in every update, alone and in a batch.
    @Test func anUpdateMayRepeatItsId() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let client = customer.client
        let className = "Android\(Names.random(8))"
        let id = try await client.create(className, ["n": 1]).objectId
        let device = try await client.call(
            .POST, "/installations",
            ["deviceType": "android", "installationId": .string(Names.random(20).lowercased())])
        for (path, objectId, field) in [
            ("/classes/\(className)", id, "note"), ("/classes/_User", customer.userId, "firstName"),
            ("/users", customer.userId, "lastName"), ("/classes/_Installation", device.objectId, "appVersion"),
        ] {
            let body: JSON = .object(["objectId": .string(objectId), field: "again"])
            let answer = try await client.call(.PUT, "\(path)/\(objectId)", body)
            #expect(answer.status == 200, "\(path): \(answer.text)")
            #expect(answer["updatedAt"] != nil, "\(path): \(answer.text)")
            let request: JSON = ["method": "PUT", "path": .string("/parse\(path)/\(objectId)"), "body": body]
            for requests: JSON in [[request], [request, request]] {
                let batch = try await client.call(.POST, "/batch", ["requests": requests])
                let items = batch.json.arrayValue ?? []
                #expect(items.count == requests.arrayValue?.count, "\(path): \(batch.text)")
                #expect(items.allSatisfy { $0["success"]?["updatedAt"] != nil }, "\(path): \(batch.text)")
            }
        }
        #expect(try await client.get("/classes/\(className)/\(id)")["note"] == "again")
    }

    /// The iOS SDK saves a known relation as a value with the members that it knows, and sends changes of it as a
    /// batch.
    @Test func aRelationAsAValueIsIgnored() async throws {
        let client = ParseClient(try await Suite.shared)
        let (clubs, people) = ("Lodge\(Names.random(8))", "Mason\(Names.random(8))")
        var members: [JSON] = []
        for name in ["a", "b"] {
            members.append(.pointer(people, try await client.create(people, ["name": .string(name)]).objectId))
        }
        let changes: JSON = [
            "__op": "Batch",
            "ops": [
                ["__op": "AddRelation", "objects": [members[0], members[1]]],
                ["__op": "RemoveRelation", "objects": [members[1]]],
            ],
        ]
        let club = try await client.create(clubs, ["members": changes])
        try #require(club.status == 201, "\(club.text)")
        let path = "/classes/\(clubs)/\(club.objectId)"
        let related: JSON = ["$relatedTo": ["object": .pointer(clubs, club.objectId), "key": "members"]]
        for value: JSON in [
            ["__type": "Relation", "className": .string(people), "objects": [members[1]]],
            ["__type": "Relation", "className": .null], ["__type": "Relation"],
        ] {
            let request: JSON = [
                "method": "PUT", "path": .string("/parse\(path)"), "body": ["members": value, "name": "lodge"],
            ]
            let batch = try await client.call(.POST, "/batch", ["requests": [request]])
            #expect(batch.json.at(0, "success", "updatedAt") != nil, "\(batch.text)")
            let answer = try await client.call(.PUT, path, ["members": value])
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try await client.find(people, related).results.map { $0.text("name") } == ["a"])
            #expect(try await client.get(path)["members"] == ["__type": "Relation", "className": .string(people)])
        }
    }
}
