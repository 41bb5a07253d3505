import Foundation
import ParseProtocol

/// Hosts of a test's own: network namespaces and the network between them, which a program carries frame by frame
/// (`hosts.py`, which says what it takes). They go, with all that runs in them, when this process ends in any way.
package final class HostNetwork: Sendable {
    /// One of the hosts.
    package struct Host: Sendable {
        /// The namespace, for `ip netns exec`.
        let namespace: String
        /// Reached from every other host, and from this machine.
        package let address: String
    }

    /// The network that has the addresses of all hosts, also of other tests.
    static let addresses = "198.18.0.0/15"

    /// By name.
    package let hosts: [String: Host]
    /// A folder for the hosts' disks, removed with the hosts.
    let folder: String
    private let keeper: Keeper

    private static let program = checkoutDirectory + "/Tests/Support/Hosts/hosts.py"

    /// Its output is read before the folder goes, so a network that does not come waits to be told.
    private static let keeping = """
        python3 -B "$1" run "$2/network" $3 || read -r _
        rm -rf -- "$2"
        """

    /// - Parameter names: of the hosts, one to four lower-case letters each.
    /// - Throws: `Command.Failed` where no namespaces can be made.
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

    /// Runs `body` with hosts of its own.
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

    /// Ends all that runs in the hosts and removes them.
    package func stop() async { await keeper.finish() }

    /// The host of a name.
    /// - Throws: `Command.Failed` when there is none.
    package func host(_ name: String) throws -> Host {
        guard let host = hosts[name] else { throw Command.Failed(description: "There is no host \(name).") }
        return host
    }

    // MARK: Breaks

    /// Drops all frames from and to a host from now on. No connection is closed, nobody is told.
    package func cut(_ hosts: String...) async throws { for host in hosts { try await tell("cut", host) } }

    /// Carries frames from and to a host again.
    package func mend(_ hosts: String...) async throws { for host in hosts { try await tell("mend", host) } }

    /// Delays each frame from a host and each to it by so many milliseconds, more or less by `jitter`.
    package func delay(_ host: String, milliseconds: Int, jitter: Int = 0) async throws {
        try await tell("delay", host, "\(milliseconds)", "\(jitter)")
    }

    /// Loses so many percent of the frames from a host, and as many of those to it.
    package func lose(_ host: String, percent: Int) async throws { try await tell("lose", host, "\(percent)") }

    /// Makes the network as it was at first.
    package func heal() async throws { try await tell("heal") }

    private func tell(_ words: String...) async throws { _ = try await Self.tell(folder, words) }

    private static func tell(_ folder: String, _ words: [String]) async throws -> String {
        try await Command.run(["python3", "-B", program, "tell", folder + "/network"] + words)
    }
}
