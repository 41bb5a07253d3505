import ArgumentParser
import Foundation

/// `satchel-move-in out`: writes everything of a running suite in Parse Server's forms. scripts/move-out runs it.
struct MoveOut: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "satchel-move-in out", abstract: "Writes the data of a suite in Parse Server's forms.",
        discussion: """
            The suite's address is in SATCHEL_MOVE_URL, its keys in SATCHEL_APP_ID and SATCHEL_MASTER_KEY.

            Ends with 0, with 1 when rows were left out, with 2 when the result is not whole.
            """)

    @Option(help: "mongodump:FOLDER, a new or empty folder, or postgresql:FILE.sql, a new file.")
    var to: String

    func run() async throws {
        let parts = to.split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2, ["mongodump", "postgresql"].contains(parts[0]) else {
            throw ValidationError("--to is mongodump:FOLDER or postgresql:FILE.sql.")
        }
        let suite = try SuiteClient.ofEnvironment()
        // Before anything is written.
        _ = try await suite.servedSchemas()
        let writer: any OutWriter = try parts[0] == "mongodump" ? MongoDumpWriter(parts[1]) : SQLWriter(parts[1])
        let report = try await OutRun(suite: suite, writer: writer).run()
        FileHandle.standardOutput.write(Data((report.text + "\n").utf8))
        if !report.refused.isEmpty { throw ExitCode(1) }
    }
}

extension SuiteClient {
    /// The suite that scripts/move-in and scripts/move-out name.
    static func ofEnvironment() throws -> SuiteClient {
        let variables = ProcessInfo.processInfo.environment
        guard let url = variables["SATCHEL_MOVE_URL"], let key = variables["SATCHEL_MASTER_KEY"] else {
            throw MoveInError("SATCHEL_MOVE_URL or SATCHEL_MASTER_KEY is missing: start scripts/move-in or move-out.")
        }
        return SuiteClient(url: url, applicationId: variables["SATCHEL_APP_ID"] ?? "satchel", masterKey: key)
    }
}
