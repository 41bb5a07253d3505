import ObjectStore
import ParseProtocol
import Testing

/// Several processes change classes of one schema.
@Suite(.severalWriters) struct EveryWriterSchemaTests {
    @Test func classesAndFieldsAreMadeBySeveralAtOnce() async throws {
        let replicas = try await Replicas()
        let outcomes = await replicas.atOnce(times: 6) { job, store, time in
            _ = try job.create(
                "New\(time % 2)", ["name": .string("\(store)-\(time)"), "own\(store)": 1, "field\(time)": "text"],
                caller: .master)
        }
        #expect(outcomes.failures() == [])
        for index in 0..<2 {
            for test in replicas.stores { #expect(try await test.names("New\(index)", [:]).count == 9) }
            let wrong = await code { try await replicas[1].create("New\(index)", ["own2": "text"]) }
            #expect(wrong == 111)
        }
    }

    @Test func aFieldHasOneTypeWhoeverIsFirst() async throws {
        let replicas = try await Replicas(2)
        for round in 0..<10 {
            let outcomes = await replicas.atOnce(times: 1) { job, store, _ in
                _ = try job.create("T", ["field\(round)": store == 0 ? "text" : 1], caller: .master)
            }
            let failures = outcomes.compactMap { outcome -> Int? in
                guard case .failure(let error) = outcome else { return nil }
                return (error as? ParseError)?.code.rawValue ?? -1
            }
            #expect(failures == [111])
        }
    }

    @Test func othersKnowAFieldAtOnce() async throws {
        let replicas = try await Replicas()
        try await replicas[0].create("T", ["name": "a"])
        for round in 0..<10 {
            let field = "field\(round)"
            try await replicas[round % 3].create("T", ["name": "b", field: 1])
            let wrong = await code { try await replicas[(round + 1) % 3].create("T", [field: "text"]) }
            #expect(wrong == 111)
            #expect(try await replicas[(round + 2) % 3].names("T", [field: 1]) == ["b"])
        }
    }

    @Test func aClassThatIsDroppedIsMadeAnewByOthers() async throws {
        let replicas = try await Replicas(2)
        for round in 0..<5 {
            let (one, other) = (replicas[round % 2], replicas[1 - round % 2])
            let id = try await one.create("T", ["name": "a", "round\(round)": 1])
            try await other.delete("T", id)
            try await other.store.write { try $0.dropClass("T") }
            #expect(await code { try await one.update("T", id, ["name": "b"]) } == 101)
        }
        try await replicas[0].create("T", ["round0": "text now"])
        #expect(try await replicas[1].names("T", [:]) == [])
        let stored = try await replicas[1].store.read { try $0.count(Query(className: "T"), caller: .master) }
        #expect(stored == 1)
    }

    /// One replica drops the class because it sees no object; another one, which knows the class, creates an object.
    @Test func nothingIsLostInAClassThatIsDropped() async throws {
        let replicas = try await Replicas(2)
        for round in 0..<10 {
            let name = "T\(round)"
            try await replicas[0].store.write { _ = try $0.createClass(name, ["fields": ["n": ["type": "Number"]]]) }
            let outcomes = await replicas.atOnce(times: 1) { job, store, _ in
                if store == 0 {
                    try job.dropClass(name)
                } else {
                    _ = try job.create(name, ["n": 1], caller: .master)
                }
            }
            // Either both succeed, the create last, or the class was not empty.
            let failures = outcomes.compactMap { outcome -> Int? in
                guard case .failure(let error) = outcome else { return nil }
                return (error as? ParseError)?.code.rawValue ?? -1
            }
            #expect([[], [255]].contains(failures), "\(outcomes.failures())")
            let query = Query(className: name)
            #expect(try await replicas[1].store.read { try $0.count(query, caller: .master) } == 1)
        }
    }

    @Test func thoseThatStartAtOnceMakeTheTablesOnce() async throws {
        let classes = (0..<6).map { number in
            ClassDefinition(
                "T\(number)", fields: ["name": .string, "place": .geoPoint], uniqueIndexes: [["name"]],
                textFields: ["name"])
        }
        for _ in 0..<3 {
            let replicas = try await Replicas(
                4, classes, schema: ["CREATE TABLE own(id INTEGER PRIMARY KEY, name TEXT NOT NULL)"])
            for (index, test) in replicas.stores.enumerated() {
                try await test.create("T\(index)", ["name": "a"])
                _ = try await test.store.write { try $0.execute("INSERT INTO own(name) VALUES ('x')") }
            }
            let own = try await replicas[0].store.read { try $0.rows("SELECT id FROM own", []) }
            #expect(own.count == 4)
        }
    }
}
