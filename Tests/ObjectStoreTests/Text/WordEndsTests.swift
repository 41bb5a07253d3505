import ObjectStore
import ParseProtocol
import Testing

/// The terms of texts and of literals in the text index.
@Suite struct WordEndsTests {
    /// Letters that are equal in a case-insensitive pattern are folded to one.
    @Test func lettersOfOneKindAreFoldedToOne() {
        for (letter, same) in LetterCases.sets {
            let folded = Set(same.unicodeScalars.map(WordEnds.folded))
            #expect(folded.count == 1, "\(letter): \(same)")
        }
    }

    /// All letters with a case variant in ICU, whose rules the server uses for comparison.
    @Test(.postgresqlOnly("The rules are the server's."))
    func lettersAreFoldedAsTheServerComparesThem() async throws {
        let test = try await TestStore()
        let rows = try await test.store.read {
            try $0.rows(
                """
                SELECT code, ascii(other) AS other FROM (
                    SELECT code, lower(chr(code) COLLATE "und-x-icu") AS other
                        FROM generate_series(1, 131071) code WHERE code NOT BETWEEN 55296 AND 57343
                    UNION ALL SELECT code, upper(chr(code) COLLATE "und-x-icu")
                        FROM generate_series(1, 131071) code WHERE code NOT BETWEEN 55296 AND 57343) cases
                WHERE length(other) = 1 AND ascii(other) <> code
                """)
        }
        #expect(rows.count > 2000)
        for row in rows {
            let codes = [try row.int("code"), try row.int("other")]
            let letters = codes.compactMap { UInt32(exactly: $0).flatMap(Unicode.Scalar.init) }
            #expect(Set(letters.map(WordEnds.folded)).count == 1, "\(letters)")
        }
    }

    /// Unicode 16 gave the first two a capital letter, and has the others for the first time. Older indexes do not fold
    /// them.
    @Test(arguments: ["\u{264}", "\u{19B}", "\u{A7CB}", "\u{A7DC}", "\u{10D50}", "\u{10D70}"] as [Unicode.Scalar])
    func foldingDoesNotDependOnTheToolchain(letter: Unicode.Scalar) {
        #expect(WordEnds.folded(letter) == letter)
    }

    @Test func whateverContainsALiteralHasItsTerms() {
        for (text, literal) in [
            ("Rose Cream", "CREAM"), ("Rose Cream", "se c"), ("Rose Cream", "se Crea"), ("Straße", "aß"),
            ("Ärger Öl", "ärger ö"), ("abcabcabc", "bca"), ("🧴🧴🧴", "🧴🧴🧴"), ("-50 ml-", "0 m"),
            (String(repeating: "abcdefghij", count: 20), String(repeating: "fghijabcde", count: 12)),
            ("moisturisings are", "moisturising"), ("moisturisings are", "oisturisings a"),
        ] {
            let terms = WordEnds.terms(of: [nil, text]).split(separator: " ").map(String.init)
            for (sought, isPrefix) in WordEnds.sought(in: literal) {
                let isThere = terms.contains { isPrefix ? $0.hasPrefix("1\(sought)") : $0 == "1\(sought)" }
                #expect(isThere, "\(sought) of \(literal)")
            }
        }
        #expect(WordEnds.terms(of: ["To be", nil, "b-2"]) == "0to 0o 0be 0e 2b 22")
        #expect(WordEnds.terms(of: [nil]).isEmpty)
        #expect(WordEnds.terms(of: ["-", " "], separator: ",").isEmpty)
        #expect(WordEnds.sought(in: "a").isEmpty)
        #expect(WordEnds.sought(in: " .").isEmpty)
        #expect(WordEnds.sought(in: "Be. O").map(\.text) == ["be"])
        #expect(WordEnds.sought(in: "水").map(\.isPrefix) == [true])
    }

    /// A word of a hundred thousand letters has one term. Each search finds its object.
    @Test func aTextOfAnyLengthHasFewTerms() async throws {
        let long = String(repeating: "Zm9vYmFy", count: 12_000)
        #expect(WordEnds.terms(of: ["short", long]) == WordEnds.tooMany)
        let test = try await TestStore(TextTests.classes)
        let id = try await test.create("Product", ["name": "Key", "detail": .string(long + "needle")])
        let sought: JSON = ["detail": ["$regex": #"\QNEEDLE\E"#, "$options": "i"]]
        #expect(try await test.names("Product", sought) == ["Key"])
        try await test.update("Product", id, ["detail": "short"])
        #expect(try await test.names("Product", sought).isEmpty)
    }

    /// Opening the store rebuilds the index of an earlier release.
    @Test func anIndexOfTrigramsIsMadeAnew() async throws {
        let test = try await TextTests.shop()
        _ = try await test.store.write { transaction in
            if TestStore.server == nil {
                _ = try transaction.execute("DROP TABLE t1")
                _ = try transaction.execute(
                    "CREATE VIRTUAL TABLE t1 USING fts5(c0, c1, content='', tokenize='trigram', detail=column)")
            } else {
                _ = try transaction.execute("ALTER TABLE w1 DROP COLUMN terms")
                _ = try transaction.execute("UPDATE storeIndexes SET columns = '[\"c0\",\"c1\"]' WHERE name = 'w1'")
            }
        }
        test.store.stop()
        let again = try await TestStore(TextTests.classes, path: test.path)
        let cream: JSON = ["name": ["$regex": #"\Qcream\E"#, "$options": "i"]]
        #expect(try await again.names("Product", cream) == ["Cold Cream", "Rose Cream"])
        try await again.create("Product", ["name": "Icecream"])
        #expect(try await again.names("Product", cream) == ["Cold Cream", "Icecream", "Rose Cream"])
        again.store.stop()
    }
}
