import Foundation
import ParseProtocol

/// PostgreSQL servers on loopback under Debian's Patroni and etcd, set up as `compose/patroni` shows it: one leads, one
/// has every commit before it is acknowledged. All is in a temporary folder and gone with it.
package final class PatroniCluster: Sendable {
    /// One server with its Patroni, as Patroni tells of it.
    private struct Member {
        let node: Int
        let role: String
        let isRunning: Bool

        init(_ told: JSON) {
            node = Int(told.text("name").dropFirst("node".count)) ?? 0
            role = told.text("role")
            isRunning = ["running", "streaming"].contains(told.text("state"))
        }
    }

    /// The nodes' numbers.
    package let nodes: [Int]
    private let folder: String
    /// Two of etcd, then PostgreSQL's and Patroni's of each node.
    private let ports: [Int]
    private let keeper: Keeper

    /// Runs `body` with a cluster of its own, whose servers all run.
    package static func with(nodes: Int = 3, _ body: (PatroniCluster) async throws -> Void) async throws {
        let cluster = try PatroniCluster(nodes: nodes)
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

    private init(nodes count: Int) throws {
        nodes = Array(1...count)
        // Short, because unix sockets below it have at most 107 bytes.
        folder = "/tmp/satchel-ha-\(Names.random(8))"
        var ports: Set<Int> = []
        while ports.count < 2 + 2 * count { ports.insert(try Suite.freePort()) }
        self.ports = Array(ports)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        keeper = try Keeper(
            program: "exec /bin/bash \"$@\"",
            arguments: ["\(checkoutDirectory)/Tests/Peers/patroni_cluster.sh", folder, checkoutDirectory]
                + self.ports.map(String.init),
            environment: [:], output: folder + "/keeper.log")
    }

    // MARK: - Databases

    /// The connection string of a new database with nothing in it: all servers, of which the one is meant that writes.
    package func newDatabase() async throws -> String {
        var string = ""
        try await eventually("a database is made", within: .seconds(60)) {
            let name = "test_\(Names.random(10).lowercased())"
            string = connection(to: name, as: name)
            let made = try? await Command.run(
                [
                    "psql", connection(to: "postgres", as: "postgres"), "-XAtq", "-v", "ON_ERROR_STOP=1",
                    "-c", "CREATE ROLE \(name) LOGIN",
                    "-c", "CREATE DATABASE \(name) OWNER \(name)",
                ])
            return made != nil
        }
        return string
    }

    private func connection(to database: String, as role: String) -> String {
        let hosts = nodes.map { "127.0.0.1:\(ports[2 * $0])" }.joined(separator: ",")
        return "postgresql://\(role)@\(hosts)/\(database)?target_session_attrs=read-write"
    }

    // MARK: - Nodes

    /// Kills a node's server and Patroni at once, as a host that loses its power, and waits until they are gone.
    package func kill(_ node: Int) async throws {
        let lines = try String(contentsOfFile: "\(folder)/node\(node)/postmaster.pid", encoding: .utf8)
        guard let pid = lines.split(separator: "\n").first.flatMap({ pid_t($0) }) else {
            throw Command.Failed(description: "node \(node) does not run.")
        }
        try FileManager.default.removeItem(atPath: "\(folder)/run\(node)")
        try await eventually("node \(node) has ended") { !OtherProcess(pid: pid).isAlive }
    }

    /// Starts a node, with what it had.
    package func start(_ node: Int) throws { try Data().write(to: URL(fileURLWithPath: "\(folder)/run\(node)")) }

    /// The node whose server takes writes; nil while there is none.
    package func leader() async -> Int? {
        await members().first { $0.role == "leader" && $0.isRunning }?.node
    }

    /// Waits until every node runs, one of them leads and another has each commit.
    package func untilWhole() async throws {
        try await eventually("all of \(nodes.count) nodes run", within: .seconds(120)) {
            let members = await members()
            return members.count == nodes.count && members.allSatisfy(\.isRunning)
                && members.contains { $0.role == "leader" } && members.contains { $0.role == "sync_standby" }
        }
    }

    /// All members, as one of those that run knows them; empty when none answers.
    private func members() async -> [Member] {
        for node in nodes where FileManager.default.fileExists(atPath: "\(folder)/run\(node)") {
            let url = "http://127.0.0.1:\(ports[2 * node + 1])/cluster"
            guard let answer = try? await HTTPConnections.send(.GET, url, timeout: .seconds(5)),
                let told = try? JSON(parsing: String(decoding: answer.bytes, as: UTF8.self))
            else { continue }
            return (told["members"]?.arrayValue ?? []).map(Member.init)
        }
        return []
    }

    private func logTails() -> String {
        (["keeper", "etcd"] + nodes.map { "node\($0)" }).map { name in
            let text = FileManager.default.contents(atPath: "\(folder)/\(name).log") ?? Data()
            return "--- \(name)\n\(String(decoding: text.suffix(3000), as: UTF8.self))"
        }.joined(separator: "\n")
    }
}
