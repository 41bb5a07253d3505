import Foundation
import ParseProtocol
import Synchronization

/// A suite whose processes run on several hosts, with CURVE over tcp between them and a data folder for each.
package final class HostSuite: Sendable {
    /// A host and the processes that run on it, such as `catalog-1`.
    package struct Place: Sendable {
        let host: String
        let replicas: [String]
        let disk: String

        /// - Parameter disk: the host whose data folder it uses; nil for its own. Replicas of a service share a file,
        ///   so that one whose network alone is to break has a host of its own with the other's disk.
        package init(_ host: String, _ replicas: [String], disk: String? = nil) {
            self.host = host
            self.replicas = replicas
            self.disk = disk ?? host
        }
    }

    package let network: HostNetwork
    private let places: [Place]
    private let folder: String
    private let processes = Mutex<[String: ChildProcess]>([:])

    private static let busPort = 5570
    private static let port = 1337

    /// Starts the processes: first of each service, in the order of the places, when all is healthy the others.
    /// - Parameter settings: further `SATCHEL_*` variables of all processes.
    /// - Throws: `Command.Failed` where no namespaces can be made, and with the logs when the suite does not become
    ///   healthy.
    package static func start(_ places: [Place], settings: [String: String] = [:]) async throws -> HostSuite {
        let folder = "/tmp/satchel-hosts-\(Names.random(8))"
        for place in places {
            try FileManager.default.createDirectory(
                atPath: "\(folder)/\(place.disk)/logs", withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        let network = try await HostNetwork.start(places.map(\.host), folder: folder)
        let suite = HostSuite(network: network, places: places, folder: folder)
        do {
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

    /// Runs `body` with a suite of its own.
    package static func with(
        _ places: [Place], settings: [String: String] = [:], _ body: (HostSuite) async throws -> Void
    ) async throws {
        let suite = try await start(places, settings: settings)
        do {
            try await body(suite)
        } catch {
            await suite.stop()
            throw error
        }
        await suite.stop()
    }

    private init(network: HostNetwork, places: [Place], folder: String) {
        self.network = network
        self.places = places
        self.folder = folder
    }

    /// Ends every process and removes hosts and data.
    package func stop() async { await network.stop() }

    /// The suite as clients of one host's gateway see it, with the data of one host.
    /// - Parameters:
    ///   - gateway: the host whose gateway is asked.
    ///   - disk: the host whose databases `rows` reads.
    package func seen(at gateway: String = "a", disk: String = "a") throws -> Suite {
        try Suite(at: "http://\(try address(of: gateway)):\(Self.port)/parse", dataDirectory: "\(folder)/\(disk)")
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

    private var keys: String { "\(folder)/bus.keys" }

    private func host(_ name: String) throws -> HostNetwork.Host {
        guard let host = network.hosts[name] else { throw Command.Failed(description: "There is no host \(name).") }
        return host
    }

    private func address(of name: String) throws -> String { try host(name).address }

    /// The bus as all processes know it: each gateway takes its own, services dial all.
    private func bus() throws -> String {
        try places.filter { $0.replicas.contains { $0.hasPrefix("gateway-") } }
            .map { "tcp://\(try address(of: $0.host)):\(Self.busPort)" }.joined(separator: ",")
    }

    private func startProcesses(_ settings: [String: String], where isWanted: (String) -> Bool) throws {
        let bus = try bus()
        for place in places {
            let host = try host(place.host)
            let data = "\(folder)/\(place.disk)"
            for replica in place.replicas where isWanted(replica) {
                let environment = [
                    "SATCHEL_DATA": data, "SATCHEL_REPLICA": replica, "SATCHEL_BUS": bus, "SATCHEL_BUS_KEYS": keys,
                    "SATCHEL_HOST": "0.0.0.0", "SATCHEL_PORT": "\(Self.port)", "SATCHEL_PASSWORD_WORK": "1",
                    "SATCHEL_MASTER_KEY": Suite.masterKey, "SATCHEL_MASTER_KEY_IPS": "127.0.0.0/8,198.18.0.0/15",
                    "SATCHEL_SIGNUP_MAILS_PER_ADDRESS": "1000000", "SATCHEL_MAILS_PER_NETWORK": "0",
                    "SATCHEL_QUOTAS": "classes=off;fields=off",
                ].merging(settings) { _, setting in setting }
                let process = try ChildProcess(
                    [
                        "ip", "netns", "exec", host.namespace,
                        Self.executable(String(replica.prefix { $0 != "-" })),
                    ], environment: environment, output: "\(data)/logs/\(replica).log")
                processes.withLock { $0[replica] = process }
            }
        }
    }
}
