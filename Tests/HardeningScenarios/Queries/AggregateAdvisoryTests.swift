import ParseProtocol
import TestSupport
import Testing

/// Attacks on aggregates and computed expressions: names that contain SQL, and queries that run too long.
@Suite struct AggregateAdvisoryTests {
    private static let names = [
        "score\" OR 1=1 --", "score') FROM users; DROP TABLE o1; --", "a'b", "a\"b", "a$b", "a b", "a;b", "a)b",
        "a\u{0}b", "a..b",
        ".a", "a.", "score'||(SELECT sql FROM sqlite_master)||'", "json_extract(doc,'$.x')", "a.'b", "a.\"b\"", "*",
        "1",
        "sqlite_master.sql'",
    ]

    @Test("2026-33539: a field name in a distinct or pipeline is never SQL, wherever it stands")
    func advisory2026_33539_namesAreNeverSQL() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let className = "Score\(Names.random(8))"
        let path = "/aggregate/\(className)"
        _ = try await master.create(className, ["score": 1, "a": ["b": 1], "list": [1, 2]])
        for name in Self.names {
            let key = JSON.string(name)
            let dollar = JSON.string("$" + name)
            let places: [JSON] = [
                ["$match": .object([name: 1])], ["$match": ["$or": [.object([name: ["$gt": 1]])]]],
                ["$match": ["$expr": ["$eq": [dollar, 1]]]], ["$sort": .object([name: 1])],
                ["$project": .object([name: 1])],
                ["$project": .object([name: "$score"])], ["$project": ["x": dollar]],
                ["$project": ["x": .object([name: dollar])]],
                ["$addFields": .object([name: 1])], ["$unset": key], ["$group": ["_id": dollar]],
                ["$group": ["_id": .object([name: "$score"])]], ["$group": .object(["_id": .null, name: ["$sum": 1]])],
                ["$group": ["_id": .null, "n": ["$sum": dollar]]], ["$group": ["_id": ["$year": dollar]]],
                ["$unwind": dollar],
                ["$unwind": ["path": "$list", "includeArrayIndex": key]], ["$count": key], ["$sortByCount": dollar],
            ]
            for stage in places {
                // As the first stage, which becomes SQL, and after a stage that creates new documents.
                for pipeline in [[stage], [["$limit": 5], stage]] as [[JSON]] {
                    let answer = try await master.get(path, ["pipeline": .array(pipeline)])
                    #expect(answer.status == 400, "\(stage.serializedText): \(answer.status) \(answer.text)")
                    #expect(
                        [102, 105, 107].contains(answer.code),
                        "\(stage.serializedText): \(answer.status) \(answer.text)"
                    )
                    expectNothingInternal(answer)
                }
            }
            for answer in [
                try await master.get(path, ["distinct": key]),
                try await master.get(path, ["distinct": "score", "where": .object([name: 1])]),
                try await master.get(path, [name: 1]),
            ] {
                #expect(answer.status == 400, "\(name): \(answer.text)")
                #expect([102, 105, 107].contains(answer.code), "\(name): \(answer.text)")
                expectNothingInternal(answer)
            }
        }
        // Values are bound, so they are harmless as strings.
        for name in Self.names where !name.contains("\u{0}") {
            let matched = try await master.get(
                path, ["pipeline": [["$match": ["title": .string(name)]], ["$count": "n"]]])
            #expect(matched.json == ["results": []])
        }
        #expect(try await master.get(path, ["distinct": "score"]).json == ["results": [1]])
    }

    @Test("2026-33539: a class name of /aggregate is checked like every other")
    func advisory2026_33539_classNamesAreChecked() async throws {
        let master = ParseClient.master(try await Suite.shared)
        for name in ["a%27b", "a%22%20b", "o1%3B", "sqlite_master'", "_SCHEMA", "_Join:x:Y", "_GlobalConfig", "%00"] {
            let answer = try await master.send(
                .GET, "/aggregate/\(name.replacing("'", with: "%27"))?distinct=sql", headers: master.credentials)
            #expect(answer.status == 400, "\(name): \(answer.text)")
            #expect([103, 119].contains(answer.code), "\(name): \(answer.text)")
            expectNothingInternal(answer)
        }
    }

    /// Texts of database errors and timeouts must not reach clients (#9937, #10020).
    @Test(.enabled(if: Suite.keepsFiles, "PostgreSQL's patterns do not go back."))
    func aQueryThatTakesTooLongSaysSoWithoutInternalText() async throws {
        let suite = try await Suite.shared
        var master = ParseClient.master(suite)
        master.style = .tunnelled
        let className = "Slow\(Names.random(8))"
        let list = JSON.array((0..<200).map { .int($0) })
        let requests = (0..<40).map { _ -> JSON in
            let text = String(repeating: "a", count: 64) + "b!"
            let object: JSON = ["text": .string(text), "a": list, "b": list, "c": list, "d": list]
            return ["method": "POST", "path": .string("/parse/classes/\(className)"), "body": object]
        }
        for _ in 0..<12 { _ = try await master.call(.POST, "/batch", ["requests": .array(requests)]) }
        // Each pattern reaches the step limit of one match; the reader's time limit ends the whole query.
        let slow: JSON = ["$or": .array(Array(repeating: ["text": ["$regex": "^(a|aa)+b$"]], count: 40))]
        let unwinds: [JSON] = ["a", "b", "c", "d"].map { ["$unwind": .string("$" + $0)] }
        for answer in [
            try await master.find(className, slow),
            try await master.get("/aggregate/\(className)", ["distinct": "a", "where": slow]),
            try await master.get("/aggregate/\(className)", ["pipeline": .array(unwinds + [["$count": "n"]])]),
        ] {
            #expect(answer.status == 400)
            #expect(answer.json == ["code": 124, "error": "The query took too long."])
        }
        let health = try await master.find(className, [:], ["limit": 1])
        #expect(health.results.count == 1)
    }

    private func expectNothingInternal(_ answer: ParseClient.Answer) {
        for text in ["SQLite", "syntax error", "near \\\"", "no such", "Swift", ".swift", "SELECT o"] {
            #expect(!answer.text.contains(text), "\(answer.text)")
        }
    }
}
