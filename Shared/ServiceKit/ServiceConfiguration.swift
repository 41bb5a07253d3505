import Foundation
import MessageBus
import Messages
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
    /// classes has none. Of a database on a server only a suite on one host has, where the next writer keeps the same
    /// board: a gateway may be cut off from a writer on another host, and not know of it.
    func keepsBoard(_ plan: ServicePlan) throws(StartupProblem) -> Bool {
        guard plan.ownsUnknownClasses || !plan.classes.isEmpty, try settings.readCacheBytes() > 0 else { return false }
        if try server(plan.name) == nil { return true }
        return try writers(plan) == .one && bus.isOfOneHost
    }

    /// The word for a file in `<service>.database`.
    static let sqlite = "sqlite"

    /// Where the data are since `scripts/move` moved them: `<service>.database`, `sqlite` or a connection string, which
    /// counts before settings: those of a suite that runs stay as they were. Else `SATCHEL_<SERVICE>_DATABASE`, or
    /// `SATCHEL_DATABASE` for all services: the connection string of a PostgreSQL database; nil for a file. It has the
    /// password.
    private func server(_ service: String) throws(StartupProblem) -> String? {
        if let data = FileManager.default.contents(atPath: "\(dataDirectory)/\(service).database") {
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

    /// The schema of a service at a server.
    /// - Throws: `StartupProblem` for a connection string that is none.
    func server(_ connection: String, _ plan: ServicePlan) throws(StartupProblem) -> PostgreSQLDatabase {
        PostgreSQLDatabase(
            connection: try Self.connection(connection, "The target"), schema: "satchel_\(plan.name)",
            file: databasePath(plan.name), isPlain: try isPlain(plan.name))
    }

    /// `SATCHEL_<SERVICE>_POSTGRESQL`, or `SATCHEL_POSTGRESQL` for all services: whether they ask of a server only what
    /// CockroachDB and YugabyteDB have too.
    /// - Throws: `StartupProblem` for another word than `full` or `plain`.
    private func isPlain(_ service: String) throws(StartupProblem) -> Bool {
        let own = "satchel.\(service).postgresql"
        return try settings.choice(settings[own] == nil ? "satchel.postgresql" : own, default: Features.full) == .plain
    }

    private enum Features: String, CaseIterable { case full, plain }

    /// Whether the service's data are being moved: `scripts/move` says so by a file.
    func isMoving(_ service: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(dataDirectory)/\(service).moving")
    }

    /// The service's own database: a file, or a schema that has its name.
    /// - Throws: `StartupProblem` for a connection string that is none.
    func database(_ plan: ServicePlan) throws(StartupProblem) -> StoreDatabase {
        guard let server = try server(plan.name) else { return .file(path: databasePath(plan.name)) }
        return .postgresql(try self.server(server, plan))
    }

    /// `SATCHEL_<SERVICE>_WRITERS`, or `SATCHEL_WRITERS` for all services that can: which replicas write.
    /// - Throws: `StartupProblem` for another word than `one` or `every`, and for `every` said of a service in SQLite,
    ///   or of one whose changes all go to the replica that leads.
    package func writers(_ plan: ServicePlan) throws(StartupProblem) -> StoreWriters {
        let canSpread = Calls.spreadingServices.contains(plan.name)
        let own = "satchel.\(plan.name).writers"
        if settings[own] != nil {
            guard try settings.choice(own, default: StoreWriters.one) == .every else { return .one }
            guard try server(plan.name) != nil else {
                throw StartupProblem(
                    "\(Settings.variable(own)) is every, but \(plan.name) is in SQLite, where one process writes.")
            }
            guard try !isPlain(plan.name) else {
                throw StartupProblem(
                    "\(Settings.variable(own)) is every, but with SATCHEL_POSTGRESQL=plain one process writes.")
            }
            guard canSpread else {
                throw StartupProblem(
                    "\(Settings.variable(own)) is every, but one replica of \(plan.name) makes all of its changes.")
            }
            return .every
        }
        let isEvery = try settings.choice("satchel.writers", default: StoreWriters.one) == .every
        guard isEvery, canSpread else { return .one }
        guard try server(plan.name) != nil, try !isPlain(plan.name) else { return .one }
        return .every
    }

    /// The service's own database file.
    public func databasePath(_ service: String) -> String { "\(dataDirectory)/\(service).sqlite" }
}
