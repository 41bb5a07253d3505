import GatewayService
import Logging
import Synchronization
import Testing

/// The HTTP server's log.
@Suite struct RequestLogHandlerTests {
    /// Keeps the metadata of each line.
    private struct Recorder: LogHandler {
        final class Lines: Sendable { let metadata = Mutex<[Logger.Metadata]>([]) }

        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?
        var logLevel = Logger.Level.info

        init(_ lines: Lines) { self.lines = lines }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = event.metadata ?? [:]
            lines.metadata.withLock { $0.append(metadata) }
        }
    }

    @Test func aLineHasItsRequestsMetadataAndItsOwn() {
        let lines = Recorder.Lines()
        let behind = Logger(label: "behind") { _ in Recorder(lines) }
        let server = Logger(label: "server") { _ in RequestLogHandler(behind) }
        var first = server
        first[metadataKey: "request"] = "1"
        var second = first
        second[metadataKey: "request"] = "2"
        server.info("Nothing of its own.")
        first.info("Its request's.", metadata: ["more": "a"])
        second.info("Its own before its request's.", metadata: ["request": "3"])
        second.debug("Below the level.")
        #expect(lines.metadata.withLock { $0 } == [[:], ["request": "1", "more": "a"], ["request": "3"]])
        #expect(first[metadataKey: "request"] == "1")
    }
}
