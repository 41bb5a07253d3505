import ParseProtocol
import Testing

@testable import MoveIn

/// The proof of a move between an old server and a suite in memory.
@Suite struct VerifyRunTests {
    private static let time = "2020-01-02T03:04:05.600Z"
    private static let milliseconds = Timestamp(iso: time)?.milliseconds ?? 0

    private static func fields(_ number: Int) -> [String: JSON] {
        [
            "objectId": .string("i\(number)"), "rank": .int(Int64(number % 7)), "name": .string("name \(number)"),
            "brand": .pointer("Brand", "b\(number % 3)"), "updatedAt": .string(time), "isNew": .bool(number % 2 == 0),
        ]
    }

    private static func server(_ count: Int) -> MemoryServer {
        var server = MemoryServer()
        for number in 0..<count { server.add("Item", "i\(number)", fields(number), updatedAt: milliseconds) }
        server.add("_Role", "r1", ["name": "staff"])
        server.add("_User", "u1", ["username": "ann", "_hashed_password": "$2y$10$x"])
        server.add("_Join:users:_Role", "r1:u1", ["owningId": "r1", "relatedId": "u1"])
        server.add("_Join:users:_Role", "gone:u1", ["owningId": "gone", "relatedId": "u1"])
        let ended: JSON = ["__type": "Date", "iso": "2001-01-01T00:00:00.000Z"]
        server.add("_Session", "s1", ["user": .pointer("_User", "u1"), "expiresAt": ended])
        return server
    }

    /// A suite that serves all of it.
    private static func suite(_ server: MemoryServer) -> ServedDouble {
        var suite = ServedDouble()
        for (name, rows) in server.rows where !name.hasPrefix("_Join") && name != "_Session" {
            suite.objects[name] = rows.map { $0.fields.filter { !$0.key.hasPrefix("_") } }
        }
        suite.objects["_User"]?[0]["ACL"] = ["u1": ["read": true, "write": true]]
        suite.objects["_Role"]?[0]["users"] = ["__type": "Relation", "className": "_User"]
        suite.members["_Join:users:_Role"] = ["r1:u1"]
        suite.wireSchemas = ["Item", "_User", "_Role", "_Session"].map { ["className": .string($0), "fields": [:]] }
        return suite
    }

    private static func proof(
        _ server: MemoryServer, _ suite: ServedDouble, _ mapping: Mapping = Mapping()
    ) async throws -> (report: VerifyReport, classes: [String: ClassProof]) {
        let report = try await VerifyRun(source: server, suite: suite, mapping: mapping, seed: 7).run()
        return (report, Dictionary(report.classes.map { ($0.name, $0) }) { $1 })
    }

    @Test func anEqualSuiteIsProven() async throws {
        let server = Self.server(700)
        let (report, classes) = try await Self.proof(server, Self.suite(server))
        #expect(report.isProven, "\(report.text)")
        #expect(!report.isStaged)
        #expect(classes["Item"]?.equal == 700)
        #expect(classes["Item"]?.queries == SampledQueries.countMax)
        #expect(classes["_User"]?.equal == 1, "The ACL is Satchel's.")
        #expect(classes["_Join:users:_Role"].map { [$0.equal, $0.leftOut, $0.missing] } == [1, 1, 0])
        #expect(classes["_Session"]?.leftOut == 1)
        #expect(report.text.contains("seed 7"))
        #expect(report.json["isProven"] == true)
        #expect(report.json["classes"]?.arrayValue?.first { $0["className"] == "Item" }?["leftOut"] == 0)
    }

    @Test func eachKindOfDifferenceIsCounted() async throws {
        let server = Self.server(300)
        var suite = Self.suite(server)
        suite.objects["Item"]?[3]["rank"] = 99
        suite.objects["Item"]?[4]["name"] = "newer"
        suite.objects["Item"]?[4]["updatedAt"] = "2024-01-02T03:04:05.600Z"
        suite.objects["Item"]?.removeFirst()
        suite.objects["Item"]?.append(["objectId": "own1", "name": "Satchel's"])
        suite.members["_Join:users:_Role"] = ["r1:u2"]
        let (report, classes) = try await Self.proof(server, suite)
        let item = try #require(classes["Item"])
        #expect([item.there, item.here, item.equal] == [300, 300, 297])
        #expect([item.different, item.missing, item.extra, item.newer] == [1, 1, 1, 1])
        #expect(item.differences.contains { $0.objectId == "i3" && $0.field == "rank" && $0.new == "99" })
        #expect(item.differences.contains { $0.objectId == "i0" && $0.field == nil })
        #expect(item.extras.map(\.objectId) == ["own1"])
        #expect(classes["_Join:users:_Role"].map { [$0.missing, $0.extra] } == [1, 1])
        #expect(!report.isProven)
        #expect(report.text.contains("Item i3 rank: there 3, here 99"), "\(report.text)")
    }

    @Test func objectsThatAreNewHereProveNothingAgainstTheMove() async throws {
        let server = Self.server(20)
        var suite = Self.suite(server)
        suite.objects["Item"]?.append(["objectId": "own1", "rank": 1, "name": "Satchel's"])
        let (report, classes) = try await Self.proof(server, suite)
        #expect(classes["Item"]?.extra == 1)
        #expect(report.isProven, "\(report.text)")
    }

    @Test func stagedRowsAreComparedByTheTextThatARunSends() async throws {
        let server = Self.server(30)
        var suite = ServedDouble()
        let mapping = try Mapping(json: ["classes": ["Item": "OldItem"]])
        for (name, rows) in server.rows {
            for row in rows where row.objectId != "gone:u1" {
                guard let mapped = mapping.row(row), let line = RowLine(mapped) else { continue }
                suite.stagedRows[mapping.className(name) ?? "", default: [:]][row.objectId] = line.checksum
            }
        }
        #expect(try await Self.proof(server, suite, mapping).report.isProven)
        suite.stagedRows["OldItem"]?["i1"] = 5
        suite.stagedRows["OldItem"]?["i2"] = nil
        suite.stagedRows["OldItem"]?["old"] = 5
        let (report, classes) = try await Self.proof(server, suite, mapping)
        #expect(report.isStaged && !report.isProven)
        #expect(classes["OldItem"].map { [$0.different, $0.missing, $0.extra, $0.equal] } == [1, 1, 1, 28])
    }

    @Test func refusedRowsAndStagedClassesOfNoPlanProveNothing() async throws {
        var server = MemoryServer()
        server.add("Item", "i1")
        var suite = ServedDouble()
        let line = try #require(RowLine(MovedRow("Item", "i1")))
        suite.stagedRows["Item"] = ["i1": line.checksum]
        #expect(try await Self.proof(server, suite).report.isProven)

        let place = SourcePlace(file: "Item.bson", offset: 12)
        var damaged = server
        damaged.refused = [RefusedRow(className: "Item", objectId: nil, place: place, reason: "It is cut off.")]
        damaged.add("Item", "bad id")
        damaged.add("Item", "i2", ["text": .string(String(repeating: "x", count: RowLine.textBytesMax))])
        let (report, classes) = try await Self.proof(damaged, suite)
        #expect(!report.isProven)
        #expect(classes["Item"].map { [$0.there, $0.equal, $0.leftOut, $0.refused] } == [4, 1, 0, 3])
        #expect(report.json["classes"]?.arrayValue?.first?["refused"] == 3)

        // Staged before the class was skipped.
        suite.stagedRows["Log"] = ["l1": 5, "l2": 6]
        let (other, others) = try await Self.proof(server, suite)
        #expect(!other.isProven)
        #expect(others["Log"].map { [$0.there, $0.here, $0.extra] } == [0, 2, 2])
    }

    /// An old server that sorts in another way than by the bytes of texts.
    private struct Queried: QueriedServer {
        let rows: MemoryServer
        var name: String { rows.name }

        func classes() async throws -> [MovedClass] { try await rows.classes() }

        func read(_ className: String, since: Int64?, into sink: any RowSink) async throws {
            try await rows.read(className, since: since, into: sink)
        }

        func answer(_ className: String, _ query: SampledQuery) async throws -> QueryAnswer? {
            className == "Item" ? QueryAnswer(count: 1, ids: ["other"]) : nil
        }
    }

    @Test func anOldServerThatAnswersQueriesIsAsked() async throws {
        let server = Self.server(40), suite = Self.suite(server)
        let report = try await VerifyRun(
            source: Queried(rows: server), suite: suite, mapping: Mapping(), seed: 7
        ).run()
        let proofs = Dictionary(report.classes.map { ($0.name, $0) }) { $1 }
        #expect(proofs["Item"]?.failedQueries.count == SampledQueries.countMax)
        #expect(proofs["_User"]?.failedQueries == [], "The old server refuses the query.")
        #expect(!report.isProven)
    }

    /// A run gives files other names: the proof compares with these.
    @Test func filesCompareByTheNamesThatARunGivesThem() async throws {
        var server = MemoryServer()
        server.add("Item", "a1", ["picture": ["__type": "File", "name": "old.png", "url": "https://old.example/a"]])
        var suite = ServedDouble()
        suite.wireSchemas = [["className": "Item", "fields": [:]]]
        suite.objects["Item"] = [["objectId": "a1", "picture": ["__type": "File", "name": "new.png"]]]
        let run = VerifyRun(source: server, suite: suite, mapping: Mapping(), seed: 1)
        let report = try await run.run()
        #expect(report.classes.first?.differences.map(\.field) == ["picture"])
        var renaming = run
        renaming.withFiles = { rows in
            rows.map { row in
                var row = row
                row.fields["picture"]?["name"] = "new.png"
                return row
            }
        }
        #expect(try await renaming.run().isProven)

        let lacking = LackingFiles()
        let files = StoredFiles(suite: NoFiles())
        await #expect(throws: ShelfProblem.self) {
            try await files.store(ShelvedFile(content: [1], contentType: nil), as: "a.png", checksum: "x")
        }
        let place = SourcePlace(file: "Item.json", offset: nil)
        for _ in 0..<20 {
            await lacking.add(RefusedRow(className: "Item", objectId: "a1", place: place, reason: "It is gone."))
        }
        #expect(await lacking.count == 20)
        #expect(await lacking.examples.count == 10)
        var unproven = report
        (unproven.classes, unproven.lackingFiles) = ([], 1)
        #expect(!unproven.isProven)
    }

    private struct NoFiles: FileSuite {
        func checksum(of name: String) async throws -> String? { nil }
        func store(_ file: ShelvedFile, as name: String, checksum: String) async throws {}
    }

    @Test func aSeedRepeatsItsQueries() {
        func queries(_ seed: UInt64) -> [String] {
            var sampled = SampledQueries(seed: seed)
            for number in 0..<600 {
                let row = MovedRow("Item", "i\(number)", Self.fields(number))
                sampled.take(row, Canonical.fields(row.fields, of: "Item"))
            }
            sampled.finish()
            return sampled.queries.map { "\($0.text("Item")): \($0.expected.text)" }
        }
        #expect(queries(1) == queries(1))
        #expect(queries(1) != queries(2))
        #expect(queries(1).count == SampledQueries.countMax)
    }

    @Test func queriesKnowTheirAnswers() {
        var equal = SampledQuery(field: "rank", kind: .equal(2))
        var ordered = SampledQuery(field: "rank", kind: .ordered(isDescending: true))
        for number in 0..<50 {
            let row = MovedRow("Item", "i\(number + 10)", Self.fields(number))
            equal.take(row, Canonical.fields(row.fields, of: "Item"))
            ordered.take(row, Canonical.fields(row.fields, of: "Item"))
        }
        #expect(equal.count == 7)
        let ids = ordered.expected.ids
        #expect(ids.count == SampledQuery.limit)
        #expect(ids.prefix(8) == ["i16", "i23", "i30", "i37", "i44", "i51", "i58", "i15"])
        #expect(ordered.order == "-rank,objectId")
        #expect(equal.condition == ["rank": 2])
        let null = MovedRow("Item", "n", ["rank": .null])
        equal.take(null, Canonical.fields(null.fields, of: "Item"))
        #expect(equal.isUndecided)
    }
}
