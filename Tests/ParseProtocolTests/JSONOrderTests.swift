import ParseProtocol
import Testing

/// Objects whose member order matters, such as the keys of a sort, keep it as pairs.
@Suite struct JSONOrderTests {
    private func read(_ text: String, _ names: Set<String>) throws -> JSON {
        try JSON(parsing: Array(text.utf8), membersInOrderOf: names)
    }

    @Test func namedObjectsBecomePairsInTheOrderOfTheText() throws {
        let text = #"[{"$sort": {"z": 1, "a": -1, "m":1}}, {"$match": {"z": 1, "a": 2}}, {"$sort":{}}]"#
        #expect(
            try read(text, ["$sort"]) == [
                ["$sort": [["z", 1], ["a", -1], ["m", 1]]], ["$match": ["z": 1, "a": 2]], ["$sort": []],
            ])
        #expect(
            try read(#"{"b": {"$sort": {"y":1,"x":1}}, "a": 1}"#, [""]) == [
                ["b", ["$sort": ["y": 1, "x": 1]]], ["a", 1],
            ])
        #expect(try read(#"{"a": 1}"#, []) == ["a": 1])
        #expect(try read(#"{"$sort": "text"}"#, ["$sort"]) == ["$sort": "text"])
    }

    @Test(arguments: [
        #"{"$sort":{"#, #"{"$sort":{"a"}}"#, #"{"$sort":{"a":1,}}"#, #"{"$sort":{a:1}}"#, #"{"$sort":{"a":1]}"#,
    ])
    func brokenTextsAreRefused(text: String) {
        #expect(throws: JSONError.self) { try read(text, ["", "$sort"]) }
    }

    @Test func depthIsBoundedWithPairsToo() {
        let text = String(repeating: #"{"$sort":"#, count: 80) + "1" + String(repeating: "}", count: 80)
        #expect(throws: JSONError.tooDeep) { try read(text, ["$sort"]) }
    }
}
