import Foundation
import ParseProtocol

/// PostgreSQL servers under Debian's Patroni and etcd, configured like `compose/patroni`: one server leads, another one
/// replicates every commit synchronously. They run on loopback with one etcd, or on several hosts with one etcd each.
/// All data is in a temporary folder that is removed with the cluster.
package final class PatroniCluster: Sendable {
    /// One server with its Patroni, as Patroni reports it.
    private struct Member {
        let node: Int
        let role: String
        let isRunning: Bool

        init(_ told: JSON) {
            node = Int(told.text("name").dropFirst("node".count)) ?? 0
            role = told.text("role")
            // A standby's lag is unknown until it runs as a standby.
            let follows = role == "leader" || told["lag"]?.intValue != nil
            isRunning = follows && ["running", "streaming"].contains(told.text("state"))
        }
    }

    /// The addresses and ports of a node's programs.
    private struct Place {
        /// Nil for this machine.
        let host: HostNetwork.Host?
        let sqlPort: Int
        let patroniPort: Int
        /// Client and peer ports; empty for a node without etcd.
        let etcdPorts: [Int]

        var address: String { host?.address ?? "127.0.0.1" }

        /// The node as an argument of `patroni_cluster.sh`.
        var argument: String {
            let ports = [sqlPort, patroniPort] + etcdPorts
            return ([host?.namespace ?? "", address] + ports.map(String.init)).joined(separator: ",")
        }
    }

    /// The nodes' numbers, from 1.
    package let nodes: [Int]
    private let folder: String
    private let places: [Place]
    private let keeper: Keeper

    /// Runs `body` with its own cluster on loopback. All servers run at the start.
    package static func with(nodes: Int = 3, _ body: (PatroniCluster) async throws -> Void) async throws {
        let reserved = try (0..<2 + 2 * nodes).map { _ in try ReservedPort() }
        defer { withExtendedLifetime(reserved) {} }
        let ports = reserved.map(\.number)
        let places = (1...nodes).map { node in
            Place(
                host: nil, sqlPort: ports[2 * node], patroniPort: ports[2 * node + 1],
                etcdPorts: node == 1 ? [ports[0], ports[1]] : [])
        }
        try await with(places, network: "127.0.0.0/8", body)
    }

    /// Runs `body` with its own cluster, one node on each of three hosts. All servers run at the start. The cluster
    /// must end before the hosts.
    package static func with(
        on hosts: [HostNetwork.Host], _ body: (PatroniCluster) async throws -> Void
    ) async throws {
        let places = hosts.map { Place(host: $0, sqlPort: 5432, patroniPort: 8008, etcdPorts: [2379, 2380]) }
        try await with(places, network: HostNetwork.addresses, body)
    }

    private static func with(
        _ places: [Place], network: String, _ body: (PatroniCluster) async throws -> Void
    ) async throws {
        let cluster = try PatroniCluster(places, network: network)
        do {
            for node in cluster.nodes { try cluster.start(node) }
            try await cluster.untilWhole()
            try await body(cluster)
        } catch {
            let logs = cluster.logTails()
            await cluster.keeper.finish()
            throw Command.Failed(description: "\(error)\n\(logs)")
        }
        await cluster.keeper.finish()
    }

    private init(_ places: [Place], network: String) throws {
        self.places = places
        nodes = Array(1...places.count)
        folder = "/tmp/satchel-ha-\(Names.random(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        keeper = try Keeper(
            program: "exec /bin/bash \"$@\"",
            arguments: [
                "\(checkoutDirectory)/Tests/Peers/patroni_cluster.sh", folder, checkoutDirectory, network,
            ] + places.map(\.argument),
            environment: [:], output: folder + "/keeper.log")
    }

    // MARK: - Databases

    /// Creates an empty database and returns its connection string. The string lists all servers and selects the one
    /// that accepts writes.
    package func newDatabase() async throws -> String {
        var string = ""
        try await eventually("a database is made", within: .seconds(60)) {
            let name = "test_\(Names.random(10).lowercased())"
            string = connection(to: name, as: name)
            let made = try? await Command.run(
                Self.psql(
                    connection(to: "postgres", as: "postgres"), "CREATE ROLE \(name) LOGIN",
                    "CREATE DATABASE \(name) OWNER \(name)"))
            return made != nil
        }
        return string
    }

    /// Runs SQL as the superuser on the leader. Returns the rows, one per line, with `|` between columns.
    package func run(_ sql: String) async throws -> String {
        let text = try await Command.run(Self.psql(connection(to: "postgres", as: "postgres"), sql))
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Runs SQL as the superuser on a node's server, from the node's own host if it has one. Works also while the host
    /// is cut off.
    /// - Throws: `Command.Failed`, also when there is no answer within a minute.
    package func run(_ sql: String, by node: Int) async throws -> String {
        let place = places[node - 1]
        let within = place.host.map { ["ip", "netns", "exec", $0.namespace] } ?? []
        let server = "postgresql://postgres@\(place.address):\(place.sqlPort)/postgres?connect_timeout=3"
        let text = try await Command.run(within + ["timeout", "60"] + Self.psql(server, sql))
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func psql(_ connection: String, _ statements: String...) -> [String] {
        ["psql", connection, "-XAtq", "-v", "ON_ERROR_STOP=1"] + statements.flatMap { ["-c", $0] }
    }

    private func connection(to database: String, as role: String) -> String {
        let servers = places.map { "\($0.address):\($0.sqlPort)" }.joined(separator: ",")
        let waits = places.contains { $0.host != nil } ? "&\(PostgreSQLServer.missedSoon)" : ""
        return "postgresql://\(role)@\(servers)/\(database)?target_session_attrs=read-write\(waits)"
    }

    // MARK: - Nodes

    /// Kills a node's server and Patroni at once, like a power failure, and waits until they are gone.
    package func kill(_ node: Int) async throws {
        let lines = try String(contentsOfFile: "\(folder)/node\(node)/postmaster.pid", encoding: .utf8)
        guard let pid = lines.split(separator: "\n").first.flatMap({ pid_t($0) }) else {
            throw Command.Failed(description: "node \(node) does not run.")
        }
        try FileManager.default.removeItem(atPath: "\(folder)/run\(node)")
        try await eventually("node \(node) has ended") { !OtherProcess(pid: pid).isAlive }
    }

    /// Starts a node with its existing data.
    package func start(_ node: Int) throws { try Data().write(to: URL(fileURLWithPath: "\(folder)/run\(node)")) }

    /// The node whose server accepts writes; nil while there is none.
    /// - Parameter cutOff: a node that is not asked. Its view is stale, also for a while after it is reconnected.
    package func leader(cutOff: Int? = nil) async -> Int? {
        await members(cutOff: cutOff).first { $0.role == "leader" && $0.isRunning }?.node
    }

    /// Waits until a node's server replicates from the leader.
    package func untilFollows(_ node: Int) async throws {
        let sql = "SELECT state FROM pg_stat_replication WHERE application_name = 'node\(node)'"
        try await eventually("node \(node) follows", within: .seconds(180)) {
            (try? await run(sql)) == "streaming"
        }
    }

    /// Waits until every node runs, one leads, and another is its synchronous standby.
    package func untilWhole() async throws {
        try await eventually("all of \(nodes.count) nodes run", within: .seconds(120)) {
            let members = await members()
            return members.count == nodes.count && members.allSatisfy(\.isRunning)
                && members.contains { $0.role == "leader" } && members.contains { $0.role == "sync_standby" }
        }
    }

    /// All members as reported by any running node; empty when none answers.
    private func members(cutOff: Int? = nil) async -> [Member] {
        for node in nodes where node != cutOff && FileManager.default.fileExists(atPath: "\(folder)/run\(node)") {
            let place = places[node - 1]
            let url = "http://\(place.address):\(place.patroniPort)/cluster"
            guard let answer = try? await HTTPConnections.send(.GET, url, timeout: .seconds(5)),
                let told = try? JSON(parsing: String(decoding: answer.bytes, as: UTF8.self))
            else { continue }
            return (told["members"]?.arrayValue ?? []).map(Member.init)
        }
        return []
    }

    private func logTails() -> String {
        (["keeper"] + nodes.flatMap { ["etcd\($0)", "node\($0)"] }).compactMap { name in
            guard let text = FileManager.default.contents(atPath: "\(folder)/\(name).log") else { return nil }
            return "--- \(name)\n\(String(decoding: text.suffix(3000), as: UTF8.self))"
        }.joined(separator: "\n")
    }
}
