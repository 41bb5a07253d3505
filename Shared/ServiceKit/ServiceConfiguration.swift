import MessageBus
import ObjectStore
import ProcessKit

/// The settings every process of the suite reads from its environment. Services with settings of their own read them
/// from `settings`.
public struct ServiceConfiguration: Sendable {
    /// `SATCHEL_REPLICA`: name of this process, unique in the suite.
    public let replica: String
    /// `SATCHEL_LANES`: sockets and threads that take requests, 1 to 16.
    public let laneCount: Int
    /// The endpoint of the bus and the keys for it.
    public let bus: BusConfiguration
    /// The settings that every process has, such as the data directory.
    public let start: ProcessStart
    /// All settings, for those of the service's own.
    public let settings: Settings

    /// - Throws: `StartupProblem`, and `BusConfiguration.Problem` when the bus cannot work as configured.
    public init(service: String, settings: Settings = .environment) throws {
        self.settings = settings
        start = try ProcessStart(settings)
        replica = settings.text("satchel.replica", default: "\(service)-1")
        laneCount = try settings.number("satchel.lanes", 1...16, default: 2)
        bus = try BusConfiguration(settings, dataDirectory: start.dataDirectory)
    }

    /// `SATCHEL_DATA`: where databases, spools and sockets live. Absolute, ends without a slash.
    public var dataDirectory: String { start.dataDirectory }

    /// Whether the service tells what it is about to change, so that the gateway may keep answers of it. One without
    /// classes has none.
    func keepsBoard(_ plan: ServicePlan) throws(StartupProblem) -> Bool {
        guard plan.ownsUnknownClasses || !plan.classes.isEmpty, try server(plan.name) == nil else { return false }
        return try settings.readCacheBytes() > 0
    }

    /// `SATCHEL_<SERVICE>_DATABASE`, or `SATCHEL_DATABASE` for all services: the connection string of a PostgreSQL
    /// database; nil for a file. It has the password.
    private func server(_ service: String) throws(StartupProblem) -> String? {
        for name in ["satchel.\(service).database", "satchel.database"] {
            guard let text = settings[name] else { continue }
            guard text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") else {
                throw StartupProblem(
                    "\(Settings.variable(name)) must be a connection string such as postgresql://user@host/shop.")
            }
            return text
        }
        return nil
    }

    /// The service's own database: a file, or a schema that has its name.
    /// - Throws: `StartupProblem` for a connection string that is none.
    func database(_ plan: ServicePlan) throws(StartupProblem) -> StoreDatabase {
        guard let server = try server(plan.name) else { return .file(path: databasePath(plan.name)) }
        return .postgresql(PostgreSQLDatabase(connection: server, schema: "satchel_\(plan.name)"))
    }

    /// The service's own database file.
    public func databasePath(_ service: String) -> String { "\(dataDirectory)/\(service).sqlite" }
}
