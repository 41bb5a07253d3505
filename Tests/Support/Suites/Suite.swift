import Foundation
import ParseProtocol

/// A real suite of processes with its own data directory and port, started by scripts/up.
package final class Suite: Sendable {
    /// The gateway's URL with the mount path.
    package let url: String
    package let dataDirectory: String
    /// The URL of one gateway of several, bypassing the balancer.
    package func url(ofGateway number: Int) -> String {
        "unix:\(dataDirectory)/sockets/gw-\(number):/parse"
    }
    /// The gateway's URL without a path.
    package var origin: String { url.replacing("/parse", with: "") }
    package static let masterKey = "test-master"

    private let environment: [String: String]
    /// The connection string of the PostgreSQL database that stores all data of its services; nil for files.
    private var database: String? { environment["SATCHEL_DATABASE"].flatMap { $0.isEmpty ? nil : $0 } }
    /// Nil for a suite that another owner stops.
    private let keeper: Keeper?
    /// Reserved while the suite exists; nil for a suite that another owner starts.
    private let port: ReservedPort?

    /// The suite that most scenarios share. The first scenario that needs it starts it; it stops when the process ends.
    package static var shared: Suite { get async throws { try await sharedStart.value } }
    private static let sharedStart = Task {
        // Hundreds of tests create their own classes from one address.
        try await Suite.start(settings: ["SATCHEL_QUOTAS": "classes=off;fields=off"])
    }

    /// A view of another suite: its processes at a URL as clients see them, and its data.
    /// - Parameter database: the connection string of the PostgreSQL database that stores all data; nil for files.
    init(at url: String, dataDirectory: String, database: String? = nil) throws {
        self.url = url
        self.dataDirectory = dataDirectory
        environment = database.map { ["SATCHEL_DATABASE": $0] } ?? [:]
        keeper = nil
        port = nil
    }

    private init(port: ReservedPort, dataDirectory: String, settings: [String: String]) throws {
        url = "http://127.0.0.1:\(port.number)/parse"
        self.port = port
        self.dataDirectory = dataDirectory
        environment = [
            "SATCHEL_DATA": dataDirectory, "SATCHEL_PORT": "\(port.number)", "SATCHEL_MASTER_KEY": Suite.masterKey,
            "SATCHEL_PASSWORD_WORK": "1",
            // All customers of the tests share one address.
            "SATCHEL_SIGNUP_MAILS_PER_ADDRESS": "1000000", "SATCHEL_MAILS_PER_NETWORK": "0",
            // A port where nothing listens: tests reach no other host.
            "SATCHEL_APPLE_RECEIPT_URL": "http://127.0.0.1:1/",
            "SATCHEL_APPLE_SANDBOX_RECEIPT_URL": "http://127.0.0.1:1/",
        ].merging(settings) { _, setting in setting }
        keeper = try Keeper(program: Self.cleanUp, arguments: [checkoutDirectory], environment: environment)
    }

    /// Kills the processes, because the data is discarded; other tests check the orderly stop. Kills the manager first,
    /// which would restart the others.
    private static let cleanUp = """
        read -r _
        if read -r pid <"$SATCHEL_DATA/supervisord.pid" &&
            grep -qzxF -- "$SATCHEL_DATA/supervisord.conf" "/proc/$pid/cmdline"; then
            kill -STOP "$pid"
            pkill -KILL -P "$pid"
            kill -KILL "$pid"
        else
            "$1/scripts/down"
        fi >/dev/null 2>&1
        rm -rf -- "$SATCHEL_DATA"
        """

    /// Starts a suite that contains only an admin, and waits until it is healthy.
    /// - Parameters:
    ///   - scale: replicas as scripts/up takes them, `catalog=2,bag=2`. With `gateway=2` there are two gateways behind
    ///     a balancer, whose address is the suite's.
    ///   - settings: further `SATCHEL_*` variables.
    ///   - data: a folder with the initial files, which are copied.
    package static func start(
        scale: String? = nil, settings: [String: String] = [:], data: String? = nil
    ) async throws -> Suite {
        // Short, because paths of unix sockets have at most 107 bytes.
        let dataDirectory = "/tmp/satchel-\(Names.random(8))"
        var settings = settings
        // The initial files are SQLite databases.
        if data == nil, settings["SATCHEL_DATABASE"] == nil, let server = testServer {
            settings["SATCHEL_DATABASE"] = try await makeDatabase(at: server)
        }
        if let data { try FileManager.default.copyItem(atPath: data, toPath: dataDirectory) }
        let suite = try Suite(port: try ReservedPort(), dataDirectory: dataDirectory, settings: settings)
        do {
            // Many suites start at the same time.
            let options = ["--no-build", "--no-demo", "--wait", "180"] + (scale.map { ["--scale", $0] } ?? [])
            _ = try await Command.run(
                ["\(checkoutDirectory)/scripts/up"] + options, environment: suite.environment)
        } catch {
            let logs = suite.logTails()
            await suite.stop()
            throw Command.Failed(description: "\(error)\n\(logs)")
        }
        return suite
    }

    /// The database server of all suites that name no database; `scripts/test --database postgresql` starts it. Nil for
    /// files.
    private static let testServer = ProcessInfo.processInfo.environment["SATCHEL_TEST_DATABASE"]

    /// Settings of a suite that stores its data in files in every test run. For features of files only, such as the
    /// read cache and backups.
    package static let inFiles = ["SATCHEL_DATABASE": ""]

    /// Settings of a suite without the watchdog, so that a stopped process remains stopped.
    package static let withoutWatchdog = ["SATCHEL_WATCHDOG": "off"]

    /// Whether suites store their data in files by default.
    package static var keepsFiles: Bool { testServer == nil }

    /// - Returns: the connection string of a new database.
    private static func makeDatabase(at server: String) async throws -> String {
        let name = "suite_\(Names.random(10).lowercased())"
        _ = try await Command.run(
            ["psql", server, "-XqAtc", "CREATE DATABASE \(name) TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"])
        return server.replacing("/postgres?", with: "/\(name)?")
    }

    /// Stops every process and removes the data.
    package func stop() async {
        let problems = logTails(lines: 20) { $0.contains(" error ") || $0.contains(" critical ") }
        if !problems.isEmpty { FileHandle.standardError.write(Data("Errors in the suite's logs:\n\(problems)\n".utf8)) }
        await keeper?.finish()
    }

    /// Runs `body` with its own suite.
    package static func with(
        scale: String? = nil, settings: [String: String] = [:], data: String? = nil,
        _ body: (Suite) async throws -> Void
    ) async throws {
        let suite = try await start(scale: scale, settings: settings, data: data)
        do {
            try await body(suite)
        } catch {
            await suite.stop()
            throw error
        }
        await suite.stop()
    }

    /// Stops every process with scripts/down. The data remains until `stop`.
    package func down() async throws {
        _ = try await Command.run(["\(checkoutDirectory)/scripts/down"], environment: environment)
    }

    /// Runs a command with the suite's settings and returns its output.
    /// - Throws: `Command.Failed` with the output when the status is not 0.
    package func command(_ arguments: [String]) async throws -> String {
        try await Command.run(arguments, environment: environment)
    }

    /// Runs one of the scripts, such as `backup`, as `command` does.
    package func script(_ name: String, _ arguments: String...) async throws -> String {
        try await command(["\(checkoutDirectory)/scripts/\(name)"] + arguments)
    }

    // MARK: - Processes

    /// The process manager, which restarts processes that end.
    package var managerId: pid_t? {
        FileManager.default.contents(atPath: dataDirectory + "/supervisord.pid")
            .flatMap { pid_t(String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)) }
    }

    /// The process of a replica such as `catalog-2`; nil when it does not run.
    package func processId(of replica: String) -> pid_t? {
        let wanted = ["SATCHEL_DATA=\(dataDirectory)", "SATCHEL_REPLICA=\(replica)"]
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.lazy.compactMap(pid_t.init).first { pid in
            guard let bytes = FileManager.default.contents(atPath: "/proc/\(pid)/environ") else { return false }
            let variables = Set(bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) })
            return wanted.allSatisfy(variables.contains)
        }
    }

    /// Kills a replica with SIGKILL and waits until the process manager restarted it.
    package func kill(_ replica: String) async throws { try await end(replica, by: SIGKILL) }

    /// Stops a replica with SIGTERM, as a supervisor does, and waits until the process manager restarted it.
    package func restart(_ replica: String) async throws { try await end(replica, by: SIGTERM) }

    private func end(_ replica: String, by signal: Int32) async throws {
        guard let pid = processId(of: replica) else { throw Command.Failed(description: "\(replica) does not run.") }
        guard Glibc.kill(pid, signal) == 0 else { throw Command.Failed(description: "\(replica) cannot be ended.") }
        try await eventually("\(replica) is started again", within: .seconds(30)) {
            processId(of: replica).map { $0 != pid } ?? false
        }
    }

    /// Waits until /health reports every service with a writer and the given number of replicas.
    package func untilHealthy(replicas: [String: Int] = [:]) async throws {
        try await eventually("the suite is healthy", within: .seconds(30)) {
            guard let health = try? await ParseClient(self).call(.GET, "/health"), health["status"] == "ok" else {
                return false
            }
            return replicas.allSatisfy { service, count in
                health.json.at("services", .member(service), "replicas")?.intValue == Int64(count)
            }
        }
    }

    // MARK: - Files and databases

    /// The rows of a read-only query of a service's database. Uses Python's sqlite3 module, so that tests link no
    /// database.
    package func rows(_ service: String, _ sql: String) async throws -> [JSON] {
        if let database {
            let rows = "SELECT coalesce(json_agg((SELECT json_agg(value) FROM json_each(to_json(r)))), '[]')"
            let text = try await Command.run(
                ["psql", database, "-XqAtc", "SET search_path = satchel_\(service)", "-c", "\(rows) FROM (\(sql)) r"])
            return try JSON(parsing: text).arrayValue ?? []
        }
        let program = """
            import json, sqlite3, sys
            base = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, timeout=10)
            print(json.dumps(base.execute(sys.argv[2]).fetchall()))
            """
        let text = try await Command.run(
            ["python3", "-c", program, "\(dataDirectory)/\(service).sqlite", sql])
        return try JSON(parsing: text).arrayValue ?? []
    }

    /// Changes a service's database directly, bypassing the service, like a third-party program.
    package func tamper(_ service: String, _ sql: String) async throws {
        if let database {
            _ = try await Command.run(
                [
                    "psql", database, "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", "SET search_path = satchel_\(service)",
                    "-c", sql,
                ])
            return
        }
        let program = """
            import sqlite3, sys
            with sqlite3.connect(sys.argv[1], timeout=10) as base: base.execute(sys.argv[2])
            """
        _ = try await Command.run(["python3", "-c", program, "\(dataDirectory)/\(service).sqlite", sql])
    }

    /// The mails in the spool.
    package func mails() -> [Mail] {
        let folder = dataDirectory + "/mail"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".eml") }.compactMap {
            FileManager.default.contents(atPath: "\(folder)/\($0)")
        }
        .map { Mail(bytes: Array($0)) }
    }

    /// The first admin's password, generated by scripts/up.
    package func adminPassword() throws -> String {
        try String(contentsOfFile: "\(dataDirectory)/admin.password", encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The last lines of every log that pass the filter.
    package func logTails(lines: Int = 30, where isWanted: (Substring) -> Bool = { _ in true }) -> String {
        let folder = dataDirectory + "/logs"
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
        return names.compactMap { name in
            let text = String(
                decoding: FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data(), as: UTF8.self)
            let tail = text.split(separator: "\n").filter(isWanted).suffix(lines)
            return tail.isEmpty ? nil : "--- \(name)\n\(tail.joined(separator: "\n"))"
        }.joined(separator: "\n")
    }
}
