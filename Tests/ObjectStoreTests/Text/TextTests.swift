import ObjectStore
import ParseProtocol
import Testing

@Suite struct TextTests {
    static let classes = [
        ClassDefinition(
            "Product", fields: ["name": .string, "detail": .string, "price": .number], indexes: [["name"]],
            textFields: ["name", "detail"])
    ]

    static func shop() async throws -> TestStore {
        let test = try await TestStore(classes)
        for (name, detail, price) in [
            ("Rose Cream", "A rose cream, rich in rose oil", 3), ("Lip Balm", "With beeswax \"pure\"", 5),
            ("Ärger Öl", "für die Haut 50%", 7), ("Cold Cream", "No scent", 9),
        ] as [(String, String, Int64)] {
            try await test.create("Product", ["name": .string(name), "detail": .string(detail), "price": .int(price)])
        }
        return test
    }

    @Test func aLiteralSearchFindsPartsInAnyLetterCase() async throws {
        let test = try await Self.shop()
        for (pattern, options, expected) in [
            (#"\QCREAM\E"#, "i", ["Cold Cream", "Rose Cream"]), (#"\QCREAM\E"#, "", []), ("^Rose", "", ["Rose Cream"]),
            ("Cream$", "", ["Cold Cream", "Rose Cream"]),
            ("äRG", "i", ["Ärger Öl"]), (".*alm.*", "i", ["Lip Balm"]), ("p b", "i", ["Lip Balm"]), ("^ose", "", []),
            ("C.*m", "", ["Cold Cream", "Rose Cream"]),
            ("li", "i", ["Lip Balm"]), (#"\QLip\E Balm"#, "", ["Lip Balm"]),
            ("Lip|Cold", "", ["Cold Cream", "Lip Balm"]), ("cre am", "ix", ["Cold Cream", "Rose Cream"]),
        ] as [(String, String, [String])] {
            let found = try await test.names(
                "Product", ["name": ["$regex": .string(pattern), "$options": .string(options)]])
            #expect(found == expected, "\(pattern) \(options)")
        }
        let either: JSON = [
            "$or": [
                ["name": ["$regex": #"\Qrose\E"#, "$options": "i"]],
                ["detail": ["$regex": #"\Q"pure\E"#, "$options": "i"]],
            ], "price": ["$lt": 5],
        ]
        #expect(try await test.names("Product", either) == ["Rose Cream"])
    }

    @Test func anIndexFindsALiteral() async throws {
        let test = try await Self.shop()
        let plan = try await test.store.read {
            try $0.plan(
                Query(className: "Product", where: ["detail": ["$regex": #"\QBEES"wax\E"#, "$options": "i"]]),
                caller: .anonymous)
        }
        #expect(plan.contains(TestStore.server == nil ? "VIRTUAL TABLE INDEX" : "w1"), "\(plan)")
    }

    @Test func aLongLiteralIsFoundAndAlmostTheSameIsNot() async throws {
        let test = try await Self.shop()
        let long = String(repeating: "abcdefghij", count: 20)
        try await test.create("Product", ["name": .string(long + "x")])
        #expect(
            try await test.names("Product", ["name": ["$regex": .string("\\Q\(long)X\\E"), "$options": "i"]]).count == 1
        )
        #expect(
            try await test.names("Product", ["name": ["$regex": .string("\\Q\(long)y\\E"), "$options": "i"]]).isEmpty)
    }

    @Test func aWordSearchRanksTheBestFirst() async throws {
        let test = try await Self.shop()
        @Sendable func search(_ field: String, _ term: String) -> JSON {
            [field: ["$text": ["$search": ["$term": .string(term)]]]]
        }
        #expect(try await test.names("Product", search("name", "cream")).count == 2)
        #expect(
            try await test.names("Product", search("detail", "rose scent"), order: ["$score"]) == [
                "Rose Cream", "Cold Cream",
            ])
        #expect(try await test.names("Product", search("name", "cream -cold")) == ["Rose Cream"])
        #expect(try await test.names("Product", search("name", "\"cold cream\"")) == ["Cold Cream"])
        #expect(try await test.names("Product", search("detail", "HAUT")) == ["Ärger Öl"])
        #expect(try await test.names("Product", search("name", "a* OR name: NEAR(")).isEmpty)
        #expect(await code { _ = try await test.names("Product", search("name", " \" ")) } == 102)
        #expect(await code { _ = try await test.names("Product", ["$or": [search("name", "x")]]) } == 102)
        #expect(
            await code {
                _ = try await test.names(
                    "Product", ["name": ["$text": ["$search": ["$term": "x", "$caseSensitive": 1]]]])
            } == 107)
        let page = try await test.store.read {
            try $0.find(
                Query(
                    className: "Product", where: search("detail", "rose"), order: ["$score"], keys: ["name", "$score"]),
                caller: ann)
        }
        let first = try JSON(parsing: page.body)["results"]?.arrayValue?.first
        #expect(first?["name"] == "Rose Cream")
        #expect((first?["score"]?.doubleValue ?? 0) > 0)
        #expect(first?["detail"] == nil)
    }

    @Test func theTextIndexFollowsChangesAndRollbacks() async throws {
        let test = try await Self.shop()
        let soap: JSON = ["name": ["$regex": #"\Qsoap\E"#, "$options": "i"]]
        let id = try await test.create("Product", ["name": "Hand Soap"])
        #expect(try await test.names("Product", soap) == ["Hand Soap"])
        try await test.update("Product", id, ["name": "Hand Gel"])
        #expect(try await test.names("Product", soap).isEmpty)
        try await test.update("Product", id, ["name": "Soap again"])
        #expect(
            await code {
                try await test.store.write { job in
                    _ = try job.update("Product", id, ["name": "Nothing"], caller: .master)
                    throw ParseError(.validationError, "no")
                }
            } == 142)
        #expect(try await test.names("Product", soap) == ["Soap again"])
        try await test.delete("Product", id)
        #expect(try await test.names("Product", soap).isEmpty)
        guard TestStore.server == nil else {
            let words = try await test.store.read { try $0.rows("SELECT count(*) FROM w1") }
            #expect(try words.first?.int(0) == 4)
            return
        }
        let check = try await test.store.write { job in
            try job.execute("INSERT INTO t1(t1) VALUES('integrity-check')")
                + job.execute("INSERT INTO w1(w1) VALUES('integrity-check')")
        }
        #expect(check >= 0)
    }

    @Test func trigramsFindWhateverTheExpressionWouldMatch() async throws {
        // The index must not distinguish letters that PCRE2 treats as case variants of each other.
        let test = try await TestStore([ClassDefinition("W", fields: ["name": .string], textFields: ["name"])])
        for (stored, searched) in [
            ("Straße", "STRAßE"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("KELVIN", "\u{212A}elvin"), ("ſea", "SEA"), ("Ǆabc", "ǆabc"),
            ("ПРИВЕТ", "привет"), ("Ångström", "\u{212B}NGSTRÖM"),
        ] {
            let id = try await test.create("W", ["name": .string(stored)])
            #expect(
                try await test.names("W", ["name": ["$regex": .string("\\Q\(searched)\\E"), "$options": "i"]]) == [
                    stored
                ])
            try await test.delete("W", id)
        }
    }

    /// A field without a text index is searched too, and ranked as clients' own tests expect.
    @Test func everyTextFieldCanBeSearched() async throws {
        let test = try await TestStore()
        for subject in [
            "coffee", "Coffee Shopping", "Baking a cake", "baking", "Café Con Leche", "Сырники", "coffee and cream",
            "Cafe con Leche",
        ] { try await test.create("Subject", ["name": .string(subject), "number": 1]) }
        @Sendable func search(_ term: String) -> JSON { ["name": ["$text": ["$search": ["$term": .string(term)]]]] }
        #expect(
            try await test.names("Subject", search("coffee"), order: ["$score"]) == [
                "coffee", "Coffee Shopping", "coffee and cream",
            ])
        #expect(try await test.names("Subject", search("cafe -con")).isEmpty)
        #expect(try await test.names("Subject", search("cafe")).count == 2)
        #expect(try await test.names("Subject", ["number": ["$text": ["$search": ["$term": "1"]]]]).isEmpty)
        let page = try await test.store.read {
            try $0.find(
                Query(className: "Subject", where: search("coffee"), order: ["$score"], keys: ["$score"]), caller: ann)
        }
        let rows = try JSON(parsing: page.body)["results"]?.arrayValue ?? []
        #expect(rows.map { $0["score"] } == [1, 0.75, 0.75])
        #expect(rows.allSatisfy { $0["name"] == nil })
    }
}
