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

    /// Texts are scanned in words of eight bytes.
    @Test(arguments: 0..<20) func aCharacterIsFoundAtEachPlaceOfAText(_ place: Int) throws {
        let start = String(repeating: "a", count: place)
        for character in ["\"", "\\", "\n", "\t", "\u{1}", "\u{1F}", " ", "!", "#", "[", "]", "\u{7F}", "é", "😀"] {
            for end in ["", "b", "0123456789"] {
                let text = start + character + end
                #expect(try JSON(parsing: JSON.string(text).serialized) == .string(text))
            }
        }
        for character in ["\u{0}", "\u{1F}", "\n"] {
            #expect(throws: JSONError.malformed(offset: place + 1)) {
                try JSON(parsing: "\"\(start)\(character)0123456789\"")
            }
        }
        #expect(throws: JSONError.malformed(offset: place + 1)) { try JSON(parsing: "\"\(start)") }
    }

    @Test func wholeNumbersOfEachLengthAreExact() throws {
        var digits = ""
        for digit in "12345678901234567" {
            digits.append(digit)
            let number = try #require(Int64(digits))
            let expected: JSON = number <= 1 << 53 ? .int(number) : JSON(number: Double(number))
            #expect(try JSON(parsing: digits) == expected)
            #expect(try JSON(parsing: "-" + digits).doubleValue == -Double(number))
        }
        #expect(try JSON(parsing: "-0") == .int(0))
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
