import ObjectStore
import ParseProtocol
import Testing

/// The conditions that branches of `$or`, `$and` and `$nor` may contain besides constraints on fields.
@Suite struct QueryBranchTests {
    private static func point(_ latitude: Double, _ longitude: Double) -> JSON {
        ["__type": "GeoPoint", "latitude": .double(latitude), "longitude": .double(longitude)]
    }

    // MARK: Relations

    private static func teams() async throws -> (TestStore, related: [String: JSON]) {
        let test = try await TestStore()
        var players: [JSON] = []
        for name in ["a", "b", "c", "d"] {
            players.append(.pointer("Player", try await test.create("Player", ["name": .string(name)])))
        }
        var related: [String: JSON] = [:]
        for (name, members, access) in [
            ("one", [players[0], players[1]], .null), ("two", [players[1], players[2]], .null),
            ("secret", [players[3]], ["annannanna": ["read": true]]),
        ] as [(String, [JSON], JSON)] {
            let team = try await test.create(
                "Team",
                ["players": ["__op": "AddRelation", "objects": .array(members)], "name": .string(name), "ACL": access])
            related[name] = ["$relatedTo": ["object": .pointer("Team", team), "key": "players"]]
        }
        return (test, related)
    }

    @Test func relationsAreJoinedByEveryBranch() async throws {
        let (test, related) = try await Self.teams()
        let (one, two) = (related["one"] ?? .null, related["two"] ?? .null)
        for (condition, expected) in [
            (["$or": [one, two]], "abc"), (["$and": [one, two]], "b"), (["$or": [one, ["name": "d"]]], "abd"),
            (["$nor": [one]], "cd"), (["$and": [["$or": [one, two]], ["name": ["$ne": "b"]]]], "ac"),
            (["$or": [two], "name": ["$gt": "b"]], "c"),
        ] as [(JSON, String)] {
            for caller in [Caller.master, bob, .anonymous] {
                let found = try await test.names("Player", condition, as: caller).joined()
                #expect(found == expected, "\(condition.serializedText)")
                let count = try await test.store.read {
                    try $0.count(Query(className: "Player", where: condition), caller: caller)
                }
                #expect(count == expected.count, "count of \(condition.serializedText)")
            }
        }
    }

    /// The owner's ACL and the protection of the relation field hold in a branch as at the top level.
    @Test func membersNeedReadAccessToTheOwner() async throws {
        let (test, related) = try await Self.teams()
        let secret: JSON = ["$or": [related["secret"] ?? .null, ["name": "a"]]]
        #expect(try await test.names("Player", secret, as: ann) == ["a", "d"])
        #expect(try await test.names("Player", secret, as: bob) == ["a"])
        try await test.store.write {
            _ = try $0.changeClass(
                "Team", ["classLevelPermissions": ["get": ["*": true], "protectedFields": ["*": ["players"]]]],
                keeping: [])
        }
        let one: JSON = ["$or": [related["one"] ?? .null, ["name": "a"]]]
        #expect(await code { _ = try await test.names("Player", one, as: bob) } == 119)
        #expect(try await test.names("Player", one) == ["a", "b"])
    }

    @Test func aBadRelationInABranchIsRefused() async throws {
        let (test, _) = try await Self.teams()
        for bad: JSON in [5, ["object": 1, "key": "players"], ["object": .pointer("Team", "x"), "key": "a'b"]] {
            #expect(await code { _ = try await test.names("Player", ["$or": [["$relatedTo": bad]]]) } == 102)
        }
    }

    // MARK: Places

    private static func places() async throws -> TestStore {
        let test = try await TestStore()
        for (name, latitude) in [("near", 1.0), ("there", 5.0), ("far", 60.0)] {
            try await test.create("Place", ["name": .string(name), "at": point(latitude, 0)])
        }
        try await test.create("Place", ["name": "nowhere"])
        try await test.create("Place", ["name": "private", "at": point(1, 1), "ACL": ["annannanna": ["read": true]]])
        return test
    }

    private static func near(_ kilometers: Double) -> JSON {
        ["at": ["$nearSphere": point(0, 0), "$maxDistanceInKilometers": .double(kilometers)]]
    }

    @Test func aCountTakesNearnessInABranch() async throws {
        let test = try await Self.places()
        let all: JSON = ["at": ["$nearSphere": Self.point(0, 0)]]
        for (condition, expected) in [
            (["$or": [Self.near(200), ["name": "nowhere"]]], 2), (["$or": [Self.near(200), Self.near(800)]], 2),
            (["$and": [Self.near(800), ["name": ["$ne": "near"]]]], 1), (["$nor": [Self.near(800)]], 2),
            (["$or": [all]], 3), (["$or": [["name": Self.near(200)["at"] ?? .null], ["name": "far"]]], 1),
        ] as [(JSON, Int)] {
            let query = Query(className: "Place", where: condition.serialized)
            for _ in 0..<2 {
                let count = try await test.store.read { try $0.count(query, caller: bob) }
                #expect(count == expected, "\(condition.serializedText)")
                // Rows would have to be sorted by two distances at once.
                #expect(await code { _ = try await test.names("Place", condition, as: bob) } == 102)
            }
        }
        let query = Query(className: "Place", where: ["$or": [Self.near(200), ["name": "nowhere"]]])
        #expect(try await test.store.read { try $0.count(query, caller: ann) } == 3)
    }

    /// As for every constraint, the cost of a count does not depend on the content of unreadable rows.
    @Test(.timeLimit(.minutes(10)))
    func nearnessInABranchIsHandedNoUnreadableRow() async throws {
        let (hit, miss) = (try await EvaluationOrderTests.store(true), try await EvaluationOrderTests.store(false))
        let near: JSON = ["at": ["$nearSphere": Self.point(10, 10), "$maxDistanceInKilometers": 100]]
        for condition: JSON in [
            ["$or": [near, ["phone": ["$regex": "^(?=\\+1555)(.+)+!|^\\+1555"]]]],
            ["$and": [near, ["tags": "a"]]],
        ] {
            for className in ["Plain", "Indexed", "Named"] {
                let query = Query(className: className, where: condition)
                #expect(try await hit.store.read { try $0.count(query, caller: .master) } == EvaluationOrderTests.rows)
                #expect(try await miss.store.read { try $0.count(query, caller: .master) } == 0)
                let found = try await hit.store.read { try $0.work(of: query, counts: true, caller: bob) }
                let missed = try await miss.store.read { try $0.work(of: query, counts: true, caller: bob) }
                let what = "\(className) \(condition.serializedText): \(found) \(missed)"
                #expect(found.calls == missed.calls, "\(what)")
                let stepsMax = EvaluationOrderTests.candidateStepsMax * EvaluationOrderTests.rows
                #expect(abs(found.steps - missed.steps) <= stepsMax, "\(what)")
            }
        }
    }
}
