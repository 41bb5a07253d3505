import Configuration
import Foundation
import Logging
import MessageBus

/// The settings every process of the suite reads from its environment. Services with settings of their own read them from `reader`.
public struct ServiceConfiguration: Sendable {
    /// `SATCHEL_DATA`: where databases, spools and sockets live. Absolute, ends without a slash.
    public let dataDirectory: String
    /// `SATCHEL_REPLICA`: name of this process, unique in the suite.
    public let replica: String
    /// `SATCHEL_LANES`: sockets and threads that take requests, 1 to 16.
    public let laneCount: Int
    public let bus: BusConfiguration
    public let logLevel: Logger.Level
    /// Looks up `satchel.some.name` as `SATCHEL_SOME_NAME`.
    public let reader: ConfigReader

    /// - Throws: `BusConfiguration.Problem` when the bus cannot work as configured.
    public init(service: String, reader: ConfigReader = .environment) throws {
        self.reader = reader
        dataDirectory =
            URL(fileURLWithPath: reader.string(forKey: "satchel.data", default: "./data")).standardizedFileURL.path
        replica = reader.string(forKey: "satchel.replica", default: "\(service)-1")
        laneCount = reader.int(forKey: "satchel.lanes", default: 2)
        logLevel = Logger.Level(rawValue: reader.string(forKey: "satchel.log.level", default: "info")) ?? .info
        bus = try BusConfiguration(reader: reader, dataDirectory: dataDirectory)
    }

    /// The service's own database file.
    public func databasePath(_ service: String) -> String { "\(dataDirectory)/\(service).sqlite" }
}
