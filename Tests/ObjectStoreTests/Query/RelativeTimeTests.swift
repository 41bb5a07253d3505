import ObjectStore
import ParseProtocol
import Testing

/// `$relativeTime` (PARSE_PROTOCOL section 4.1): its meaning and its error texts, which existing clients' tests
/// compare.
@Suite struct RelativeTimeTests {
    @Test(
        arguments: [
            ("$lt", "asdf", "bad $relativeTime ($lt) value. Time should either start with 'in' or end with 'ago'"),
            ("$lte", "32 hrs", "bad $relativeTime ($lte) value. Time should either start with 'in' or end with 'ago'"),
            ("$gt", "in 4 days ago", "bad $relativeTime ($gt) value. Time cannot have both 'in' and 'ago'"),
            ("$lt", "in 4 days 13", "bad $relativeTime ($lt) value. Invalid time string. Dangling unit or number."),
            (
                "$lt", "in 4 days minutes",
                "bad $relativeTime ($lt) value. Invalid time string. Dangling unit or number."
            ),
            ("$gte", "in 2.5 days", "bad $relativeTime ($gte) value. '2.5' is not an integer."),
            ("$gt", "in 8 zorks", "bad $relativeTime ($gt) value. Invalid interval: 'zorks'"),
            ("$ne", "4 days ago", "$relativeTime can only be used with the $lt, $lte, $gt, and $gte operators"),
        ])
    func aTextOutsideTheGrammarIsRefused(_ constraint: String, _ text: String, _ message: String) async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["day": .date])])
        let error = await #expect(throws: ParseError.self) {
            try await test.names("T", ["day": [constraint: ["$relativeTime": .string(text)]]])
        }
        #expect(error?.code == .invalidJSON)
        #expect(error?.message == message)
    }

    @Test(arguments: ["in 3 d 2 hrs 15 mins 30 secs", "in 1 year 2 weeks", "now", "in 0 day", "IN 1 MIN"])
    func aTimeAheadIsAfterYesterday(_ text: String) async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string, "day": .date])])
        let yesterday = Timestamp.now.advanced(by: .seconds(-86_400))
        try await test.create("T", ["name": "a", "day": yesterday.wire])
        #expect(try await test.names("T", ["day": ["$lt": ["$relativeTime": .string(text)]]]) == ["a"])
        #expect(try await test.names("T", ["day": ["$gte": ["$relativeTime": .string(text)]]]).isEmpty)
    }
}
