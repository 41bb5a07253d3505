import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Operators' indexes: their fields are in the order of the request.
@Suite struct QueryIndexTests {
    @Test(.enabled(if: Suite.keepsFiles, "It reads SQLite's own table of indexes."), arguments: [false, true])
    func anIndexKeepsTheOrderOfItsFields(_ isTunnelled: Bool) async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let className = "Shelf\(Names.random(6))"
        _ = try await master.create(className, ["zone": "a", "age": 1, "name": "n"])
        let indexes = #""indexes" : { "byZone": {"zone":1, "age": -1}, "byAge" : {"age":1,"zone":1} }"#
        let answer =
            isTunnelled
            ? try await master.send(
                .POST, "/schemas/\(className)", headers: [("Content-Type", "text/plain")],
                body: Array(
                    #"{"_method":"PUT","_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)",\#(indexes)}"#.utf8
                ))
            : try await master.send(
                .PUT, "/schemas/\(className)", headers: master.credentials, body: Array("{\(indexes)}".utf8))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json.at("indexes", "byZone") == ["zone": 1, "age": -1])
        let rows = try await suite.rows(
            "catalog", "SELECT name, sql FROM sqlite_master WHERE sql LIKE '%_byZone %' OR sql LIKE '%_byAge %'")
        let classId = try #require(
            try await suite.rows("catalog", "SELECT id FROM classes WHERE name = '\(className)'").first?.at(0)?.intValue
        )
        let sql = Dictionary(
            uniqueKeysWithValues: rows.map { ($0.at(0)?.stringValue ?? "", $0.at(1)?.stringValue ?? "") })
        for (name, fields) in [("byZone", ["zone", "age"]), ("byAge", ["age", "zone"])] {
            let text = try #require(sql["x\(classId)_\(name)"])
            let places = try fields.map { try #require(text.range(of: "\"\($0)\"")?.lowerBound) }
            #expect(places[0] < places[1], "\(text)")
        }
        // An operator may send back the indexes that it read.
        let read = try await master.get("/schemas/\(className)")
        #expect(try await master.call(.PUT, "/schemas/\(className)", ["indexes": read["indexes"] ?? [:]]).status == 200)
        let plan = try await master.find(className, ["zone": "a"], ["order": "-age", "explain": true])
        #expect(plan.text.contains("_byZone"), "\(plan.text)")
        for bad: JSON in [["zone": 1, "_order": ["age"]], ["zone": 1, "_order": 5]] {
            #expect(try await master.call(.PUT, "/schemas/\(className)", ["indexes": ["bad": bad]]).code == 102)
        }
    }
}
