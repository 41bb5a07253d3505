import GatewayService
import Testing

/// Which answers the cache holds, for which clients, and how long.
@Suite struct CachedReadsTests {
    private typealias Reads = CachedReads<String, Int>

    private static func key(_ name: String, isMaster: Bool = false) -> Reads.Key {
        Reads.Key(isMaster: isMaster, className: "Product", objectId: name, options: [])
    }

    /// A look-up by an anonymous client while stamps of `version` are current.
    private static func find(
        _ reads: inout Reads, _ name: String, isSignedIn: Bool = false, isMaster: Bool = false, version: Int = 1,
        now: Int64 = 0
    ) -> String? {
        reads.find(key(name, isMaster: isMaster), isSignedIn: isSignedIn, now: now) { $0 == version }
    }

    private static func keep(
        _ reads: inout Reads, _ name: String, isMaster: Bool = false, isForEverybody: Bool = true, bytes: Int = 100
    ) {
        reads.keep(
            "answer \(name)", for: key(name, isMaster: isMaster), bytes: bytes, stamp: 1,
            isForEverybody: isForEverybody, now: 0)
    }

    @Test func aChangeAndTheTimeEndAnAnswer() {
        var reads = Reads(bytesMax: 1 << 20, entryBytesMax: 1 << 16)
        Self.keep(&reads, "a")
        #expect(Self.find(&reads, "a") == "answer a")
        #expect(Self.find(&reads, "b") == nil)
        #expect(Self.find(&reads, "a", version: 2) == nil)
        // The entry is removed for good, even if the old version returns.
        #expect(Self.find(&reads, "a") == nil)
        Self.keep(&reads, "a")
        #expect(Self.find(&reads, "a", now: Reads.lifetime - 1) != nil)
        #expect(Self.find(&reads, "a", now: Reads.lifetime) == nil)
        let counts = reads.counts
        #expect(counts.hits == 2)
        #expect(counts.misses == 4)
        #expect(counts.outdated == 2)
        #expect(counts.entries == 0)
        #expect(counts.bytes == 0)
    }

    @Test func kindsOfCallersShareOnlyWhatIsSaidToBeShared() {
        var reads = Reads(bytesMax: 1 << 20, entryBytesMax: 1 << 16)
        Self.keep(&reads, "a", isForEverybody: false)
        #expect(Self.find(&reads, "a") != nil)
        #expect(Self.find(&reads, "a", isSignedIn: true) == nil)
        #expect(Self.find(&reads, "a", isMaster: true) == nil)
        Self.keep(&reads, "a", isForEverybody: true)
        #expect(Self.find(&reads, "a", isSignedIn: true) != nil)
        #expect(Self.find(&reads, "a", isMaster: true) == nil)
        Self.keep(&reads, "b", isMaster: true)
        #expect(Self.find(&reads, "b") == nil)
        #expect(Self.find(&reads, "b", isMaster: true) != nil)
    }

    /// In Swift, strings are equal when they look alike; in the database they are not.
    @Test func textsThatLookAlikeAreDifferentQuestions() {
        var reads = Reads(bytesMax: 1 << 20, entryBytesMax: 1 << 16)
        func query(_ options: String) -> Reads.Key {
            Reads.Key(isMaster: false, className: "Product", objectId: nil, options: Array(options.utf8))
        }
        let (composed, accented) = ("caf\u{E9}", "cafe\u{301}")
        #expect(composed == accented)
        reads.keep("composed", for: query(composed), bytes: 9, stamp: 1, isForEverybody: true, now: 0)
        #expect(reads.find(query(accented), isSignedIn: false, now: 0) { $0 == 1 } == nil)
        #expect(reads.find(query(composed), isSignedIn: false, now: 0) { $0 == 1 } == "composed")
        // The kelvin sign.
        Self.keep(&reads, "K")
        #expect(Self.find(&reads, "\u{212A}") == nil)
        #expect(Self.find(&reads, "K") != nil)
    }

    @Test func bytesAreBounded() {
        let bytesMax = 100_000
        var reads = Reads(bytesMax: bytesMax, entryBytesMax: 10_000)
        Self.keep(&reads, "large", bytes: 10_000)
        #expect(reads.counts.entries == 0)
        for number in 0..<5000 {
            Self.keep(&reads, "\(number)", bytes: number % 3000)
            #expect(reads.counts.bytes <= bytesMax)
        }
        #expect(reads.counts.entries > 10)
        // A new answer to the same query replaces the old one.
        let before = reads.counts
        for _ in 0..<1000 { Self.keep(&reads, "4999", bytes: 4999 % 3000) }
        #expect(reads.counts.entries <= before.entries)
        #expect(reads.counts.bytes <= bytesMax)
    }

    /// A client that sends a million different queries, each once or twice, evicts no entry that all clients use.
    @Test func questionsAskedOnceThrowOutNothingThatIsAskedOften() {
        var reads = Reads(bytesMax: 200_000, entryBytesMax: 10_000)
        let popular = (0..<50).map { "popular \($0)" }
        func ask(_ name: String) {
            if Self.find(&reads, name) == nil { Self.keep(&reads, name, bytes: 1000) }
        }
        for _ in 0..<20 { popular.forEach(ask) }
        var misses = 0
        for number in 0..<20_000 {
            ask("\(number)")
            if number.isMultiple(of: 3) { ask("\(number)") }
            let name = popular[number % popular.count]
            if Self.find(&reads, name) == nil {
                misses += 1
                Self.keep(&reads, name, bytes: 1000)
            }
        }
        #expect(misses < 600, "\(misses) of 20,000")
    }

    /// Every popular entry is outdated at some time. Its replacement needs no second request to stay.
    @Test func theReplacementOfAPopularAnswerStays() {
        var reads = Reads(bytesMax: 200_000, entryBytesMax: 10_000)
        let popular = (0..<50).map { "popular \($0)" }
        for name in popular {
            Self.keep(&reads, name, bytes: 1000)
            for _ in 0..<3 { #expect(Self.find(&reads, name) != nil) }
        }
        for number in 0..<500 { Self.keep(&reads, "\(number)", bytes: 1000) }
        for name in popular {
            #expect(Self.find(&reads, name, version: 2) == nil)
            reads.keep(name, for: Self.key(name), bytes: 1000, stamp: 2, isForEverybody: true, now: 0)
        }
        for number in 500..<1000 { Self.keep(&reads, "\(number)", bytes: 1000) }
        for name in popular { #expect(Self.find(&reads, name, version: 2) == name) }
    }
}
