import ParseProtocol
import TestSupport
import Testing

/// Runs the cloud code table row by row against a running suite: the answers that the protocol and public documents
/// specify for each snippet. A row that records a deviation is a known issue, and fails once the deviation is gone.
@Suite struct CloudTableTests {
    /// The files of the table. Each has a test below.
    private static let subjects: Set = [
        "functions", "codes", "hosted", "validators", "triggers", "finds", "sessions", "files", "queries",
        "objects", "values", "users", "services", "jobs", "modules", "nested", "caller", "answers", "global", "limits",
    ]

    @Test func everyRowHasAPlaceAndASource() throws {
        let table = try CloudTable.read.get()
        let rows = table.parts.flatMap(\.rows) + table.refused
        #expect(rows.count >= 550)
        #expect(Set(table.parts.flatMap(\.rows).map(\.subject)) == Self.subjects)
        #expect(Set(rows.map { "\($0.subject) \($0.name)" }).count == rows.count, "Two rows have one name.")
        #expect(rows.filter { $0.json.text("source").isEmpty }.map(\.name) == [])
    }

    private func play(_ row: CloudTable.Row) async throws {
        let part = try #require(
            try CloudTable.read.get().parts.first { part in part.rows.contains { $0.subject == row.subject } })
        let stage = try await CloudTableStage.of(part)
        guard let differs = row.differs else { return try await stage.play(row) }
        await withKnownIssue("\(differs)") { try await stage.play(row) }
    }

    // The rows of a subject run one after the other, so that a suite gets few requests at a time.

    @Test(.serialized, arguments: CloudTable.rows("functions"))
    func functions(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("codes"))
    func errorCodes(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("hosted"))
    func hostedParsesStyle(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("validators"))
    func validators(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("triggers"))
    func triggersOfWrites(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("nested"))
    func changesOfMembers(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("answers"))
    func answersOfWrites(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("finds"))
    func triggersOfReads(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("sessions"))
    func triggersOfSessions(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("files"))
    func filesAndConfig(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("queries"))
    func queries(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("objects"))
    func objects(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("values"))
    func values(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("users"))
    func usersAndSessions(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("services"))
    func otherServices(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("jobs"))
    func jobs(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("modules"))
    func modules(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("caller"))
    func asTheCaller(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("global"))
    func masterKeyAtTheTop(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.rows("limits"))
    func limits(_ row: CloudTable.Row) async throws { try await play(row) }

    @Test(.serialized, arguments: CloudTable.refused)
    func codeThatCannotBeLoaded(_ row: CloudTable.Row) async throws {
        let part = try #require(try CloudTable.read.get().parts.first { $0.name == "global" })
        let suite = try await CloudTableStage.of(part).suite
        let failure = await #expect(throws: Command.Failed.self) {
            _ = try await suite.script("cloud", "deploy", CloudSuite.folder(files: row.files))
        }
        let said = failure?.description ?? ""
        #expect(said.contains(row.json.text("says")), "\(said)")
        let goesOn = try await ParseClient(suite).run("hello").result
        #expect(goesOn == "hello")
    }
}
