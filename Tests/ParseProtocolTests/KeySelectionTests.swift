import ParseProtocol
import Testing

/// The parts of an object that `keys` and `excludeKeys` leave.
@Suite struct KeySelectionTests {
    private static let object =
        #"""
        {"a":{"b":{"c":1,"d":[2]},"e":"x"},"l":[{"b":1,"c":2},3,[{"b":4,"c":5},"{"],{"c":6},null],"n":null,\#
        "p":{"__type":"Pointer","className":"C","objectId":"o"},"q":[{"__type":"Date","iso":"x"},{"b":7}],"s":"t"}
        """#

    private static let cases: [(keys: [String]?, excludeKeys: [String], expected: String)] = [
        (nil, [], object), ([], [], "{}"), (["x"], [], "{}"), ([""], [], "{}"), (["s"], [], #"{"s":"t"}"#),
        (["a.e"], [], #"{"a":{"e":"x"}}"#), (["a.b.c", "a.e"], [], #"{"a":{"b":{"c":1},"e":"x"}}"#),
        (["a.b", "a.b.c"], [], #"{"a":{"b":{"c":1,"d":[2]}}}"#),
        (["a.b.c", "a"], [], #"{"a":{"b":{"c":1,"d":[2]},"e":"x"}}"#),
        (["a.x"], [], #"{"a":{}}"#), (["a.b.d.x"], [], #"{"a":{"b":{"d":[]}}}"#), (["a.e.x"], [], #"{"a":{}}"#),
        (["s.x"], [], "{}"), (["s.x", "n.x"], [], #"{"n":null}"#), (["a."], [], #"{"a":{}}"#), ([".a"], [], "{}"),
        (["a'b", "a\"b", "a.\0"], [], #"{"a":{}}"#),
        (["l.b"], [], #"{"l":[{"b":1},[{"b":4}],{}]}"#), (["l.0"], [], #"{"l":[{},[{}],{}]}"#),
        (["p.objectId"], [], #"{"p":{"__type":"Pointer","className":"C","objectId":"o"}}"#),
        (["q.b"], [], #"{"q":[{"__type":"Date","iso":"x"},{"b":7}]}"#),
        (["a", "l"], ["l", "a.b.d", "a.e"], #"{"a":{"b":{"c":1}}}"#),
        (["a.b.c", "a.b.d"], ["a.b.c"], #"{"a":{"b":{"d":[2]}}}"#),
        (
            ["s", "a", "p", "q"], ["a.b", "p.objectId", "s.x", "q.iso", "q.b"],
            #"""
            {"a":{"e":"x"},"p":{"__type":"Pointer","className":"C","objectId":"o"},"q":[{"__type":"Date","iso":"x"},\#
            {}],"s":"t"}
            """#
        ),
        (["l", "n"], ["l.b", "n.x"], #"{"l":[{"c":2},3,[{"c":5},"{"],{"c":6},null],"n":null}"#),
        (["a"], ["a.b", "a.b.c", "a.e.x"], #"{"a":{"e":"x"}}"#),
    ]

    @Test func dotsReachIntoObjectsAndArrays() throws {
        for (keys, excludeKeys, expected) in Self.cases {
            let selection = KeySelection(keys: keys, excludeKeys: excludeKeys)
            var output: [UInt8] = []
            let isThere = Array(Self.object.utf8).withUnsafeBufferPointer { selection.append($0, to: &output) }
            #expect(isThere, "\(keys ?? ["all"]) without \(excludeKeys)")
            #expect(String(decoding: output, as: UTF8.self) == expected, "\(keys ?? ["all"]) without \(excludeKeys)")
            #expect(selection.applied(to: try JSON(parsing: Self.object)) == (try JSON(parsing: expected)))
        }
        #expect(KeySelection(keys: ["a"], excludeKeys: []).applied(to: 1) == nil)
    }

    /// Names with escapes are matched by their meaning.
    @Test func anyNameIsFound() throws {
        let object: JSON = ["a": ["é": 1, "\"": 2, "\\": 3, "\n": 4, "": 5]]
        for name in ["é", "\"", "\\", "\n", ""] {
            let chosen = KeySelection(keys: ["a.\(name)"], excludeKeys: []).applied(to: object)
            #expect(chosen == .object(["a": .object([name: object["a"]?[name] ?? .null])]))
        }
    }

    @Test func aNameThatIsDeeperThanAnyObjectFindsNothing() throws {
        let name = Array(repeating: "a", count: 100_000).joined(separator: ".")
        var object: JSON = 1
        for _ in 0..<60 { object = ["a": object] }
        #expect(KeySelection(keys: nil, excludeKeys: [name]).applied(to: object) == object)
        #expect(KeySelection(keys: [name], excludeKeys: []).applied(to: object) != nil)
    }
}
