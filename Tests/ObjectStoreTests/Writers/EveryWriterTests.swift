import Foundation
import ObjectStore
import ParseProtocol
import Testing

/// Several processes write one schema: no write is lost, and rules hold.
@Suite(.severalWriters) struct EveryWriterTests {
    @Test func countersFromSeveralEndAtTheSum() async throws {
        let replicas = try await Replicas()
        let id = try await replicas[0].create("T", ["n": 0])
        let outcomes = await replicas.atOnce(times: 60) { job, _, _ in
            _ = try job.update("T", id, ["n": ["__op": "Increment", "amount": 1]], caller: .master)
        }
        #expect(outcomes.failures() == [])
        #expect(try await replicas[1].get("T", id)["n"]?.intValue == 180)
    }

    @Test(arguments: [true, false])
    func aStockOfTenSellsTen(inOneStatement: Bool) async throws {
        let replicas = try await Replicas(schema: [
            "CREATE TABLE stock(id INTEGER PRIMARY KEY, pieces INTEGER NOT NULL)",
            "INSERT INTO stock(id, pieces) VALUES (1, 10)",
        ])
        let outcomes = await replicas.atOnce(times: 40) { job, _, _ in
            if inOneStatement {
                return try job.execute("UPDATE stock SET pieces = pieces - 1 WHERE id = 1 AND pieces > 0") == 1
            }
            guard try job.rows("SELECT pieces FROM stock WHERE id = 1", [])[0].int(0) > 0 else { return false }
            return try job.execute("UPDATE stock SET pieces = pieces - 1 WHERE id = 1") == 1
        }
        #expect(outcomes.failures() == [])
        #expect(outcomes.count(of: true) == 10)
        #expect(outcomes.count(of: false) == 110)
        let left = try await replicas[2].store.read { try $0.rows("SELECT pieces FROM stock", [])[0].int(0) }
        #expect(left == 0)
    }

    @Test func aValueThatIsUniqueIsTakenOnce() async throws {
        let definition = ClassDefinition("T", fields: ["name": .string], uniqueIndexes: [["name"]])
        let replicas = try await Replicas(3, [definition])
        let outcomes = await replicas.atOnce(times: 30) { job, _, time in
            do {
                _ = try job.nested { try job.create("T", ["name": .string("n\(time)")], caller: .master) }
                return true
            } catch let error as ParseError where error.code == .duplicateValue {
                // The refused job sees the object that has the value.
                let condition: JSON = ["name": .string("n\(time)")]
                let names = Query(className: "T", where: condition.serialized, limit: 2)
                #expect(try job.documents(names, caller: .master).count == 1)
                return false
            }
        }
        #expect(outcomes.failures() == [])
        #expect(outcomes.count(of: true) == 30)
        #expect(outcomes.count(of: false) == 60)
    }

    @Test func aValueThatIsTakenIsRefusedWith137() async throws {
        let replicas = try await Replicas(
            3, [ClassDefinition("T", fields: ["name": .string, "n": .number], uniqueIndexes: [["name"]])])
        var ids: [String] = []
        for index in 0..<9 { ids.append(try await replicas[0].create("T", ["name": .string("old\(index)")])) }
        let all = ids
        // Updates, which PostgreSQL refuses with an error.
        let outcomes = await replicas.atOnce(times: 3) { job, store, time in
            _ = try job.update("T", all[store * 3 + time], ["name": .string("new\(time)")], caller: .master)
        }
        let codes = outcomes.compactMap { outcome -> Int? in
            guard case .failure(let error) = outcome else { return nil }
            return (error as? ParseError)?.code.rawValue ?? -1
        }
        #expect(codes == Array(repeating: 137, count: 6))
        #expect(try await replicas[1].names("T", ["name": ["$regex": "^new"]]) == ["new0", "new1", "new2"])
    }

    @Test func arraysLoseNothing() async throws {
        let replicas = try await Replicas()
        let id = try await replicas[0].create("T", ["all": [], "once": [], "left": .array((0..<60).map { .int($0) })])
        let outcomes = await replicas.atOnce(times: 20) { job, store, time in
            let number = JSON.int(Int64(store * 20 + time))
            _ = try job.update(
                "T", id,
                [
                    "all": ["__op": "Add", "objects": [number]],
                    "once": ["__op": "AddUnique", "objects": [.int(Int64(time))]],
                    "left": ["__op": "Remove", "objects": [number]],
                ], caller: .master)
        }
        #expect(outcomes.failures() == [])
        let object = try await replicas[1].get("T", id)
        #expect(object["all"]?.arrayValue?.compactMap(\.intValue).sorted() == Array(0..<60))
        #expect(object["once"]?.arrayValue?.compactMap(\.intValue).sorted() == Array(0..<20))
        #expect(object["left"]?.arrayValue?.isEmpty == true)
    }

    @Test func rulesOverTwoRowsHoldAcrossReplicas() async throws {
        let replicas = try await Replicas(
            2,
            schema: [
                "CREATE TABLE duty(round INTEGER, name INTEGER, isOn INTEGER NOT NULL, PRIMARY KEY(round, name))"
            ])
        try await replicas[0].store.write { job in
            for round in 0..<40 {
                for name in 0..<2 {
                    try job.execute(
                        "INSERT INTO duty(round, name, isOn) VALUES (?, ?, 1)", [.int(Int64(round)), .int(Int64(name))])
                }
            }
        }
        // One of the two must remain.
        let outcomes = await replicas.atOnce(times: 40) { job, store, round in
            let others = try job.rows(
                "SELECT isOn FROM duty WHERE round = ? AND name = ?", [.int(Int64(round)), .int(Int64(1 - store))])
            guard try others[0].int(0) == 1 else { return false }
            return try job.execute(
                "UPDATE duty SET isOn = 0 WHERE round = ? AND name = ?", [.int(Int64(round)), .int(Int64(store))]) == 1
        }
        #expect(outcomes.failures() == [])
        let on = try await replicas[0].store.read {
            try $0.rows("SELECT round FROM duty GROUP BY round HAVING sum(isOn) <> 1", [])
        }
        #expect(on.isEmpty)
    }

    /// Several replicas move money between accounts at once, in random order.
    @Test func sumsStayTheSameWhateverIsMoved() async throws {
        let replicas = try await Replicas(allowCustomObjectId: true)
        for index in 0..<12 { try await replicas[0].create("Account", ["amount": 100], id: "a\(index)") }
        let outcomes = await replicas.atOnce(times: 80) { job, _, _ in
            let (from, to) = ("a\(Int.random(in: 0..<12))", "a\(Int.random(in: 0..<12))")
            let amount = Int64.random(in: 1...40)
            let all = try job.documents(Query(className: "Account", limit: 100), caller: .master)
            guard all.compactMap({ $0["amount"]?.intValue }).reduce(0, +) == 1200 else {
                throw ParseError(.internalServerError, "Somebody's half is missing.")
            }
            let has = all.first { $0["objectId"]?.stringValue == from }?["amount"]?.intValue ?? 0
            guard has >= amount else { return false }
            for (id, sign) in [(from, -amount), (to, amount)] {
                _ = try job.update(
                    "Account", id, ["amount": ["__op": "Increment", "amount": .int(sign)]], caller: .master)
            }
            return true
        }
        #expect(outcomes.failures() == [])
        let query = Query(className: "Account", limit: 100)
        let amounts = try await replicas[2].store.read {
            try $0.documents(query, caller: .master).compactMap { $0["amount"]?.intValue }
        }
        #expect(amounts.reduce(0, +) == 1200)
        #expect(amounts.filter { $0 < 0 } == [])
    }
}
