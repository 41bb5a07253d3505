import ObjectStore
import ParseProtocol
import Testing

/// Comparison of a value with an array, as a field and inside an Object: every constraint considers the whole array and
/// each element, whatever the type. These cases were found by comparing random queries with an independent evaluator.
@Suite struct ArrayComparisonTests {
    private static func filled() async throws -> TestStore {
        let test = try await TestStore()
        let rows: [(String, [JSON])] = [
            ("a", [[1, 2], "x"]), ("b", [1, 2]), ("c", [.null, "y"]), ("d", []), ("e", [[]]),
            ("f", [date("2022-01-01T00:00:00.000Z"), false]), ("g", [date("2020-01-01T00:00:00.000Z"), true]),
        ]
        for (name, list) in rows {
            try await test.create("T", ["name": .string(name), "list": .array(list), "o": ["list": .array(list)]])
        }
        try await test.create("T", ["name": "h"])
        return test
    }

    @Test(arguments: ["list", "o.list"]) func aValueIsTheWholeOrAnElement(key: String) async throws {
        let test = try await Self.filled()
        let cases: [(JSON, String)] = [
            ([1, 2], "ab"), ([], "de"), (["$in": [[1, 2], "y"]], "abc"), (["$nin": [[], .null]], "abfg"),
            (["$ne": [1, 2]], "cdefgh"),
            (["$all": [[1, 2], "x"]], "a"), (.null, "ch"), (["$ne": .null], "abdefg"), (["$in": [.null]], "ch"),
            (["$gt": date("2021-01-01T00:00:00.000Z")], "f"), (["$lte": date("2020-01-01T00:00:00.000Z")], "g"),
            (["$lt": true], "f"), (["$gte": true], "g"), (["$gt": 1], "b"), (["$gt": "x"], "c"),
            (["$regex": "^x"], "a"),
        ]
        for (constraint, expected) in cases {
            let found = try await test.names("T", .object([key: constraint])).joined()
            #expect(found == expected, "\(key) \(constraint.serializedText)")
        }
    }
}
