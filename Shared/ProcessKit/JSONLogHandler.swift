import Glibc
import Logging
import ParseProtocol
import Synchronization

/// Writes log lines as JSON to standard error: one object a line, with `time`, `level`, `process`, `message` and
/// `metadata`.
package struct JSONLogHandler: LogHandler {
    package var logLevel = Logger.Level.info
    package var metadata = Logger.Metadata()
    package var metadataProvider: Logger.MetadataProvider?
    private let process: String

    /// Lines of several threads must not mix.
    private static let turn = Mutex(())

    package init(_ process: String, _ metadataProvider: Logger.MetadataProvider?) {
        self.process = process
        self.metadataProvider = metadataProvider
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let line = line(of: event, at: .now)
        Self.turn.withLock { _ in
            var rest = line[...]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
                guard written > 0 || errno == EINTR else { return }
                rest = rest.dropFirst(max(0, written))
            }
        }
    }

    /// A line with its line break.
    package func line(of event: LogEvent, at time: Timestamp) -> [UInt8] {
        var all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        if let error = event.error { all["error"] = "\(error)" }
        var text: [UInt8] = []
        for (name, value) in [
            ("time", time.iso), ("level", event.level.rawValue), ("process", process),
            ("message", event.message.description),
        ] {
            text += Array((text.isEmpty ? "{" : ",").utf8) + Array("\"\(name)\":".utf8)
            JSON.string(value).append(to: &text)
        }
        text += Array(",\"metadata\":".utf8)
        JSON.object(all.mapValues { .string($0.description) }).append(to: &text)
        return text + Array("}\n".utf8)
    }
}
