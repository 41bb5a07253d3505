import Foundation
import ParseProtocol

/// A real PostgreSQL server for tests, from Debian's packages, in a temporary folder. Clients connect through a socket
/// in that folder; only a server on a host of a `HostNetwork` has a port. The data is temporary, so the server runs
/// without fsync.
package final class PostgreSQLServer: Sendable {
    /// The folder of its data and its socket.
    package let folder: String
    /// The address of its host; nil for this machine, where it has no port.
    private let address: String?
    private let keeper: Keeper

    /// The role that owns the databases, and a role that requires `guardedPassword`.
    package static let (owner, guarded) = ("shop", "guarded")
    package static let guardedPassword = "right-4be81d"

    /// Connection string options for servers on other hosts: a lost connection is detected after five seconds instead
    /// of 25 (`PostgreSQLTarget.defaults`).
    static let missedSoon =
        "connect_timeout=2&keepalives_idle=2&keepalives_interval=1&keepalives_count=3&tcp_user_timeout=5000"

    /// The server that tests share, each with its own database. The first test that needs it starts it; it stops when
    /// the process ends.
    package static var shared: PostgreSQLServer { get async throws { try await sharedStart.value } }
    private static let sharedStart = Task { try await PostgreSQLServer.start() }

    /// Starts a server, for tests that stop or kill it.
    /// - Parameter host: the host on which it listens, for all test hosts; the server must end before its host. Nil for
    ///   this machine.
    package static func start(on host: HostNetwork.Host? = nil) async throws -> PostgreSQLServer {
        let server = try PostgreSQLServer(on: host)
        do {
            try await server.resume()
            _ = try await server.run(
                """
                CREATE ROLE \(owner) LOGIN;
                CREATE ROLE \(guarded) LOGIN PASSWORD '\(guardedPassword)';
                """)
        } catch {
            await server.stop()
            throw error
        }
        return server
    }

    /// Runs `body` with its own server.
    package static func with(
        on host: HostNetwork.Host? = nil, _ body: (PostgreSQLServer) async throws -> Void
    ) async throws {
        let server = try await start(on: host)
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private init(on host: HostNetwork.Host?) throws {
        address = host?.address
        // Short, because paths of unix sockets have at most 107 bytes.
        folder = "/tmp/satchel-pg-\(Names.random(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let listening = host.map { [$0.namespace, $0.address, HostNetwork.addresses] } ?? []
        keeper = try Keeper(
            program: Self.program, arguments: [folder] + listening, environment: [:], output: folder + "/log")
    }

    /// Runs the server while the file `run` exists. PostgreSQL refuses to run as root. A killed server leaves a shared
    /// memory segment, whose number is in its file.
    private static let program = """
        folder=$1 namespace=${2-} address=${3-} network=${4-} as=() within=()
        [[ -z $namespace ]] || within=(ip netns exec "$namespace")
        if ((EUID == 0)); then
            chown postgres: "$folder"
            as=(setpriv --reuid postgres --regid postgres --init-groups --)
        fi
        bin=$(printf '%s\\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
        cd "$folder"
        end() { rm -rf -- "$folder"; exit; }
        "${as[@]}" "$bin/initdb" -D "$folder/data" --locale=C --encoding=UTF8 --username=postgres --auth=trust \
            --no-sync --no-instructions || { read -r _; end; }
        printf '%s\\n' 'local all guarded scram-sha-256' 'local all all trust' >"$folder/data/pg_hba.conf"
        [[ -z $network ]] || echo "host all all $network trust" >>"$folder/data/pg_hba.conf"
        begin() {
            "${within[@]}" "${as[@]}" "$bin/postgres" -D "$folder/data" -k "$folder" \
                -c listen_addresses="$address" -c fsync=off \
                -c full_page_writes=off -c shared_buffers=32MB -c max_connections=400 </dev/null &
            pid=$!
        }
        pid=
        while read -r -t 0.1 _; (($? > 128)); do
            [[ ! -e $folder/run ]] || kill -0 $pid 2>/dev/null || begin
        done
        kill -QUIT $pid 2>/dev/null
        wait
        memory=$(sed -n 7p "$folder/data/postmaster.pid" 2>/dev/null | awk '{ print $2 }')
        [[ -z $memory ]] || ipcrm -m "$memory"
        end
        """

    /// Stops the server and removes its data.
    package func stop() async { await keeper.finish() }

    // MARK: - Databases

    /// The connection string of a database.
    package func connection(to database: String, as role: String = owner, password: String? = nil) -> String {
        let user = role + (password.map { ":" + $0 } ?? "")
        guard let address else { return "postgresql://\(user)@/\(database)?host=\(folder)" }
        return "postgresql://\(user)@\(address):5432/\(database)?\(Self.missedSoon)"
    }

    /// Creates an empty database and returns its connection string.
    package func newDatabase() async throws -> String {
        let name = "test_\(Names.random(10).lowercased())"
        _ = try await run("CREATE DATABASE \(name) OWNER \(Self.owner)")
        return connection(to: name)
    }

    /// Runs SQL as the superuser, bypassing the tested code. Returns the rows, one per line, with `|` between columns.
    package func run(_ sql: String, database: String = "postgres") async throws -> String {
        try await Command.run(
            ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "postgres", "-d", database, "-c", sql])
    }

    // MARK: - Outages

    /// Kills the server's main process, like a power failure; the other processes then end.
    package func kill() async throws {
        try FileManager.default.removeItem(atPath: folder + "/run")
        let lines = try String(contentsOfFile: folder + "/data/postmaster.pid", encoding: .utf8).split(separator: "\n")
        guard let pid = lines.first.flatMap({ pid_t($0) }), Glibc.kill(pid, SIGKILL) == 0 else {
            throw Command.Failed(description: "The PostgreSQL server cannot be killed.")
        }
        try await eventually("the server has ended") { !OtherProcess(pid: pid).isAlive }
    }

    /// Starts the server again with its existing data and waits until it accepts connections.
    package func resume() async throws {
        try Data().write(to: URL(fileURLWithPath: folder + "/run"))
        do {
            try await eventually("PostgreSQL takes connections", within: .seconds(60)) {
                (try? await Command.run(["pg_isready", "-q", "-h", folder])) != nil
            }
        } catch {
            let log = FileManager.default.contents(atPath: folder + "/log") ?? Data()
            throw Command.Failed(description: "\(error)\n\(String(decoding: log.suffix(4000), as: UTF8.self))")
        }
    }
}
