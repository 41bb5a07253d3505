import Logging

/// The log of the HTTP server, which adds metadata to its logger for each request and then logs next to nothing: it is
/// made into a text only where there is a line to write. `StreamLogHandler` does it at once.
struct RequestLogHandler: LogHandler {
    private let logger: Logger
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel: Logger.Level

    /// - Parameter logger: where the lines go.
    init(_ logger: Logger) {
        self.logger = logger
        logLevel = logger.logLevel
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var event = event
        if !metadata.isEmpty { event.metadata = metadata.merging(event.metadata ?? [:]) { _, own in own } }
        logger.handler.log(event: event)
    }
}
