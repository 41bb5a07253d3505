import ParseProtocol
import Testing

@Suite struct CombiningMarksTests {
    private static func marks(_ count: Int, _ scalars: [Unicode.Scalar] = ["\u{301}", "\u{316}", "\u{328}"]) -> String {
        var text = String.UnicodeScalarView()
        for index in 0..<count { text.append(scalars[index % scalars.count]) }
        return String(text)
    }

    private static func code(of text: String) -> ParseError.Code? {
        do {
            _ = try JSON(clientText: Array(text.utf8))
            return nil
        } catch {
            return error.code
        }
    }

    @Test func aRunUpToTheLimitIsTaken() throws {
        let limit = CombiningMarks.runLimit
        for letter in ["", "a", "é", "日", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] {
            let most = letter + Self.marks(limit)
            #expect(Self.code(of: #"["\#(most)"]"#) == nil)
            #expect(Self.code(of: #"["\#(most)\#(most)"]"#) == (letter.isEmpty ? .invalidJSON : nil))
            #expect(Self.code(of: #"["\#(letter)\#(Self.marks(limit + 1))"]"#) == .invalidJSON)
            #expect(Self.code(of: #"["\#(letter)\#(Self.marks(limit + 1))b"]"#) == .invalidJSON)
        }
    }

    @Test(
        arguments: [["\u{301}"], ["\u{F73}"], ["\u{F81}", "\u{345}"], ["\u{1D165}"], ["\u{302A}", "\u{3099}"]]
            as [[Unicode.Scalar]]) func aLongRunIsRejectedInNamesAndTexts(_ scalars: [Unicode.Scalar]) throws
    {
        let run = Self.marks(CombiningMarks.runLimit + 1, scalars)
        let escaped = String(repeating: #"\u0301"#, count: CombiningMarks.runLimit + 1)
        for text in [
            #""\#(run)""#, #"{"a\#(run)":1}"#, #"{"a":{"b":["x\#(run)"]}}"#, #"{"\#(escaped)":1}"#, #"["\#(escaped)"]"#,
        ] {
            #expect(throws: JSONError.tooManyMarks) { try JSON(parsingWithMarkLimit: Array(text.utf8)) }
            #expect(throws: ParseError(.invalidJSON, "A text has more than 64 combining marks in a row.")) {
                try JSON(clientText: Array(text.utf8))
            }
        }
    }

    @Test func textsOfWrittenLanguagesAreTaken() throws {
        let words = [
            "Tiếng Việt".decomposedForm, "ก็ที่นี้ผู้", "בְּרֵאשִׁית", "ٱلرَّحْمَٰنِ", "བོད་ཡིག",
            "हिन्दी", "日本語が", "🇩🇪👩‍👩‍👧‍👦",
            "Z" + Self.marks(40),
        ]
        let text = String(repeating: words.joined(separator: " "), count: 100)
        #expect(try JSON(clientText: JSON.string(text).serialized).stringValue?.hasSameBytes(as: text) == true)
        #expect(!text.exceedsMarkLimit)
    }

    /// Earlier releases stored runs of any length.
    @Test func aStoredTextIsReadWithAllOfItsMarks() throws {
        let text = "a" + Self.marks(1000) + "b"
        let stored = JSON.object([text: .string(text)]).serialized
        let read = try #require(try JSON(parsing: stored).objectValue?.first)
        for text in [read.key, read.value.stringValue ?? ""] {
            #expect(!text.exceedsMarkLimit)
            #expect(text.unicodeScalars.filter { $0 != "\u{34F}" }.count == 1002)
            #expect(text.unicodeScalars.count == 1002 + 999 / CombiningMarks.runLimit)
        }
        // A separated text is ordinary client input.
        #expect(try JSON(clientText: JSON.string(read.key).serialized).stringValue == read.key)
        #expect(try JSON(parsing: stored, membersInOrderOf: [""]).arrayValue?.first?.arrayValue?[1] == read.value)
    }

    @Test func textsAreEqualWhenTheirBytesAre() throws {
        let (one, two): (JSON, JSON) = ("\u{E9}", "e\u{301}")
        #expect(one != two)
        #expect(Set([one, two, one]).count == 2)
        #expect(JSON.array([one]) != [two])
        #expect(JSON.object(["a": one]) != ["a": two])
        #expect(one == .string(String(decoding: [0xC3, 0xA9], as: UTF8.self)))
        #expect("" as JSON == "")
        for (index, value) in [.null, false, 0, 0.5, "", "0", [], [0], [:]].enumerated() as EnumeratedSequence<[JSON]> {
            for (other, another) in [.null, false, 0, 0.5, "", "0", [], [0], [:]].enumerated()
                as EnumeratedSequence<[JSON]>
            {
                #expect((value == another) == (index == other))
                if index == other { #expect(value.hashValue == another.hashValue) }
            }
        }
    }
}

extension String {
    fileprivate var decomposedForm: String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar {
            case "ế": text.append(contentsOf: "e\u{302}\u{301}".unicodeScalars)
            case "ệ": text.append(contentsOf: "e\u{323}\u{302}".unicodeScalars)
            default: text.append(scalar)
            }
        }
        return String(text)
    }
}
