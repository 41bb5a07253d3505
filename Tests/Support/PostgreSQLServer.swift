import Foundation
import ParseProtocol

/// A real PostgreSQL server for tests: Debian's, in a temporary folder, reached by a socket in it, and by a port only
/// on a host of a `HostNetwork`. What it has is gone with it, so it does not wait for the disk.
package final class PostgreSQLServer: Sendable {
    /// The folder of its data and of its socket.
    package let folder: String
    /// Of its host; nil for this machine, where it has no port.
    private let address: String?
    private let keeper: Keeper

    /// The role that owns the databases, and one that needs `guardedPassword`.
    package static let (owner, guarded) = ("shop", "guarded")
    package static let guardedPassword = "right-4be81d"

    /// What connection strings to servers on other hosts say: one whose packets vanish is missed after five seconds,
    /// and not after 25 (`PostgreSQLTarget.defaults`).
    static let missedSoon =
        "connect_timeout=2&keepalives_idle=2&keepalives_interval=1&keepalives_count=3&tcp_user_timeout=5000"

    /// The server that tests share, each with a database of its own; started by the first that asks, stopped when the
    /// process ends.
    package static var shared: PostgreSQLServer { get async throws { try await sharedStart.value } }
    private static let sharedStart = Task { try await PostgreSQLServer.start() }

    /// Starts a server, for tests that end or stop it.
    /// - Parameter host: where it listens, for all hosts of tests; it is to end before its host. Nil for this machine.
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

    /// Runs `body` with a server of its own.
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
        // Short, because unix sockets below it have at most 107 bytes.
        folder = "/tmp/satchel-pg-\(Names.random(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let listening = host.map { [$0.namespace, $0.address, HostNetwork.addresses] } ?? []
        keeper = try Keeper(
            program: Self.program, arguments: [folder] + listening, environment: [:], output: folder + "/log")
    }

    /// A server that shall run does: the file `run` says so. It refuses to be root. One that is killed leaves a piece
    /// of shared memory, whose number is in its file.
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

    /// Ends the server and removes what it has.
    package func stop() async { await keeper.finish() }

    // MARK: - Databases

    /// The connection string of a database.
    package func connection(to database: String, as role: String = owner, password: String? = nil) -> String {
        let user = role + (password.map { ":" + $0 } ?? "")
        guard let address else { return "postgresql://\(user)@/\(database)?host=\(folder)" }
        return "postgresql://\(user)@\(address):5432/\(database)?\(Self.missedSoon)"
    }

    /// The connection string of a new database with nothing in it.
    package func newDatabase() async throws -> String {
        let name = "test_\(Names.random(10).lowercased())"
        _ = try await run("CREATE DATABASE \(name) OWNER \(Self.owner)")
        return connection(to: name)
    }

    /// Runs SQL as the superuser, past what is tested, and returns what it gives: `|` between columns, a line for a
    /// row.
    package func run(_ sql: String, database: String = "postgres") async throws -> String {
        try await Command.run(
            ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "postgres", "-d", database, "-c", sql])
    }

    // MARK: - Outages

    /// Kills the server's first process, as a power failure would; the others end by themselves.
    package func kill() async throws {
        try FileManager.default.removeItem(atPath: folder + "/run")
        let lines = try String(contentsOfFile: folder + "/data/postmaster.pid", encoding: .utf8).split(separator: "\n")
        guard let pid = lines.first.flatMap({ pid_t($0) }), Glibc.kill(pid, SIGKILL) == 0 else {
            throw Command.Failed(description: "The PostgreSQL server cannot be killed.")
        }
        try await eventually("the server has ended") { !OtherProcess(pid: pid).isAlive }
    }

    /// Starts the server again, with what it had, and waits until it takes connections.
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
