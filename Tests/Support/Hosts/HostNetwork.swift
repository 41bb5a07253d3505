import Foundation
import ParseProtocol

/// The hosts of one test: network namespaces, and a program that forwards each frame between them (`hosts.py` lists its
/// commands). When this process ends in any way, the hosts and their processes end too.
package final class HostNetwork: Sendable {
    /// One of the hosts.
    package struct Host: Sendable {
        /// The namespace's name, for `ip netns exec`.
        let namespace: String
        /// Reachable from every other host and from this machine.
        package let address: String
    }

    /// The network that contains the addresses of all hosts of all tests.
    static let addresses = "198.18.0.0/15"

    /// By name.
    package let hosts: [String: Host]
    /// A folder for the hosts' disks, removed with the hosts.
    let folder: String
    private let keeper: Keeper

    private static let program = checkoutDirectory + "/Tests/Support/Hosts/hosts.py"

    /// The output is read before the folder is removed, so a network that fails to start waits for the order to clean
    /// up.
    private static let keeping = """
        python3 -B "$1" run "$2/network" $3 || read -r _
        rm -rf -- "$2"
        """

    /// - Parameter names: names of the hosts, one to four lower-case letters each.
    /// - Throws: `Command.Failed` if namespaces cannot be created.
    package static func start(_ names: [String]) async throws -> HostNetwork {
        // Short, because unix sockets below it have at most 107 bytes.
        let folder = "/tmp/satchel-hosts-\(Names.random(8))"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let log = folder + "/network.log"
        let keeper = try Keeper(
            program: keeping, arguments: [program, folder, names.joined(separator: " ")], environment: [:], output: log)
        do {
            try await eventually("the network of \(names) is there", within: .seconds(30)) {
                let text = FileManager.default.contents(atPath: log).map { String(decoding: $0, as: UTF8.self) } ?? ""
                guard text.isEmpty else { throw Command.Failed(description: text) }
                return FileManager.default.fileExists(atPath: folder + "/network")
            }
            let told = try await tell(folder, ["hosts"])
            let hosts = told.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            return HostNetwork(
                hosts: Dictionary(uniqueKeysWithValues: hosts.map { ($0[0], Host(namespace: $0[1], address: $0[2])) }),
                folder: folder, keeper: keeper)
        } catch {
            await keeper.finish()
            throw error
        }
    }

    /// Runs `body` with its own hosts.
    package static func with(_ names: [String], _ body: (HostNetwork) async throws -> Void) async throws {
        let network = try await start(names)
        do {
            try await body(network)
        } catch {
            await network.stop()
            throw error
        }
        await network.stop()
    }

    private init(hosts: [String: Host], folder: String, keeper: Keeper) {
        self.hosts = hosts
        self.folder = folder
        self.keeper = keeper
    }

    /// Ends all processes in the hosts and removes the hosts.
    package func stop() async { await keeper.finish() }

    /// The host with a name.
    /// - Throws: `Command.Failed` when there is none.
    package func host(_ name: String) throws -> Host {
        guard let host = hosts[name] else { throw Command.Failed(description: "There is no host \(name).") }
        return host
    }

    // MARK: Faults

    /// Drops all frames from and to a host from now on. No connection is closed and no process is notified.
    package func cut(_ hosts: String...) async throws { for host in hosts { try await tell("cut", host) } }

    /// Forwards frames from and to a host again.
    package func mend(_ hosts: String...) async throws { for host in hosts { try await tell("mend", host) } }

    /// Delays each frame from and to a host by `milliseconds`, plus or minus `jitter`.
    package func delay(_ host: String, milliseconds: Int, jitter: Int = 0) async throws {
        try await tell("delay", host, "\(milliseconds)", "\(jitter)")
    }

    /// Drops `percent` of the frames from a host, and of the frames to it.
    package func lose(_ host: String, percent: Int) async throws { try await tell("lose", host, "\(percent)") }

    /// Restores the initial network without faults.
    package func heal() async throws { try await tell("heal") }

    private func tell(_ words: String...) async throws { _ = try await Self.tell(folder, words) }

    private static func tell(_ folder: String, _ words: [String]) async throws -> String {
        try await Command.run(["python3", "-B", program, "tell", folder + "/network"] + words)
    }
}
