import ParseProtocol
import Testing

@testable import MoveIn

/// Runs between an old server and a suite in memory.
@Suite struct MoveRunTests {
    private static func server(_ count: Int) -> MemoryServer {
        var server = MemoryServer()
        for number in 0..<count { server.add("Item", "i\(number)", ["rank": .int(Int64(number))]) }
        server.add("_Role", "r1", ["name": "staff"])
        server.add("_User", "u1", ["username": "ann"])
        server.add("_Join:users:_Role", "r1:u1", ["owningId": "r1", "relatedId": "u1"])
        server.add("_GlobalConfig", "1", ["params": ["a": 1]])
        server.add("_Idempotency", "x")
        return server
    }

    private static func run(
        _ server: MemoryServer, _ suite: MemorySuite, _ mapping: Mapping = Mapping(),
        _ refusals: MemoryRefusals = MemoryRefusals(), dropsClasses: Bool = false
    ) async throws -> [String: ClassResult] {
        let results = try await MoveRun(
            source: server, suite: suite, mapping: mapping, refusals: refusals, dropsClasses: dropsClasses
        ).run()
        return Dictionary(results.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    @Test func aSecondRunSendsOnlyWhatChanged() async throws {
        let suite = MemorySuite()
        var server = Self.server(250)
        let first = try await Self.run(server, suite)
        #expect(first["Item"]?.moved == 250)
        #expect(Set(first.keys) == ["Item", "_Role", "_User", "_Join:users:_Role"])
        #expect(await suite.stagedSchemas.map(\.name) == ["_User", "Item", "_Role"])

        await suite.forget()
        let again = try await Self.run(server, suite)
        #expect(again["Item"]?.unchanged == 250)
        #expect(await suite.requests.isEmpty)

        server.rows["Item"]?[7].fields["rank"] = -1
        server.rows["Item"]?.removeFirst(2)
        server.rows["Item"]?.append(MovedRow("Item", "new"))
        let third = try await Self.run(server, suite)["Item"]
        #expect(third?.moved == 2)
        #expect(third?.removed == 2)
        #expect(await suite.rows["Item"]?.count == 249)
        #expect(await suite.requests == ["rows Item 2", "removals Item 2"])
    }

    @Test func aRunThatBreaksOffIsContinuedAndRemovesNothing() async throws {
        let suite = MemorySuite()
        _ = try await Self.run(Self.server(250), suite)
        var broken = Self.server(250)
        broken.rows["Item"]?.removeFirst(3)
        broken.brokenClass = "Item"
        let unreadable = broken
        await #expect(throws: MoveInError.self) { try await Self.run(unreadable, suite) }
        #expect(await suite.rows["Item"]?.count == 250)
        broken.brokenClass = nil
        #expect(try await Self.run(broken, suite)["Item"]?.removed == 3)
    }

    @Test func aClassThatIsSkippedLaterIsTakenBack() async throws {
        let suite = MemorySuite()
        _ = try await Self.run(Self.server(40), suite)
        await suite.stageWithoutRows("_PushStatus")
        let mapping = try Mapping(json: ["classes": ["Item": "Thing"]])
        let results = try await Self.run(Self.server(40), suite, mapping)
        #expect(results["Item"]?.removed == 40)
        #expect(results["Thing"]?.moved == 40)
        #expect(await suite.rows["Item"] == nil)
        // The switch applies each staged schema.
        #expect(await Set(suite.stagedSchemas.map(\.name)) == ["Thing", "_Role", "_User"])
    }

    @Test func aSourceThatLacksAClassRemovesNothing() async throws {
        let suite = MemorySuite()
        _ = try await Self.run(Self.server(40), suite)
        var part = Self.server(40)
        part.schemas.removeAll { $0.name == "_User" }
        await suite.forget()
        let source = part
        let error = await #expect(throws: MoveInError.self) { try await Self.run(source, suite) }
        #expect(error?.description.contains("SOURCE has no _User, which is staged.") == true)
        #expect(await suite.requests.isEmpty)
        #expect(await suite.rows["_User"]?.count == 1)
        let results = try await Self.run(source, suite, dropsClasses: true)
        #expect(results["_User"]?.removed == 1)
        #expect(await suite.rows["_User"] == nil)
    }

    @Test func rowsThatCannotBeMovedAreListed() async throws {
        var server = Self.server(1)
        server.add("Item", "bad id")
        let place = SourcePlace(file: "Item.bson", offset: 12)
        server.refused = [RefusedRow(className: "Item", objectId: nil, place: place, reason: "It is cut off.")]
        let refusals = MemoryRefusals()
        let results = try await Self.run(server, MemorySuite(), Mapping(), refusals)
        #expect(results["Item"]?.refused == 2)
        #expect(await Set(refusals.all.map(\.objectId)) == ["bad id", nil])
        let report = RunReport(Array(results.values), refusalPath: "/tmp/list")
        #expect(report.refused == 2)
        #expect(report.text.contains("/tmp/list"))
        #expect(report.text.contains("Item: 3 rows: 1 moved, 0 unchanged, 2 refused"))
    }

    @Test func aRowThatTheSuiteRefusesIsTakenOutOfItsBatch() async throws {
        var server = Self.server(100)
        server.rows["Item"]?[61].fields["text"] = "malformed"
        let suite = MemorySuite(), refusals = MemoryRefusals()
        let result = try await Self.run(server, suite, Mapping(), refusals)["Item"]
        #expect(result?.moved == 99 && result?.refused == 1)
        #expect(await refusals.all.map(\.objectId) == ["i61"])
        #expect(await suite.rows["Item"]?.count == 99)
    }

    @Test func aClassWithoutAPlaceStopsBeforeAnythingIsSent() async throws {
        var server = Self.server(1)
        server.add("_Strange", "a")
        let (suite, strange) = (MemorySuite(), server)
        let error = await #expect(throws: MoveInError.self) { try await Self.run(strange, suite) }
        #expect(error?.description.contains("_Strange") == true)
        #expect(await suite.stagedSchemas.isEmpty)
    }

    @Test func rowsWithoutAnOwnerAndRolesOfTheDeskStayOut() async throws {
        var server = Self.server(1)
        server.add("_Session", "s1", ["user": .pointer("_User", "u1")])
        server.add("_Session", "s2", ["user": .pointer("_User", "gone")])
        server.add("_Session", "s3")
        server.add("_Role", "r2", ["name": "admins"])
        server.add("_Join:users:_Role", "r2:u1")
        server.add("_Join:users:_Role", "gone:u1")
        let suite = MemorySuite(), refusals = MemoryRefusals()
        let results = try await Self.run(server, suite, Mapping(), refusals)
        #expect(results["_Session"]?.orphans == 2)
        #expect(await suite.rows["_Session"]?.keys.sorted() == ["s1"])
        #expect(results["_Join:users:_Role"]?.orphans == 2)
        #expect(await suite.rows["_Join:users:_Role"]?.keys.sorted() == ["r1:u1"])
        #expect(await refusals.all.map(\.objectId) == ["r2"])
    }

    @Test func rowsOfARefusedOwnerAreRefused() async throws {
        var server = Self.server(0)
        server.add("_User", "u2", ["username": "malformed"])
        server.add("_User", "u3", ["text": .string(String(repeating: "x", count: RowLine.textBytesMax))])
        let place = SourcePlace(file: "_User.bson", offset: 12)
        server.refused = [RefusedRow(className: "_User", objectId: "u4", place: place, reason: "It is cut off.")]
        for number in 1...5 {
            server.add("_Session", "s\(number)", ["user": .pointer("_User", "u\(number)")])
        }
        let suite = MemorySuite(), refusals = MemoryRefusals()
        let results = try await Self.run(server, suite, Mapping(), refusals)
        #expect(await suite.rows["_Session"]?.keys.sorted() == ["s1"])
        #expect(results["_Session"].map { [$0.moved, $0.refused, $0.orphans] } == [1, 3, 1])
        #expect(await Set(refusals.all.map(\.objectId)) == ["u2", "u3", "u4", "s2", "s3", "s4"])
    }

    @Test func indexesThatSatchelCannotMakeAreNotSent() {
        let schema = MovedClass(
            name: "Place",
            indexes: [
                "_id_": ["_id": 1], "place_2dsphere": ["place": "2dsphere"], "name_rank": ["name": 1, "rank": -1],
                "text": ["name": "text"], "hash": ["name": "hashed"],
            ])
        #expect(schema.indexesLacking == ["hash", "place_2dsphere"])
        #expect(Set(schema.acceptable.indexes.keys) == ["name_rank", "text"])
    }
}
