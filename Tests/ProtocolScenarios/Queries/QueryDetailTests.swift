import ParseProtocol
import TestSupport
import Testing

/// Queries that SDKs can build beyond simple constraints: relations and places in branches, `$select` of lists, keys of
/// null values.
@Suite struct QueryDetailTests {
    private static func place(_ latitude: Double) -> JSON {
        ["__type": "GeoPoint", "latitude": .double(latitude), "longitude": 10.5]
    }

    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func relationsStandInBranches(_ style: ParseClient.Style) async throws {
        let client = ParseClient(try await Suite.shared, style: style)
        let (clubs, people) = ("Guild\(Names.random(8))", "Smith\(Names.random(8))")
        var members: [JSON] = []
        for name in ["a", "b", "c"] {
            members.append(.pointer(people, try await client.create(people, ["name": .string(name)]).objectId))
        }
        var related: [JSON] = []
        for ids in [members[0...1], members[1...1]] {
            let club = try await client.create(
                clubs, ["smiths": ["__op": "AddRelation", "objects": .array(Array(ids))]])
            related.append(["$relatedTo": ["object": .pointer(clubs, club.objectId), "key": "smiths"]])
        }
        func names(_ condition: JSON) async throws -> [String] {
            let answer = try await client.find(people, condition, ["order": "name", "count": 1])
            #expect(answer["count"] == .int(Int64(answer.results.count)), "\(answer.text)")
            return answer.results.map { $0.text("name") }
        }
        #expect(try await names(["$or": [related[1], ["name": "c"]]]) == ["b", "c"])
        #expect(try await names(["$and": .array(related)]) == ["b"])
        #expect(try await names(["$or": [["$and": [related[0], ["name": "a"]]], related[1]]]) == ["a", "b"])
        // Branches also work in a sub-query.
        let tools = "Tool\(Names.random(8))"
        for (name, owner) in [("hammer", members[0]), ("tongs", members[2])] {
            _ = try await client.create(tools, ["name": .string(name), "owner": owner])
        }
        let owners: JSON = ["owner": ["$inQuery": ["className": .string(people), "where": ["$or": .array(related)]]]]
        #expect(try await client.find(tools, owners).results.map { $0.text("name") } == ["hammer"])
    }

    @Test func aSelectedListGivesEachOfItsElements() async throws {
        let client = ParseClient(try await Suite.shared)
        let (teams, players) = ("Crew\(Names.random(8))", "Mate\(Names.random(8))")
        var mates: [JSON] = []
        for name in ["a", "b", "c"] {
            mates.append(.pointer(players, try await client.create(players, ["name": .string(name)]).objectId))
        }
        for (index, mate) in mates.enumerated() {
            let id = mate.pointerTarget?.objectId ?? ""
            _ = try await client.call(
                .PUT, "/classes/\(players)/\(id)", ["me": mate, "friends": [mates[(index + 1) % 3]]])
        }
        _ = try await client.create(teams, ["first": mates[0], "crew": [mates[0], mates[1]], "size": 2])
        _ = try await client.create(teams, ["size": 0])
        func names(_ field: String, _ operation: String, _ key: String) async throws -> [String] {
            let selection: JSON = ["query": ["className": .string(teams), "where": [:]], "key": .string(key)]
            let answer = try await client.find(
                players, .object([field: .object([operation: selection])]), ["order": "name"])
            #expect(answer.status == 200, "\(answer.text)")
            return answer.results.map { $0.text("name") }
        }
        // A pointer compared with lists of pointers.
        #expect(try await names("me", "$select", "crew") == ["a", "b"])
        #expect(try await names("me", "$dontSelect", "crew") == ["c"])
        // Lists of pointers compared with pointers, and with lists: c's friend is a, a's is b, b's is c.
        #expect(try await names("friends", "$select", "first") == ["c"])
        #expect(try await names("friends", "$dontSelect", "first") == ["a", "b"])
        #expect(try await names("friends", "$select", "crew") == ["a", "c"])
        #expect(try await names("friends", "$dontSelect", "crew") == ["b"])
    }

    @Test func aCountTakesNearnessInABranch() async throws {
        let client = ParseClient(try await Suite.shared)
        let className = "Berth\(Names.random(8))"
        for (name, latitude) in [("near", 50.0), ("far", 10.0)] {
            _ = try await client.create(className, ["name": .string(name), "at": Self.place(latitude)])
        }
        _ = try await client.create(className, ["name": "nowhere"])
        let near: JSON = ["at": ["$nearSphere": Self.place(50), "$maxDistanceInKilometers": 10]]
        let condition: JSON = ["$or": [near, ["name": "nowhere"]]]
        let counted = try await client.find(className, condition, ["limit": 0, "count": 1])
        #expect(counted["count"] == 2, "\(counted.text)")
        #expect(counted.results.isEmpty, "\(counted.text)")
        #expect(try await client.find(className, condition).code == 102)
    }

    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func keysOfANullFieldKeepIt(_ style: ParseClient.Style) async throws {
        let client = ParseClient(try await Suite.shared, style: style)
        let className = "Blank\(Names.random(8))"
        let id = try await client.create(className, ["a": ["b": 1, "c": 2], "d": 3]).objectId
        _ = try await client.call(.PUT, "/classes/\(className)/\(id)", ["a": .null])
        for answer in [
            try await client.find(className, [:], ["keys": "a.b"]).results.first,
            try await client.get("/classes/\(className)/\(id)", ["keys": "a.b"]).json,
        ] {
            #expect(answer?.objectValue?["a"] == .some(.null), "\(answer?.serializedText ?? "")")
            #expect(answer?["d"] == nil)
        }
    }

    /// One moment in each date format, in objects, conditions, pushes and events.
    @Test func datesAreReadInEachFormOfISO8601() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let className = "Meet\(Names.random(8))"
        func date(_ text: String) -> JSON { ["__type": "Date", "iso": .string(text)] }
        let utc = "2024-12-01T00:00:00.000Z"
        let forms = [
            "2024-12-01", "2024-12-01T00:00Z", "2024-12-01T00:00:00", "2024-12-01T05:30:00+05:30",
            "2024-11-30T16:00:00.000-0800",
        ]
        for form in forms {
            let made = try await master.create(className, ["at": date(form), "list": [date(form)]])
            let object = try await master.get("/classes/\(className)/\(made.objectId)").json
            #expect(object["at"] == date(utc), "\(form): \(made.text)")
            #expect(object["list"] == [date(utc)], "\(form)")
            let event = try await master.call(.POST, "/events/Seen", ["at": date(form)])
            #expect(event.status == 200, "\(form): \(event.text)")
        }
        for form in forms {
            let count = Int64(forms.count)
            for condition: JSON in [
                ["at": date(form)], ["at": ["$gte": date(form), "$lte": date(form)]], ["list": date(form)],
            ] {
                let found = try await master.find(className, condition, ["limit": 0, "count": 1])
                #expect(found["count"] == .int(count), "\(condition.serializedText): \(found.text)")
            }
            for created: JSON in [.string(form), date(form)] {
                let found = try await master.find(className, ["createdAt": ["$gt": created]])
                #expect(found.results.count == forms.count, "\(found.text)")
            }
            let push = try await master.call(
                .POST, "/push", ["channels": ["none"], "push_time": .string(form), "data": ["alert": "x"]])
            #expect(push.status == 200, "\(form): \(push.text)")
        }
    }

    /// The list of an app's sections, without the master key: only of the objects that the client may find.
    @Test func distinctIsForEveryClientThatMayFind() async throws {
        let suite = try await Suite.shared
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        let className = "Hue\(Names.random(8))"
        for (hue, access) in [("red", ["*": ["read": true]]), ("blue", [:])] as [(String, JSON)] {
            _ = try await master.create(className, ["hue": .string(hue), "ACL": access])
        }
        let path = "/aggregate/\(className)"
        let own = try await client.get(path, ["distinct": "hue"])
        #expect(own.status == 200 && own.json["results"] == ["red"], "\(own.text)")
        #expect(try await master.get(path, ["distinct": "hue"]).results.count == 2)
        for options: [String: JSON] in [
            ["pipeline": []], ["$match": ["hue": "red"]], ["distinct": "hue", "$match": ["hue": "red"]], [:],
        ] {
            let refused = try await client.get(path, options)
            #expect(
                refused.status == 403 && refused["error"] == "unauthorized: master key is required", "\(refused.text)")
        }
        let closed: JSON = ["classLevelPermissions": ["get": ["*": true]]]
        #expect(try await master.call(.PUT, "/schemas/\(className)", closed).status == 200)
        #expect(try await client.get(path, ["distinct": "hue"]).code == 119)
        #expect(try await client.get("/aggregate/_Session", ["distinct": "user"]).code == 209)
        #expect(try await client.get("/aggregate/_Installation", ["distinct": "deviceToken"]).code == 119)
        #expect(try await client.get("/aggregate/_User", ["distinct": "email"]).code == 119)
    }

    @Test func distinctTakesAJSONText() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let className = "Hue\(Names.random(8))"
        for hue in ["red", "blue", "red"] { _ = try await master.create(className, ["hue": .string(hue)]) }
        for name: JSON in ["hue", "\"hue\""] {
            let answer = try await master.get("/aggregate/\(className)", ["distinct": name])
            #expect(Set(answer.json["results"]?.arrayValue ?? []) == ["red", "blue"], "\(answer.text)")
        }
    }
}
