import Foundation
import ParseProtocol
import Synchronization

/// A suite whose processes run on several hosts. They communicate over tcp with CURVE, and each host has its own data
/// folder.
package final class HostSuite: Sendable {
    /// A host and the processes that run on it, such as `catalog-1`.
    package struct Place: Sendable {
        package let host: String
        let replicas: [String]
        let disk: String

        /// - Parameter disk: the host whose data folder it uses; nil for its own. Replicas of a service share a file.
        ///   To break only the network of one replica, put it on a host of its own that uses the other host's disk. A
        ///   host whose services use a database server needs no shared disk.
        package init(_ host: String, _ replicas: [String], disk: String? = nil) {
            self.host = host
            self.replicas = replicas
            self.disk = disk ?? host
        }
    }

    package let network: HostNetwork
    /// True if another owner stops the network.
    private let isGuest: Bool
    private let places: [Place]
    /// The connection string of the database that stores all data of the services; nil for files.
    private let database: String?
    private let processes = Mutex<[String: ChildProcess]>([:])

    private static let busPort = 5570
    private static let port = 1337

    /// Starts the first replica of each service in the order of the places. When all are healthy, starts the others.
    /// - Parameters:
    ///   - hosts: a network that contains the places' hosts; the processes end with it. Nil creates a network for this
    ///     suite.
    ///   - settings: further `SATCHEL_*` variables of all processes. With `SATCHEL_DATABASE`, a process that ends is
    ///     restarted, as by a supervisor: a replica ends when another one took over writing.
    /// - Throws: `Command.Failed` if namespaces cannot be created, and with the logs when the suite does not become
    ///   healthy.
    package static func start(
        _ places: [Place], on hosts: HostNetwork? = nil, settings: [String: String] = [:]
    ) async throws -> HostSuite {
        let network: HostNetwork
        if let hosts { network = hosts } else { network = try await HostNetwork.start(places.map(\.host)) }
        let suite = HostSuite(
            network: network, isGuest: hosts != nil, places: places, database: settings["SATCHEL_DATABASE"])
        do {
            for place in places {
                try FileManager.default.createDirectory(
                    atPath: "\(suite.data(of: place.disk))/logs", withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
            }
            _ = try await Command.run([Self.executable("gateway"), "make-bus-keys", suite.keys])
            try suite.startProcesses(settings) { $0.hasSuffix("-1") || $0.hasPrefix("gateway-") }
            try await suite.untilHealthy()
            try suite.startProcesses(settings) { !$0.hasSuffix("-1") && !$0.hasPrefix("gateway-") }
            try await suite.untilHealthy()
        } catch {
            let logs = suite.logTails()
            await suite.stop()
            throw Command.Failed(description: "\(error)\n\(logs)")
        }
        return suite
    }

    /// Runs `body` with its own suite.
    package static func with(
        _ places: [Place], on hosts: HostNetwork? = nil, settings: [String: String] = [:],
        _ body: (HostSuite) async throws -> Void
    ) async throws {
        let suite = try await start(places, on: hosts, settings: settings)
        do {
            try await body(suite)
        } catch {
            await suite.stop()
            throw error
        }
        await suite.stop()
    }

    private init(network: HostNetwork, isGuest: Bool, places: [Place], database: String?) {
        self.network = network
        self.isGuest = isGuest
        self.places = places
        self.database = database
    }

    /// Ends every process and removes hosts and data. Does nothing if the suite was given its hosts: then everything
    /// ends with them.
    package func stop() async { if !isGuest { await network.stop() } }

    /// The suite as clients of one host's gateway see it, with the data of one host.
    /// - Parameters:
    ///   - gateway: the host whose gateway gets the requests.
    ///   - disk: the host whose files are read, such as `mails`, and whose databases if they are files.
    package func seen(at gateway: String = "a", disk: String = "a") throws -> Suite {
        try Suite(
            at: "http://\(try address(of: gateway)):\(Self.port)/parse", dataDirectory: data(of: disk),
            database: database)
    }

    /// Waits until each gateway reports every service with a writer and all its replicas.
    package func untilHealthy(within limit: Duration = .seconds(30)) async throws {
        let running = processes.withLock { $0.keys.map { String($0.prefix { $0 != "-" }) } }
        let counts = Dictionary(running.map { ($0, Int64(1)) }, uniquingKeysWith: +)
        for place in places where place.replicas.contains(where: { $0.hasPrefix("gateway-") }) {
            let client = ParseClient(try seen(at: place.host))
            try await eventually("the gateway of host \(place.host) has all services", within: limit) {
                guard let health = try? await client.call(.GET, "/health"), health["status"] == "ok" else {
                    return false
                }
                return counts.filter { $0.key != "gateway" }.allSatisfy { service, count in
                    health.json.at("services", .member(service), "replicas")?.intValue == count
                }
            }
        }
    }

    /// The last lines of every log.
    package func logTails(lines: Int = 30, where isWanted: (Substring) -> Bool = { _ in true }) -> String {
        Set(places.map(\.disk)).sorted().compactMap { disk in
            try? seen(at: places[0].host, disk: disk).logTails(lines: lines, where: isWanted)
        }.joined(separator: "\n")
    }

    // MARK: Processes

    private static func executable(_ name: String) -> String { "\(checkoutDirectory)/.build/release/\(name)" }

    private func data(of disk: String) -> String { "\(network.folder)/\(disk)" }
    /// The key files that an operator copies to each host.
    private var keys: String { "\(network.folder)/bus.keys" }
    private var accountKey: String { "\(network.folder)/users.key" }
    private var filesKey: String { "\(network.folder)/files.key" }

    private func address(of name: String) throws -> String { try network.host(name).address }

    /// The bus configuration of all processes: each gateway binds its own entry, services dial all.
    private func bus() throws -> String {
        try places.filter { $0.replicas.contains { $0.hasPrefix("gateway-") } }
            .map { "tcp://\(try address(of: $0.host)):\(Self.busPort)" }.joined(separator: ",")
    }

    /// The command of a replica, for its host. The supervisor runs on the same host, so that it ends with the host.
    private func command(_ replica: String) -> [String] {
        let executable = Self.executable(String(replica.prefix { $0 != "-" }))
        guard database != nil else { return [executable] }
        let supervisor = #"while :; do "$0"; echo "It ended with status $? and is started again."; sleep 0.5; done"#
        return ["/bin/bash", "-c", supervisor, executable]
    }

    private func startProcesses(_ settings: [String: String], where isWanted: (String) -> Bool) throws {
        let bus = try bus()
        for place in places {
            let host = try network.host(place.host)
            let data = data(of: place.disk)
            for replica in place.replicas where isWanted(replica) {
                let environment = [
                    "SATCHEL_DATA": data, "SATCHEL_REPLICA": replica, "SATCHEL_BUS": bus, "SATCHEL_BUS_KEYS": keys,
                    "SATCHEL_HOST": "0.0.0.0", "SATCHEL_PORT": "\(Self.port)", "SATCHEL_PASSWORD_WORK": "1",
                    "SATCHEL_MASTER_KEY": Suite.masterKey,
                    "SATCHEL_MASTER_KEY_IPS": "127.0.0.0/8,\(HostNetwork.addresses)",
                    "SATCHEL_USERS_KEY_FILE": accountKey, "SATCHEL_FILES_KEY_FILE": filesKey,
                    "SATCHEL_SIGNUP_MAILS_PER_ADDRESS": "1000000", "SATCHEL_MAILS_PER_NETWORK": "0",
                    "SATCHEL_QUOTAS": "classes=off;fields=off",
                ].merging(settings) { _, setting in setting }
                let process = try ChildProcess(
                    ["ip", "netns", "exec", host.namespace] + command(replica), environment: environment,
                    output: "\(data)/logs/\(replica).log")
                processes.withLock { $0[replica] = process }
            }
        }
    }
}
