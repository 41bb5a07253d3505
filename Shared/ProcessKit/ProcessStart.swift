import Foundation
import Logging
import ParseProtocol

/// The release that every process reports, in scripts/status and `serverInfo`.
public let satchelRelease = "0.1.0"

/// The settings common to all processes of the suite.
public struct ProcessStart: Sendable {
    /// `SATCHEL_DATA`: the directory of databases, files, spools and sockets. Absolute, without a trailing slash.
    public let dataDirectory: String
    /// `SATCHEL_LOG_LEVEL`
    public let logLevel: Logger.Level
    /// The collector of spans; nil when none are recorded.
    public let traces: TraceSettings?
    /// `SATCHEL_LOG_SLOW_MILLISECONDS`: longer requests and queries are logged; nil for none.
    public let slowAfter: Duration?

    /// `SATCHEL_LOG_FORMAT`
    private enum LogFormat: String, CaseIterable {
        case text
        case json
    }

    /// - Throws: `StartupProblem`.
    public init(_ settings: Settings) throws(StartupProblem) {
        dataDirectory =
            URL(fileURLWithPath: settings.text("satchel.data", default: "./data")).standardizedFileURL.path
        logLevel = try settings.choice("satchel.log.level", default: Logger.Level.info)
        _ = try settings.choice("satchel.log.format", default: LogFormat.text)
        traces = try TraceSettings(settings)
        let slow = try settings.number("satchel.log.slow.milliseconds", 0...3_600_000, default: 1000)
        slowAfter = slow > 0 ? .milliseconds(slow) : nil
    }

    /// Creates the data directory with the folder of its sockets. From now on only the process's user can read the
    /// files that it creates: databases, files and spools contain customers' data.
    public func makeDataDirectory() throws {
        umask(0o077)
        try FileManager.default.createDirectory(
            atPath: dataDirectory + "/sockets", withIntermediateDirectories: true)
    }

    /// - Parameter label: the process's name in the log.
    public func makeLogger(_ label: String) -> Logger {
        var logger = Logger(label: label)
        logger.logLevel = logLevel
        return logger
    }

    /// Sends logs to standard error, which the process manager stores. Lines of a request name it. To be called once
    /// per process, before the first log line.
    public static func setUpLogging() {
        // Without the process manager, which reads the log, writing would raise SIGPIPE. The process continues without
        // a log.
        signal(SIGPIPE, SIG_IGN)
        let isJSON = Settings.environment["satchel.log.format"] == LogFormat.json.rawValue
        let request = Logger.MetadataProvider {
            guard let trace = RequestTrace.current, !trace.requestId.isEmpty else { return [:] }
            var metadata: Logger.Metadata = ["request.id": "\(trace.requestId)"]
            if let context = trace.context { metadata["trace.id"] = "\(context.traceId)" }
            return metadata
        }
        LoggingSystem.bootstrap(
            { label, provider -> any LogHandler in
                if isJSON { return JSONLogHandler(label, provider) }
                return StreamLogHandler.standardError(label: label, metadataProvider: provider)
            }, metadataProvider: request)
    }
}
