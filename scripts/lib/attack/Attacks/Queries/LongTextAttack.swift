import ParseProtocol
import SuiteClient

/// Searches that take long within one text: a pattern whose steps each scan the text, and phrases of thousands of
/// words.
struct LongTextAttack: Attack {
    enum Search: String {
        case pattern, phrase
    }

    let search: Search
    var name: String { search == .pattern ? "long-pattern" : "long-phrase" }
    let kind = "queries"
    var summary: String {
        search == .pattern
            ? "a pattern that scans 2,000 characters in each step"
            : "a phrase of 30,000 words in texts of 60,000"
    }
    let connections = 8

    private var className: String { search == .pattern ? "LongLine" : "LongText" }
    private var text: String {
        search == .pattern ? String(repeating: "a", count: 2000) : String(repeating: "a ", count: 60_000) + "b"
    }

    func prepare(_ master: Master) async throws {
        try await master.batch("POST", (0..<8).map { _ in ("/classes/\(className)", ["text": .string(text)]) })
    }

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let requests = constraints.map {
            Request.query("/classes/\(className)", ["where": ["text": $0]]).bytes(for: attackers.target)
        }
        await attackers.hammer(until: end) { connection, round in requests[(connection + round) % requests.count] }
    }

    private var constraints: [JSON] {
        switch search {
        case .pattern: [["$regex": #"(?:.|.){14}.*+[\x01\x02]"#], ["$regex": #"(?:a|a){14}\w*[^\w]"#]]
        case .phrase:
            [
                String(repeating: "a-", count: 30_000) + "c", "\"" + String(repeating: "a ", count: 99) + "c\"",
            ].map { ["$text": ["$search": ["$term": .string($0)]]] }
        }
    }
}
