import ParseProtocol
import Testing

@Suite struct JSONTests {
    @Test(arguments: [
        "null", "true", "[]", "{}", "[1,-2,3.5,1e+300]", #"{"a":{"b":[null,"x"]},"c":"é\n\"\\"}"#, #""\u0001""#,
        "9007199254740992", "-0.5",
    ]) func canonicalTextsSurviveARoundTrip(_ text: String) throws {
        #expect(try JSON(parsing: text).serializedText == text)
    }

    @Test func valuesAreBroughtIntoOneForm() throws {
        #expect(
            try JSON(parsing: #" { "b" : 1.0 , "a" : 1e2, "a": "\u00e9\ud83d\ude00\/" } "#).serializedText
                == #"{"a":"é😀/","b":1}"#)
        #expect(try JSON(parsing: #""\ud800x""#) == "\u{FFFD}x")
        #expect(
            try JSON(parsing: "9007199254740993") == .double(9_007_199_254_740_992)
                || JSON(parsing: "9007199254740993") == .int(9_007_199_254_740_992))
        #expect(JSON(number: 3) == 3)
        #expect(JSON.double(2.5).intValue == nil)
        #expect(JSON.int(2).doubleValue == 2)
    }

    @Test(arguments: [
        "", " ", "{", "}", "[1,]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "01", "1.", ".5", "1e", "+1", "tru", "nulll", "\"",
        "\"\\x\"", "\"\\u12\"",
        "\"a\nb\"", "1e999", "[1 2]", "\u{FEFF}{}", "NaN", "'a'", "-",
    ]) func malformedTextsAreRefused(_ text: String) {
        #expect(throws: JSONError.self) { try JSON(parsing: text) }
    }

    @Test func invalidUTF8IsRefused() {
        for bytes in [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22],
        ] as [[UInt8]] {
            #expect(throws: JSONError.self) { try JSON(parsing: bytes) }
        }
    }

    @Test func deepInputIsRefusedBeforeAnythingRecursiveSeesIt() throws {
        let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        _ = try JSON(parsing: deepest)
        #expect(throws: JSONError.tooDeep) { try JSON(parsing: String(repeating: "[", count: 10_000)) }
        #expect(throws: JSONError.tooDeep) { try JSON(parsing: String(repeating: "{\"a\":", count: 10_000)) }
    }

    @Test func aTextHasABoundedNumberOfValues() throws {
        func list(_ count: Int, _ element: String) -> String {
            "[" + Array(repeating: element, count: count).joined(separator: ",") + "]"
        }
        _ = try JSON(parsing: list(JSON.valuesMax - 1, "[]"))
        #expect(throws: JSONError.tooManyValues) { try JSON(parsing: list(JSON.valuesMax, "[]")) }
        #expect(throws: JSONError.tooManyValues) { try JSON(parsing: list(JSON.valuesMax / 2, "{\"a\":0}")) }
    }

    @Test func depthIsCountedInLevels() {
        #expect(!JSON.int(1).isNested(deeperThan: 0))
        #expect(JSON.array([]).isNested(deeperThan: 0))
        #expect(!JSON.array([["a": []]]).isNested(deeperThan: 3))
        #expect(JSON.array([["a": []]]).isNested(deeperThan: 2))
    }

    @Test func randomBytesNeverTrap() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array(#"{}[]",:\u0019eE+-.truefalsn "#.utf8) + [0, 0xFF, 0xC3, 0xA9]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
            }
            _ = try? JSON(parsing: bytes)
            _ = JSONMembers.filter(bytes) { _ in true }
        }
    }

    @Test func membersAreChosenWithoutDecoding() {
        let document = Array(#"{"a":{"x":"}\"]"},"b":[1,{"c":2}],"d":-1.5,"e":"é"}"#.utf8)
        func keep(_ names: Set<String>) -> String {
            String(decoding: JSONMembers.filter(document) { names.contains(String($0)) }, as: UTF8.self)
        }
        #expect(keep(["a", "b", "d", "e"]) == String(decoding: document, as: UTF8.self))
        #expect(keep(["b", "e"]) == #"{"b":[1,{"c":2}],"e":"é"}"#)
        #expect(keep([]) == "{}")
        #expect(JSONMembers.filter(Array("{}".utf8)) { _ in true } == Array("{}".utf8))
    }
}
