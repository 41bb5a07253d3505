import Logging

/// The log of the HTTP server, which adds metadata to its logger for each request and then logs next to nothing: it is
/// made into a text only where there is a line to write. `StreamLogHandler` does it at once.
package struct RequestLogHandler: LogHandler {
    private let logger: Logger
    /// What each line has beside its own.
    package var metadata: Logger.Metadata = [:]
    /// Not asked: the logger behind it has its own.
    package var metadataProvider: Logger.MetadataProvider?
    /// The level from which on lines are written.
    package var logLevel: Logger.Level

    /// - Parameter logger: where the lines go, and the level that holds at first.
    package init(_ logger: Logger) {
        self.logger = logger
        logLevel = logger.logLevel
    }

    /// One item of the metadata; nil for none of that name.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes a line; of items of one name its own counts.
    package func log(event: LogEvent) {
        var event = event
        if !metadata.isEmpty { event.metadata = metadata.merging(event.metadata ?? [:]) { _, own in own } }
        logger.handler.log(event: event)
    }
}
