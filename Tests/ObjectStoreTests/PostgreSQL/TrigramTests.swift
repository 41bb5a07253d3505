import ObjectStore
import ParseProtocol
import Testing

/// The trigrams of texts that PostgreSQL stores.
@Suite struct TrigramTests {
    /// Letters that are equal in a case-insensitive pattern have one number.
    @Test func lettersOfOneKindAreFoldedToOne() {
        for (letter, same) in LetterCases.sets {
            let folded = Set(same.unicodeScalars.map(Trigrams.folded))
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
            #expect(Set(letters.map(Trigrams.folded)).count == 1, "\(letters)")
        }
    }

    @Test func whateverContainsALiteralHasItsTrigrams() throws {
        for (text, literal) in [
            ("Rose Cream", "CREAM"), ("Straße", "aß"), ("Ärger Öl", "ärger ö"), ("abcabcabc", "bca"), ("🧴🧴🧴", "🧴🧴🧴"),
            (String(repeating: "abcdefghij", count: 20), String(repeating: "fghijabcde", count: 12)),
        ] {
            let sought = Trigrams.choice(of: literal)?.map { Trigrams.number(of: $0) }
            guard literal.unicodeScalars.count > 2 else {
                #expect(sought == nil)
                continue
            }
            #expect(Trigrams.numbers(of: text).isSuperset(of: try #require(sought)), "\(literal)")
        }
        #expect(Trigrams.numbers(of: "ab").isEmpty)
        #expect(Trigrams.numbers(of: "abcd").count == 2)
    }

    /// A schema from a release that indexed only words gets the trigrams when it is opened.
    @Test(.postgresqlOnly("A file has had them from the beginning."))
    func anIndexWithoutThemIsMadeAnew() async throws {
        let test = try await TextTests.shop()
        _ = try await test.store.write { transaction in
            _ = try transaction.execute("ALTER TABLE w1 DROP COLUMN t0, DROP COLUMN t1")
            _ = try transaction.execute("DELETE FROM storeIndexes WHERE name = 'w1'")
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
