import Foundation

/// The database and the files of a real Parse Server (Tests/MoveInTests/Fixtures), and the program's calls that move
/// them into a running suite.
package struct FixtureMove: Sendable {
    /// Holds the dump, the files, the map, and the list of refused rows.
    package let folder: String
    private let suite: Suite

    private static let program = "\(checkoutDirectory)/.build/release/satchel-move-in"
    private static let fixture = "\(checkoutDirectory)/Tests/MoveInTests/Fixtures/parse-server-8.2.2"

    /// Rounds 19.995, which cannot be paid.
    package var map: String { "\(folder)/map.json" }
    private var dump: String { "\(folder)/parse.sql" }

    package init(_ suite: Suite) async throws {
        self.suite = suite
        folder = "\(suite.dataDirectory)/old"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        _ = try await Command.run(
            ["tar", "-xzf", "\(Self.fixture)/files.tar.gz", "-C", folder, "--strip-components", "1"])
        // The fixture's sessions end in 2027.
        let unpack = #"gzip -dc "$1" | sed s/2027-11-27/2999-11-27/g >"$2""#
        _ = try await Command.run(["sh", "-c", unpack, "sh", "\(Self.fixture)/parse.sql.gz", dump])
        try Data(#"{"decimals": {"Product.unitPrice": 2}}"#.utf8).write(to: URL(fileURLWithPath: map))
    }

    /// Runs a step with the source and its files.
    /// - Throws: `Command.Failed` with the output when the status is not 0.
    @discardableResult
    package func run(_ options: String...) async throws -> String {
        try await start([dump, "--files", folder] + options)
    }

    /// Stages everything but the old role `admins`, which would have rights on the desk.
    /// - Returns: the report.
    package func stage() async throws -> String {
        let report: String
        do {
            report = try await run("--map", map)
        } catch let refused as Command.Failed {
            return refused.description
        }
        throw Command.Failed(description: "No row was refused:\n\(report)")
    }

    /// Stages and switches.
    package func moveIn() async throws {
        _ = try await stage()
        try await run("--switch", "--map", map)
    }

    /// - Parameter place: `mongodump:FOLDER` or `postgresql:FILE.sql`.
    package func moveOut(to place: String) async throws { _ = try await start(["out", "--to", place]) }

    private func start(_ arguments: [String]) async throws -> String {
        try await Command.run(
            ["env", "-C", folder, Self.program] + arguments,
            environment: [
                "SATCHEL_MOVE_URL": suite.url, "SATCHEL_MASTER_KEY": Suite.masterKey, "SATCHEL_APP_ID": "satchel",
            ])
    }
}
