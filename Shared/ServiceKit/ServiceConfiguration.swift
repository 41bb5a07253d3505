import Foundation
import MessageBus
import Messages
import ObjectStore
import ProcessKit

/// The settings that every service reads from its environment. A service reads its own settings from `settings`.
public struct ServiceConfiguration: Sendable {
    /// `SATCHEL_REPLICA`: name of this process, unique in the suite.
    public let replica: String
    /// `SATCHEL_LANES`: number of lanes, each a socket and a thread that receives requests; 1 to 16.
    public let laneCount: Int
    /// The endpoint and keys of the bus.
    public let bus: BusConfiguration
    /// The settings common to all processes, such as the data directory.
    public let start: ProcessStart
    /// All settings, including the service's own.
    public let settings: Settings

    /// - Throws: `StartupProblem`, and `BusConfiguration.Problem` when the bus cannot work as configured.
    public init(service: String, settings: Settings = .environment) throws {
        self.settings = settings
        try Self.requireNoPlain(service, settings)
        start = try ProcessStart(settings)
        replica = settings.text("satchel.replica", default: "\(service)-1")
        laneCount = try settings.number("satchel.lanes", 1...16, default: 2)
        bus = try BusConfiguration(settings, dataDirectory: start.dataDirectory)
    }

    /// `SATCHEL_DATA`: the directory of databases, spools and sockets. Absolute, without a trailing slash.
    public var dataDirectory: String { start.dataDirectory }

    /// Whether the service keeps a board of changes, which lets the gateway cache its replies. A service without
    /// classes keeps none. With a database server, only a suite on one host has a board, because there the next writer
    /// uses the same one. On several hosts a gateway might be cut off from the writer without noticing.
    func keepsBoard(_ plan: ServicePlan) throws(StartupProblem) -> Bool {
        guard plan.ownsUnknownClasses || !plan.classes.isEmpty, try settings.readCacheBytes() > 0 else { return false }
        if try server(plan.name) == nil { return true }
        return try writers(plan) == .one && bus.isOfOneHost
    }

    /// The content of `<service>.database` that stands for an SQLite file.
    static let sqlite = "sqlite"

    /// The database server of a service as a connection string, password included; nil for an SQLite file.
    /// `scripts/move` writes the current place to `<service>.database` (`sqlite` or a connection string), which takes
    /// precedence because the settings of a running suite do not change. Otherwise `SATCHEL_<SERVICE>_DATABASE`
    /// applies, or `SATCHEL_DATABASE` for all services.
    /// - Throws: `StartupProblem` for an invalid connection string, and for a `<service>.database` that cannot be read:
    ///   the settings may name a place that the data have left.
    private func server(_ service: String) throws(StartupProblem) -> String? {
        let path = "\(dataDirectory)/\(service).database"
        if access(path, F_OK) == 0 || errno != ENOENT {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw StartupProblem("\(path) cannot be read.")
            }
            let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            return text == Self.sqlite ? nil : try Self.connection(text, "\(service).database")
        }
        for name in ["satchel.\(service).database", "satchel.database"] {
            if let text = settings[name] { return try Self.connection(text, Settings.variable(name)) }
        }
        return nil
    }

    private static func connection(_ text: String, _ name: String) throws(StartupProblem) -> String {
        guard text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") else {
            throw StartupProblem("\(name) must be a connection string such as postgresql://user@host/shop.")
        }
        return text
    }

    /// The schema of a service on a database server.
    /// - Throws: `StartupProblem` for an invalid connection string, and when libpq cannot be loaded.
    func server(_ connection: String, _ plan: ServicePlan) throws(StartupProblem) -> PostgreSQLDatabase {
        if let problem = PostgreSQLDatabase.libraryProblem {
            throw StartupProblem("libpq cannot be loaded: \(problem)")
        }
        return PostgreSQLDatabase(
            connection: try Self.connection(connection, "The target"), schema: "satchel_\(plan.name)",
            file: databasePath(plan.name))
    }

    /// Earlier releases had `SATCHEL_<SERVICE>_POSTGRESQL`, and `SATCHEL_POSTGRESQL` for all services, for CockroachDB
    /// and YugabyteDB (docs/internals/decisions/postgresql-relatives.md). `full` was the default and is ignored.
    /// - Throws: `StartupProblem` for any other value.
    private static func requireNoPlain(_ service: String, _ settings: Settings) throws(StartupProblem) {
        let own = "satchel.\(service).postgresql"
        let name = settings[own] == nil ? "satchel.postgresql" : own
        guard let value = settings[name], value != "full" else { return }
        throw StartupProblem(
            """
            \(Settings.variable(name))=\(value) is not supported any more. For an ordinary PostgreSQL server unset it. \
            Data that an earlier release wrote with plain have to be moved to SQLite first (docs/guides/upgrading.md).
            """)
    }

    /// Whether the service's data are being moved; `scripts/move` marks this by a file.
    func isMoving(_ service: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(dataDirectory)/\(service).moving")
    }

    /// The service's own database: a file, or a schema with the service's name.
    /// - Throws: `StartupProblem` for an invalid connection string.
    func database(_ plan: ServicePlan) throws(StartupProblem) -> StoreDatabase {
        guard let server = try server(plan.name) else { return .file(path: databasePath(plan.name)) }
        return .postgresql(try self.server(server, plan))
    }

    /// `SATCHEL_<SERVICE>_WRITERS`, or `SATCHEL_WRITERS` for all services that support it: which replicas write.
    /// - Throws: `StartupProblem` for a value other than `one` or `every`, and for an explicit `every` of a service in
    ///   SQLite or of one whose changes must all go to the leader.
    package func writers(_ plan: ServicePlan) throws(StartupProblem) -> StoreWriters {
        let canSpread = Calls.spreadingServices.contains(plan.name)
        let own = "satchel.\(plan.name).writers"
        if settings[own] != nil {
            guard try settings.choice(own, default: StoreWriters.one) == .every else { return .one }
            guard try server(plan.name) != nil else {
                throw StartupProblem(
                    "\(Settings.variable(own)) is every, but \(plan.name) is in SQLite, where one process writes.")
            }
            guard canSpread else {
                throw StartupProblem(
                    "\(Settings.variable(own)) is every, but one replica of \(plan.name) makes all of its changes.")
            }
            return .every
        }
        let isEvery = try settings.choice("satchel.writers", default: StoreWriters.one) == .every
        guard isEvery, canSpread else { return .one }
        return try server(plan.name) == nil ? .one : .every
    }

    /// The file in which the suite records that a database or key exists. `name` is the argument of
    /// `scripts/accept-loss`.
    public func memberRecord(_ name: String) -> String { KeyFile.memberRecord(name, in: dataDirectory) }

    /// The service's own database file.
    public func databasePath(_ service: String) -> String { "\(dataDirectory)/\(service).sqlite" }
}
