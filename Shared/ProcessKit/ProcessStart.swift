import Foundation
import Logging

/// The release that every process reports, in scripts/status and `serverInfo`.
public let satchelRelease = "0.1.0"

/// The settings that every process of the suite takes alike.
public struct ProcessStart: Sendable {
    /// `SATCHEL_DATA`: where databases, files, spools and sockets live. Absolute, ends without a slash.
    public let dataDirectory: String
    /// `SATCHEL_LOG_LEVEL`
    public let logLevel: Logger.Level

    /// - Throws: `StartupProblem`.
    public init(_ settings: Settings) throws(StartupProblem) {
        dataDirectory =
            URL(fileURLWithPath: settings.text("satchel.data", default: "./data")).standardizedFileURL.path
        logLevel = try settings.choice("satchel.log.level", default: Logger.Level.info)
    }

    /// Makes the data directory with the folder of its sockets. Only the process's user may read what it makes from now
    /// on: databases, files and spools hold customers' data.
    public func makeDataDirectory() throws {
        umask(0o077)
        try FileManager.default.createDirectory(
            atPath: dataDirectory + "/sockets", withIntermediateDirectories: true)
    }

    /// - Parameter label: names the process in the log.
    public func makeLogger(_ label: String) -> Logger {
        var logger = Logger(label: label)
        logger.logLevel = logLevel
        return logger
    }

    /// Once in a process, before its first line: logs go to the standard error, which the process manager keeps.
    public static func setUpLogging() { LoggingSystem.bootstrap(StreamLogHandler.standardError) }
}
