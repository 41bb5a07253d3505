import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Attacks on protected fields and relations over HTTP, each named after its advisory.
@Suite struct ProtectedFieldAdvisoryTests {
    /// A class with a hidden field, a relation that clients may not follow, and one object that ann owns.
    private struct Guarded {
        let name: String
        let objectId: String
        let members: [String]

        static let secret = "s3cret-value"

        init(_ suite: Suite) async throws {
            let master = ParseClient.master(suite)
            name = "Guarded\(Names.random(6))"
            let everybody: JSON = ["*": true]
            var permissions: [String: JSON] = ["protectedFields": ["*": ["secret", "vault", "links"]]]
            for action in ["find", "count", "get", "create", "update", "delete", "addField"] {
                permissions[action] = everybody
            }
            let fields: JSON = [
                "secret": ["type": "String"], "vault": ["type": "Object"], "name": ["type": "String"],
                "links": ["type": "Relation", "targetClass": .string("\(name)Member")],
                "open": ["type": "Relation", "targetClass": .string("\(name)Member")],
            ]
            let made = try await master.call(
                .POST, "/schemas/\(name)",
                ["className": .string(name), "fields": fields, "classLevelPermissions": .object(permissions)])
            guard made.status == 200 else { throw Unexpected("POST schemas", made) }
            var members: [String] = []
            for index in 0..<3 {
                members.append(try await master.create("\(name)Member", ["n": .int(Int64(index))]).objectId)
            }
            let all = JSON.array(members.map { .pointer("\(made.json.text("className"))Member", $0) })
            self.members = members
            let created = try await master.create(
                name,
                [
                    "name": "one", "secret": .string(Self.secret), "vault": ["code": .string(Self.secret)],
                    "links": ["__op": "AddRelation", "objects": all], "open": ["__op": "AddRelation", "objects": all],
                ])
            guard created.status == 201 else { throw Unexpected("POST", created) }
            objectId = created.objectId
        }
    }

    @Test("2026-53726: $relatedTo keeps to the relation's field protection and the owner's ACL")
    func advisory2026_53726_relatedToKeepsToProtection() async throws {
        let suite = try await Suite.shared
        let guarded = try await Guarded(suite)
        let owner = JSON.pointer(guarded.name, guarded.objectId)
        let (hidden, open): (JSON, JSON) = (
            ["$relatedTo": ["object": owner, "key": "links"]], ["$relatedTo": ["object": owner, "key": "open"]]
        )
        for client in try await ParseClient.attackers(suite) {
            #expect(try await client.find("\(guarded.name)Member", hidden).code == 119)
            #expect(try await client.find("\(guarded.name)Member", open).results.count == 3)
        }
        let master = ParseClient.master(suite)
        #expect(try await master.find("\(guarded.name)Member", hidden).results.count == 3)
        _ = try await master.call(.PUT, "/classes/\(guarded.name)/\(guarded.objectId)", ["ACL": [:]])
        for client in try await ParseClient.attackers(suite) {
            #expect(
                try await client.find("\(guarded.name)Member", open).json == ["results": []],
                "The owner cannot be read.")
        }
        // The same with members in another service.
        let customer = try await Customer.signUp(suite)
        let club = "Club\(Names.random(6))"
        let closed = try await master.create(
            club, ["fans": ["__op": "AddRelation", "objects": [customer.pointer]], "ACL": [:]])
        let fans: JSON = ["$relatedTo": ["object": .pointer(club, closed.objectId), "key": "fans"]]
        #expect(try await customer.client.find("_User", fans).json == ["results": []])
        let permissions: JSON = [
            "find": ["*": true], "get": ["*": true], "count": ["*": true], "protectedFields": ["*": ["fans"]],
        ]
        _ = try await master.call(.PUT, "/schemas/\(club)", ["classLevelPermissions": permissions])
        #expect(try await customer.client.find("_User", fans).code == 119)
        _ = try await master.call(.PUT, "/schemas/\(club)", ["classLevelPermissions": ["find": ["*": true]]])
        #expect(try await customer.client.find("_User", fans).code == 119, "Nobody may get an object of the class.")
    }

    @Test("2026-109303: a count with $relatedTo tells nothing about a protected relation")
    func advisory2026_109303_countsKeepToProtection() async throws {
        let suite = try await Suite.shared
        let guarded = try await Guarded(suite)
        let master = ParseClient.master(suite)
        let owner = JSON.pointer(guarded.name, guarded.objectId)
        let counting: [String: JSON] = ["count": 1, "limit": 0]
        let (hidden, open): (JSON, JSON) = (
            ["$relatedTo": ["object": owner, "key": "links"]], ["$relatedTo": ["object": owner, "key": "open"]]
        )
        let known = hidden.objectValue?.merging(["objectId": .string(guarded.members[0])]) { $1 } ?? [:]
        for client in try await ParseClient.attackers(suite) {
            for condition in [hidden, .object(known)] {
                let answer = try await client.find("\(guarded.name)Member", condition, counting)
                #expect(answer.code == 119, "\(answer.text)")
                #expect(answer["count"] == nil, "\(answer.text)")
            }
            #expect(try await client.find("\(guarded.name)Member", open, counting)["count"] == 3)
        }
        _ = try await master.call(.PUT, "/classes/\(guarded.name)/\(guarded.objectId)", ["ACL": [:]])
        for client in try await ParseClient.attackers(suite) {
            #expect(try await client.find("\(guarded.name)Member", open, counting)["count"] == 0)
        }
        let customer = try await Customer.signUp(suite)
        let club = "Club\(Names.random(6))"
        let closed = try await master.create(
            club, ["fans": ["__op": "AddRelation", "objects": [customer.pointer]], "ACL": [:]])
        let fans: JSON = ["$relatedTo": ["object": .pointer(club, closed.objectId), "key": "fans"]]
        #expect(try await customer.client.find("_User", fans, counting)["count"] == 0)
        #expect(try await master.find("_User", fans, counting)["count"] == 1)
    }

    @Test("2026-30962: a protected field is refused however deep it stands under $or, $and and $nor")
    func advisory2026_30962_nestingDoesNotHideAProtectedField() async throws {
        let suite = try await Suite.shared
        let guarded = try await Guarded(suite)
        let plain: JSON = ["secret": ["$regex": "^s"]]
        var conditions: [JSON] = [
            plain, ["$or": [plain]], ["$and": [plain]], ["$nor": [plain]],
            ["$or": [["name": "one"], ["$and": [["$nor": [plain]]]]]],
        ]
        var deep = plain
        for index in 0..<14 { deep = .object([["$or", "$and", "$nor"][index % 3]: [["name": "x"], deep]]) }
        conditions.append(deep)
        let inside: JSON = ["links": ["$inQuery": ["className": .string(guarded.name), "where": ["$or": [plain]]]]]
        for client in try await ParseClient.attackers(suite) {
            for condition in conditions {
                for options: [String: JSON] in [[:], ["count": 1, "limit": 0]] {
                    let answer = try await client.find(guarded.name, condition, options)
                    #expect(answer.code == 119, "\(condition.serializedText): \(answer.text)")
                    #expect(answer["count"] == nil, "\(condition.serializedText): \(answer.text)")
                }
            }
            #expect(try await client.find("\(guarded.name)Holder", inside).code == 119, "In a sub-query, too.")
        }
    }

    @Test("2026-31872: a dotted name does not reach into a protected field, in conditions and orders")
    func advisory2026_31872_dotsDoNotReachIntoAProtectedField() async throws {
        let suite = try await Suite.shared
        let guarded = try await Guarded(suite)
        let holder = "\(guarded.name)Holder"
        _ = try await ParseClient.master(suite).create(holder, ["target": .pointer(guarded.name, guarded.objectId)])
        for client in try await ParseClient.attackers(suite) {
            for name in ["vault.code", "vault.code.x", "secret.x", "secret"] {
                #expect(try await client.find(guarded.name, .object([name: ["$exists": true]])).code == 119, "\(name)")
                for order in [name, "-\(name)", "name,\(name)"] {
                    #expect(try await client.find(guarded.name, [:], ["order": .string(order)]).code == 119, "\(order)")
                    #expect(
                        try await client.find(guarded.name, [:], ["order": .string(order), "after": ""]).code == 119,
                        "\(order)")
                }
                // Through a pointer of another class.
                #expect(try await client.find(holder, .object(["target.\(name)": ["$exists": true]])).code == 119)
                #expect(try await client.find(holder, [:], ["order": .string("-target.\(name)")]).code == 119)
            }
            let selected: JSON = [
                "name": [
                    "$select": ["query": ["className": .string(guarded.name), "where": [:]], "key": "vault.code"]
                ]
            ]
            let answer = try await client.find(guarded.name, selected)
            #expect(answer.results.isEmpty, "What a sub-query may not see it does not bring: \(answer.text)")
        }
    }
}
