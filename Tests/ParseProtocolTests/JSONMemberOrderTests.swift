import ParseProtocol
import Testing

/// The order of members in serialized JSON, whatever the value was built from.
@Suite struct JSONMemberOrderTests {
    @Test func namesAreInTheOrderOfTheText() {
        for (text, expected) in [
            (#"{"i":{"x":{"b":1,"a":-1}}}"#, ["x": ["b", "a"]]),
            (
                #" { "o":{"x":{"q":1}}, "i" : { "x" : { "b" : 1 , "a" : "c,d" } , "y":{"z":1} } } "#,
                ["x": ["b", "a"], "y": ["z"]]
            ),
            (#"{"i":{"x":{"b":1,"a":{"deep":1},"c":[1,{"d":2}],"b":2}}}"#, ["x": ["b", "a", "c"]]),
            (#"{"i":{"x":{"a\"b":1,"c":"\\"}}}"#, ["x": ["c"]]),
            (#"[{"i":{"x":{"b":1}}}]"#, [:]), ("{}", [:]), ("", [:]),
        ] as [(String, [String: [String]])] {
            #expect(JSONMemberOrder.names(in: Array(text.utf8), under: "i") == expected, "\(text)")
        }
    }

    @Test func noBytesEndTheProcess() {
        let text = Array(#"{"i":{"x":{"b":1,"a\\":-1,"c":["\"",{}]}}}"#.utf8)
        for start in text.indices {
            _ = JSONMemberOrder.names(in: Array(text[start...]), under: "i")
            _ = JSONMemberOrder.names(in: Array(text[..<start]), under: "i")
            for byte: UInt8 in [0, 0x22, 0x5C, 0x7B, 0x7D, 0xFF] {
                var damaged = text
                damaged[start] = byte
                _ = JSONMemberOrder.names(in: damaged, under: "i")
            }
        }
    }
}
