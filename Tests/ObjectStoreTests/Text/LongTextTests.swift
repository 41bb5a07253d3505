import ObjectStore
import ParseProtocol
import Synchronization
import TestSupport
import Testing

/// Patterns and word searches on long strings: each has one budget, which also interrupts the work inside a string.
@Suite struct LongTextTests {
    /// One step of it walks to the end of the string, and each of 2,000 start positions has 16,384 branches.
    private static let costly: JSON = ["$regex": #"(?:.|.){14}.*+[\x01\x02]"#]
    private static let text = String(repeating: "a", count: 2000)
    private static let words = String(repeating: "a ", count: 60_000) + "b"

    private static func filled(_ text: String, textFields: [String] = []) async throws -> TestStore {
        let test = try await TestStore([ClassDefinition("Note", fields: ["t": .string], textFields: textFields)])
        try await test.create("Note", ["t": .string(text), "name": "note"])
        return test
    }

    /// - Returns: the error code and the duration of a read that may take 200 ms.
    private static func outcome(
        _ test: TestStore, _ body: @escaping @Sendable (ObjectReader) throws -> Void
    ) async -> (code: Int?, time: Duration) {
        let meter = StallMeter()
        let code = await code {
            try await test.store.read { reader in
                let usual = reader.timeLimit
                reader.timeLimit = .milliseconds(200)
                defer { reader.timeLimit = usual }
                try body(reader)
            }
        }
        return (code, meter.elapsed)
    }

    @Test(.sqliteOnly("PostgreSQL has another engine, whose statements the server ends."), .timeLimit(.minutes(1)))
    func aPatternEndsInsideOfOneText() async throws {
        let test = try await Self.filled(Self.text)
        let query = Query(className: "Note", where: ["t": Self.costly])
        let found = await Self.outcome(test) { _ = try $0.count(query, caller: .master) }
        #expect(found.code == 124)
        #expect(found.time < .seconds(2), "\(found.time)")
        let pipeline: JSON = [["$project": ["t": 1]], ["$match": ["t": Self.costly]]]
        let aggregated = await Self.outcome(test) {
            _ = try $0.aggregate(Aggregate(className: "Note", pipeline: pipeline), caller: .master)
        }
        #expect(aggregated.code == 124)
        #expect(aggregated.time < .seconds(2), "\(aggregated.time)")
    }

    @Test(.timeLimit(.minutes(1))) func aLiveQueryEndsInsideOfOneText() async throws {
        let test = try await TestStore()
        let changes = Mutex<[StoredChange]>([])
        test.store.watch.listen { new in changes.withLock { $0 += new } }
        test.store.watch.watch(["Note"])
        try await test.create("Note", ["t": .string(Self.text)])
        let (start, meter) = (ContinuousClock.now, StallMeter())
        let matcher = LiveMatcher(clock: { Int64((ContinuousClock.now - start) / .nanoseconds(1)) })
        for (id, condition) in [(1, ["t": Self.costly]), (2, ["t": ["$regex": "a{9}$"]])] as [(UInt64, JSON)] {
            let live = try LiveQuery(className: "Note", condition: condition.serialized, keys: [], watch: [])
            try matcher.add(.init(id: id, caller: .master, client: Int(id)), to: live)
        }
        let outcome = matcher.outcome(of: try #require(changes.withLock { $0.first }))
        #expect(meter.elapsed < .seconds(2), "\(meter.elapsed)")
        #expect(outcome.events.flatMap(\.ids) == [2])
        #expect(outcome.ended.flatMap(\.ids) == [1])
    }

    @Test(.timeLimit(.minutes(1))) func anOperatorsPatternEndsInsideOfOneText() throws {
        let meter = StallMeter()
        #expect(!(try TextPattern(#"(?:.|.){14}.*+[\x01\x02]"#).matches(Self.text)))
        #expect(meter.elapsed < .seconds(2), "\(meter.elapsed)")
    }

    /// Short and long strings are matched by different forms of a pattern.
    @Test(arguments: [
        ("cre+am", "rose creeeam", true), ("(?i)ROSE", "a rose", true), (#"\Qa.b\E"#, "xa.bx", true),
        (#"(\w+) \1 end"#, "the the end", true), (#"(\w+) \1 end"#, "the then end", false),
        (#"a++b"#, "aaab", true), (#"a++ab"#, "aaab", false), (#"(?<=x)y(?!z)"#, "xyz xya", true),
        (#"q.*cream.*serum"#, "q rose cream and serum", true), (#"q.*cream.*serum"#, "q rose serum and cream", false),
        (#"[^\x01-\x7f]{2}"#, "aéèb", true), (#"(a|ab)(c|bcd)(d*)e"#, "abcde", true), ("", "x", true),
        ("Q(?:x+x+)+y", "Qxxxxxxxxxxxxxxxxxxxxy", true),
    ]) func aPatternFindsTheSameInShortAndLongTexts(_ pattern: String, _ text: String, _ isFound: Bool) async throws {
        for padding in [0, 300, 3000, 30_000] {
            let around = String(repeating: "-\n", count: padding / 2)
            let found = try TextPattern(pattern).matches(around + text + around)
            #expect(found == isFound, "\(pattern) in \(text) beside \(padding) bytes")
        }
    }

    // MARK: Words

    private static func search(_ term: String, _ options: [String: JSON] = [:]) -> JSON {
        ["t": ["$text": ["$search": .object(["$term": .string(term)].merging(options) { $1 })]]]
    }

    @Test(.timeLimit(.minutes(1)))
    func wordsAreCountedAlsoInsideOfOne() async throws {
        let test = try await Self.filled("one two")
        for term in [
            Array(repeating: "a", count: 101).joined(separator: "-"),
            "\"" + Array(repeating: "a", count: 101).joined(separator: " ") + "\"",
            "a" + String(repeating: ".\u{E000}", count: 100), String(repeating: "a\u{93E}", count: 101),
            String(repeating: "\u{24B6} ", count: 101),
        ] {
            #expect(await code { _ = try await test.names("Note", Self.search(term)) } == 102, "\(term.prefix(20))")
        }
        let most = Array(repeating: "two", count: 100).joined(separator: "-") + " one"
        #expect(await code { _ = try await test.names("Note", Self.search(most)) } == 102)
        #expect(try await test.names("Note", Self.search(String(most.dropLast(4)))).isEmpty)
        #expect(try await test.names("Note", Self.search("one-two")) == ["note"])
    }

    @Test(.timeLimit(.minutes(1)))
    func aPhraseIsFoundWhereverItBegins() async throws {
        let test = try await Self.filled("a a b a a a b a a c")
        for (phrase, isFound) in [
            ("a a b a a c", true), ("a a a b a a c", true), ("a b a a a b", true), ("a a a a", false),
            ("b a a b", false),
            ("b a a c", true),
            ("c", true), ("a a c a", false),
        ] {
            let found = try await test.names("Note", Self.search("\"\(phrase)\""))
            #expect(found == (isFound ? ["note"] : []), "\(phrase)")
        }
    }

    @Test(.sqliteOnly("PostgreSQL's server ends its statements."), .timeLimit(.minutes(1)))
    func aWordSearchEndsInsideOfOneText() async throws {
        let test = try await Self.filled(Self.words)
        let found = await Self.outcome(test) { reader in
            reader.timeLimit = .milliseconds(5)
            _ = try reader.count(Query(className: "Note", where: Self.search("\"b b\"")), caller: .master)
        }
        #expect(found.code == 124)
        #expect(found.time < .seconds(2), "\(found.time)")
    }
}
