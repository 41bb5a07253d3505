import ObjectStore
import ParseProtocol
import Testing

/// Two hundred searches find exactly the objects that a walk through all of them finds, on every way to a page.
@Suite struct SearchRecallTests {
    private static let count = 2500
    private static let queries = 200

    private static let words = [
        "Serum", "Cream", "line", "liner", "Eyeliner", "inert", "linen", "tint", "hint", "point", "tinted", "inner",
        "Rose", "hip", "rosehip", "Öl", "ÄRGER", "Straße", "STRASSE", "Crème", "cafe\u{301}", "Σίσυφος", "ΣΊΣΥΦΟΣ",
        "привет", "水分クリーム", "水", "🧴", "ſea", "\u{212A}elvin", "kelvin", "50%", "(50ml)", "a+b", "a.b", "[x]",
        "l'eau", "l’eau", "C:\\oil", "^top", "end$", "*", "under_score", "moisturisingcream", "moisturising", "zz",
        "q", "e", "with", "the", "and", "for", "skin", "dry", "dGhpc2lzYXZlcnlsb25na2V5d2l0aG91dHNlcGFyYXRvcnM",
    ]

    private static let picked = [
        "liner", "LINER", "line", "ine", "ner", "tint", "TINT", "tin", "int", "eyel", "li", "nt", "zz", "q", "e", "ß",
        "straße", "STRASSE", "STRAßE", "ärger", "är", "ä", "öl", "crème", "CRÈME", "creme", "café", "cafe\u{301}",
        "\u{301}", "σίσυφος", "ΣΊΣ", "ПРИВ", "ивет", "水", "水分", "クリ", "ム", "🧴", "sea", "ſEA", "Kelvin",
        "\u{212A}ELVIN", "50%", "50", "0%", "%", "(50ml)", "ml) ", "a+b", "+b", "a.b", ".b", "[x]", "x]", "l'eau",
        "l’eau", "L'E", "C:\\oil", "\\", "^top", "end$", "*", " * ", "under_score", "_s", "r_", "se h", "rose hip",
        "hip ro", "moisturisingc", "moisturisingcream", "oisturisingcrea", "oisturisingcreak", "dGhpc2lzYXZlcn",
        "YW5kd2l0aG91dHNlcGFyYXRvcnM", "A29uZ2tleXdpdGhvdXRzZXBhcmF0b3Jz", "  ", " ", "\n", "\t", "with the",
        "the with the", "zinc velvet", "Velvet ", "velvet 1", "VELVET", "nothing of it", "xyzzy", "qq", "0", "12",
        "common", "OMMO", "some", "rare 7", "9 ", ", ", "e,", "...", "the and for skin dry with line inert hint",
    ]

    /// A small generator, so that each run asks the same.
    private struct Dice {
        var state: UInt64 = 20_150_401
        mutating func below(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
    }

    /// The names and details. "common" is in most names, "some" in fewer, "velvet" in as many, which are last by name.
    private static func texts(_ dice: inout Dice) -> [(name: String, detail: String)] {
        (0..<count).map { number in
            func pick(_ count: Int, _ separator: String) -> String {
                (0..<count).map { _ in words[dice.below(words.count)] }.joined(separator: separator)
            }
            let first = number % 9 < 4 ? "Zinc Velvet" : number % 9 < 8 ? "common some" : "rare \(number)"
            let second = number % 3 == 0 ? "common" : pick(1, " ")
            let name = "\(first) \(pick(2, " ")) \(second) \(number)"
            return (name, "\(pick(4, " ")). \(pick(3, ", ")), \(pick(2, "-"))\n\(pick(2, "  "))...")
        }
    }

    private static func literals(_ texts: [(name: String, detail: String)], _ dice: inout Dice) -> [String] {
        var literals = picked
        while literals.count < queries {
            let (name, detail) = texts[dice.below(texts.count)]
            let scalars = Array((literals.count % 2 == 0 ? name : detail).unicodeScalars)
            let start = dice.below(scalars.count)
            var literal = String(String.UnicodeScalarView(scalars[start...].prefix(1 + dice.below(14))))
            // Cases of one letter each: the expression compares letter by letter.
            if dice.below(3) == 0, literal.allSatisfy(\.isASCII) { literal = literal.uppercased() }
            literals.append(literal)
        }
        return literals
    }

    private static let orders = [["name"], ["-name"], ["-price", "name"], []]

    private static func query(_ pattern: String, _ order: [String], limit: Int) -> Query {
        let expression: JSON = ["$regex": .string(pattern), "$options": "i"]
        return Query(
            className: "Product",
            where: ["$or": [["name": expression], ["detail": expression]], "price": ["$gte": 1]],
            order: order, limit: limit, keys: ["objectId"])
    }

    @Test(.timeLimit(.minutes(5)), arguments: [Caller.anonymous, .master])
    func everySearchFindsWhatAWalkFinds(_ caller: Caller) async throws {
        let test = try await TestStore([
            ClassDefinition(
                "Product", fields: ["name": .string, "detail": .string, "price": .number],
                indexes: [["name"], ["price"]], textFields: ["name", "detail"])
        ])
        var dice = Dice()
        let texts = Self.texts(&dice)
        let created = try await test.store.write { transaction in
            try texts.enumerated().map { number, text in
                // Every tenth object gets its texts by an update.
                let isLate = number % 10 == 3
                let object: JSON = [
                    "name": .string(isLate ? "Draft liner" : text.name), "detail": .string(text.detail),
                    "price": .int(Int64(number % 7)),
                ]
                let id = try transaction.create("Product", object, caller: .master).objectId
                if isLate {
                    _ = try transaction.update("Product", id, ["name": .string(text.name)], caller: .master)
                }
                return id
            }
        }
        for id in created.prefix(40) { try await test.delete("Product", id) }
        let literals = Self.literals(texts, &dice)
        #expect(literals.count == Self.queries)
        var (found, empty) = (0, 0)
        for (number, literal) in literals.enumerated() {
            let order = Self.orders[number % Self.orders.count]
            let quoted = #"\Q\#(literal)\E"#
            let result = try await test.store.read { reader in
                func ids(_ pattern: String, limit: Int) throws -> [String] {
                    let query = Self.query(pattern, order, limit: limit)
                    return try reader.documents(query, caller: caller).compactMap { $0["objectId"]?.stringValue }
                }
                // An expression in brackets uses no index.
                let walked = try ids("(\(quoted))", limit: Self.count)
                let all = try ids(quoted, limit: Self.count)
                let page = try ids(quoted, limit: 20)
                let count = try reader.count(Self.query(quoted, order, limit: 0), caller: caller)
                return (walked: walked, all: all, page: page, count: count)
            }
            #expect(result.all == result.walked, "\(literal) by \(order)")
            #expect(result.page == Array(result.walked.prefix(20)), "\(literal) by \(order)")
            #expect(result.count == result.walked.count, "\(literal)")
            found += result.walked.count
            if result.walked.isEmpty { empty += 1 }
        }
        #expect(found > Self.count)
        #expect((5..<Self.queries / 2).contains(empty), "\(empty)")
    }
}
