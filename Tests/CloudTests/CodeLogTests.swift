import CloudService
import Testing

/// What a text of cloud code becomes in the log.
@Suite struct CodeLogTests {
    @Test func aTextStaysOnOneLine() {
        #expect(CodeLog.oneLine("one") == "one")
        #expect(CodeLog.oneLine("one\ntwo\r\n\u{2028}three\n") == #"one\ntwo\nthree"#)
    }

    /// A character may consist of any number of scalars.
    @Test func aTextIsCut() {
        #expect(CodeLog.oneLine(String(repeating: "x", count: 10_000)).utf8.count == 8192)
        let accents = "e" + String(repeating: "\u{301}", count: 100_000)
        #expect(accents.count == 1)
        #expect(CodeLog.oneLine(accents).unicodeScalars.count == 8192)
    }
}
