import Logging
import ParseProtocol
import ProcessKit
import Testing

/// Log lines as JSON, and the settings of traces.
@Suite struct JSONLogTests {
    @Test func aLineIsOneObject() throws {
        var handler = JSONLogHandler("bag-1", Logger.MetadataProvider { ["request.id": "r1", "a": "provided"] })
        handler[metadataKey: "a"] = "own"
        handler[metadataKey: "b"] = "own"
        let event = LogEvent(
            level: .warning, message: "Two\nlines, \"quoted\"", metadata: ["b": "explicit"], source: nil, file: "",
            function: "", line: 1)
        let line = handler.line(of: event, at: Timestamp(milliseconds: 1_700_000_000_123))
        #expect(line.count(where: { $0 == UInt8(ascii: "\n") }) == 1)
        #expect(line.last == UInt8(ascii: "\n"))
        #expect(
            try JSON(parsing: line.dropLast()) == [
                "time": "2023-11-14T22:13:20.123Z", "level": "warning", "process": "bag-1",
                "message": "Two\nlines, \"quoted\"",
                "metadata": ["request.id": "r1", "a": "provided", "b": "explicit"],
            ])
    }

    @Test func tracesNeedAUsableAddress() throws {
        #expect(try TraceSettings(Settings([:])) == nil)
        let url = "SATCHEL_TRACES_URL"
        for share in ["0", "0.5", "1"] {
            let settings = try TraceSettings(Settings([url: "http://collector:4318/", "SATCHEL_TRACES_SHARE": share]))
            #expect(settings?.share == Double(share))
        }
        #expect(try TraceSettings(Settings([url: "http://c:1", "SATCHEL_TRACES_SHARE": "0"]))?.samples == false)
        #expect(try TraceSettings(Settings([url: "http://c:1", "SATCHEL_TRACES_SHARE": "1"]))?.samples == true)
        for bad in [
            [url: "collector:4318"], [url: "ftp://c"], [url: "http://user:secret@c"], [url: "http://c?key=1"],
            ["SATCHEL_TRACES_SHARE": "2"], ["SATCHEL_TRACES_SHARE": "nan"], ["SATCHEL_TRACES_SHARE": "all"],
        ] {
            #expect(throws: StartupProblem.self) { try TraceSettings(Settings(bad)) }
        }
    }
}
