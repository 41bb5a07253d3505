import AnalyticsService
import CrashService
import ParseProtocol
import Testing

/// The reports that hosted Parse's SDKs send automatically.
@Suite struct AppReportTests {
    @Test(arguments: ["AppOpened", "Added to bag", "9 lives", "Übersicht", "商品", "a/b", "🛍️"])
    func anyPrintableTextNamesAnEvent(_ name: String) { #expect(Event.isName(name)) }

    @Test(arguments: [
        "", "  ", "a\nb", "a\u{7}b", "a\u{2028}b", "\u{202E}a", "(other)",
        String(repeating: "x", count: 101),
    ])
    func whatCannotBePrintedNamesNone(_ name: String) { #expect(!Event.isName(name)) }

    @Test func theFirstEightDimensionsCount() throws {
        let pairs = "ihgfedcbaj".map { #""\#($0)":"1""# }.joined(separator: ",")
        let event = try Event(name: "Tap", body: Array(#"{"dimensions":{\#(pairs)}}"#.utf8))
        #expect(event.dimensions.keys.sorted() == ["b", "c", "d", "e", "f", "g", "h", "i"])
        #expect(throws: ParseError.self) { try Event(name: "Tap", body: Array(#"{"dimensions":{"a":1}}"#.utf8)) }
    }

    @Test func aCrashReportIsAnEventWithItsDump() {
        let event = AppCrashReport.event([
            "at": ["__type": "Date", "iso": "2016-01-02T03:04:05.678Z"],
            "breakpadDump": ["reason": "SIGSEGV", "ver": "1.2", "stack": "AAAA"],
        ])
        let stored = StoredEvent(event, eventId: String(repeating: "a", count: 32))
        #expect(stored.crash.title == "CrashReport: SIGSEGV")
        #expect(stored.crash.release == "1.2")
        #expect(stored.crash.level == "fatal")
        #expect(String(decoding: stored.json, as: UTF8.self).contains(#""stack":"AAAA""#))
        #expect(StoredEvent(AppCrashReport.event([:]), eventId: "").crash.title == "CrashReport")
    }
}
