import Foundation
import Outbound
import ParseProtocol
import Testing

@testable import MoveIn

/// Reading an old server over REST: pages, relations, and answers that are late, broken or hostile.
@Suite struct RESTServerTests {
    private static let time = "2026-03-01T10:00:00.000Z"

    private static func schema(_ name: String, _ fields: [String: JSON] = [:]) -> JSON {
        ["className": .string(name), "fields": .object(fields), "classLevelPermissions": ["find": ["*": true]]]
    }

    private static func item(_ number: Int, _ more: [String: JSON] = [:]) -> JSON {
        let fields: [String: JSON] = [
            "objectId": .string(String(format: "item%05d", number)), "createdAt": .string(time),
            "updatedAt": .string(time), "rank": .int(Int64(number)),
        ]
        return .object(fields.merging(more) { $1 })
    }

    private static func row(_ kind: String, _ number: Int) -> JSON {
        ["objectId": .string(String(format: "\(kind)%05d", number))]
    }

    private static func items(_ count: Int) -> OldServerDouble.State {
        var state = OldServerDouble.State()
        state.schemas = [schema("Item", ["rank": ["type": "Number"]])]
        state.rows["Item"] = (0..<count).map { item($0) }
        state.others["/config"] = ["params": [:]]
        return state
    }

    @Test(arguments: [Int.max, 100]) func aClassIsReadInPagesWhateverTheServersLimit(rowsMax: Int) async throws {
        var state = Self.items(2_345)
        state.rowsMax = rowsMax
        let double = OldServerDouble(state)
        let read = try await double.server().read("Item")
        let rows = await read.rows
        #expect(rows.map(\.objectId) == (0..<2_345).map { String(format: "item%05d", $0) })
        #expect(rows.first?.updatedAt == Timestamp(iso: Self.time)?.milliseconds)
        #expect(rows.first?.place.description == "https://old.example/parse/classes/Item")
        #expect(!double.requests.contains { $0.contains("skip") })
    }

    @Test func onlyChangedRowsAreAskedFor() async throws {
        var state = Self.items(3)
        state.rows["Item"]?.append(Self.item(9, ["updatedAt": "2026-05-01T00:00:00.000Z"]))
        let sink = Collected()
        let since = try #require(Timestamp(iso: "2026-05-01T00:00:00.000Z")).milliseconds
        try await OldServerDouble(state).server().read("Item", since: since, into: sink)
        #expect(await sink.rows.map(\.objectId) == ["item00009"])
    }

    @Test func passingFailuresAreWaitedOut() async throws {
        let double = OldServerDouble(Self.items(1_500))
        let server = try await double.server()
        double.change {
            $0.mishaps = [
                .noAnswer(.unreachable), .status(429, ["retry-after": "7"]), .noAnswer(.broken), .status(503),
                .noAnswer(.timedOut), .status(500),
            ]
        }
        let read = try await server.read("Item")
        #expect(await read.rows.count == 1_500)
    }

    @Test func aServerThatStaysAwayEndsTheMove() async throws {
        let double = OldServerDouble(Self.items(1))
        let server = try await double.server()
        double.change { $0.mishaps = Array(repeating: .noAnswer(.unreachable), count: Retry.attemptsMax) }
        await #expect(throws: MoveInError.self) { try await server.read("Item") }
    }

    // MARK: - Hostile answers

    @Test(arguments: [
        "no JSON", #"{"results":7}"#, #"{"rows":[]}"#, "[]", #"{"results":[{"rank":1}]}"#, #"{"results":["a"]}"#,
        #"{"results":[{"objectId":"a"},{"objectId":5}]}"#,
    ])
    func anAnswerOfAnotherFormEndsTheMove(text: String) async throws {
        let double = OldServerDouble(Self.items(1))
        let server = try await double.server()
        double.change { $0.mishaps = [.answer(200, Array(text.utf8), [:])] }
        await #expect(throws: MoveInError.self) { try await server.read("Item") }
    }

    @Test func aServerThatRepeatsItselfEndsTheMove() async throws {
        let double = OldServerDouble(Self.items(1))
        let server = try await double.server()
        let page = JSON.object(["results": [Self.item(4), Self.item(5)]]).serialized
        double.change { $0.mishaps = Array(repeating: .answer(200, page, [:]), count: 5) }
        await #expect(throws: MoveInError.self) { try await server.read("Item") }
        let more = JSON.object(["results": .array((0...RESTPages.rowsMax).map { Self.item($0) })]).serialized
        double.change { $0.mishaps = [.answer(200, more, [:])] }
        await #expect(throws: MoveInError.self) { try await server.read("Item") }
    }

    @Test func aPageThatIsTooLargeIsReadInParts() async throws {
        var state = Self.items(24)
        let text = String(repeating: "x", count: 1_000_000)
        state.rows["Item"] = (0..<24).map { Self.item($0, ["text": .string(text)]) }
        // One row alone is too large, and one nests too deep.
        state.rows["Item"]?[10] = Self.item(10, ["text": .string(String(repeating: "y", count: RESTPages.bytesMax))])
        let deep = (0..<70).reduce(JSON.int(1)) { inner, _ in .array([inner]) }
        state.rows["Item"]?[20] = Self.item(20, ["deep": deep])
        let read = try await OldServerDouble(state).server().read("Item")
        #expect(await read.rows.count == 22)
        #expect(await read.refusals.map(\.objectId) == ["item00010", "item00020"])
    }

    @Test func rowsThatCannotMoveAreRefusedOneByOne() async throws {
        var state = Self.items(0)
        state.rows["Item"] = [
            Self.item(1), Self.item(2, ["updatedAt": "yesterday"]), Self.item(3, ["objectId": "item00003\n"]),
            Self.item(4, ["updatedAt": ["__type": "Date", "iso": .string(Self.time)]]),
        ]
        let read = try await OldServerDouble(state).server().read("Item")
        #expect(await read.rows.map(\.objectId) == ["item00001", "item00004"])
        #expect(await read.rows.last?.fields["updatedAt"] == .string(Self.time))
        #expect(await read.refusals.count == 2)
    }

    @Test func refusedKeysAreExplained() async throws {
        let double = OldServerDouble(Self.items(1))
        double.change { $0.mishaps = [.answer(403, Array(#"{"error":"unauthorized"}"#.utf8), [:])] }
        let error = await #expect(throws: MoveInError.self) { try await double.server() }
        #expect(error?.description.contains("masterKeyIps") == true)
        #expect(error?.description.contains("master\"") == false)
    }

    @Test func messagesShowNoUser() async throws {
        let client = try OldServerDouble(Self.items(1)).client("https://ann:secret@old.example/parse/")
        #expect(client.name == "https://old.example/parse")
        for url in ["old.example/parse", "ftp://old.example/", "https:///parse", "https://old.example/parse?key=1"] {
            #expect(throws: MoveInError.self) { try OldServerDouble(Self.items(1)).client(url) }
        }
    }

    // MARK: - Classes

    @Test func classesRelationsAndSettingsAreListed() async throws {
        var state = Self.items(1)
        state.schemas += [
            Self.schema("_User"), Self.schema("_Role", ["users": ["type": "Relation", "targetClass": "_User"]]),
        ]
        state.rows["_Audience"] = [["objectId": "audience1"]]
        state.others = [
            "/config": ["params": ["a": 1], "masterKeyOnly": ["a": true]],
            "/hooks/functions": [
                ["functionName": "own"], ["functionName": "far", "url": "https://hooks.example/far"],
            ],
            "/hooks/triggers": [
                ["className": "Item", "triggerName": "beforeSave", "url": "https://hooks.example/save"]
            ],
        ]
        let server = try await OldServerDouble(state).server()
        let names = try await server.classes().map(\.name)
        #expect(
            Set(names) == [
                "Item", "_User", "_Role", "_Join:users:_Role", "_Audience", "_GlobalConfig", "_Hooks",
            ])
        #expect(names.count == 7)
        let hooks = try await server.read("_Hooks")
        #expect(await hooks.rows.map(\.objectId) == ["far", "Item:beforeSave"])
        let config = try await server.read("_GlobalConfig")
        #expect(await config.objects.first?["masterKeyOnly"] == ["a": true])
    }

    /// Such a class would stay behind unnoticed.
    @Test func aRefusedClassIsNoEmptyOne() async throws {
        let double = OldServerDouble(Self.items(1))
        let server = try await double.server()
        for (status, body) in [(403, #"{"error":"unauthorized"}"#), (400, #"{"code":102,"error":"bad"}"#), (414, "-")] {
            double.change { $0.mishaps = [.answer(status, Array(body.utf8), [:])] }
            let error = await #expect(throws: MoveInError.self) { try await server.classes() }
            #expect(error?.description.contains("/classes/_Audience: the answer is \(status)") == true, "\(status)")
        }
        for (status, body) in [(404, "no such page"), (400, #"{"code":103,"error":"Invalid classname"}"#)] {
            double.change { $0.mishaps = [.answer(status, Array(body.utf8), [:])] }
            #expect(try await server.classes().map(\.name) == ["Item"], "\(status)")
        }
        // The webhooks come last.
        double.change { $0.refusedPath = "/hooks/triggers" }
        await #expect(throws: MoveInError.self) { try await server.classes() }
    }

    @Test func relationsAreReadOwnerByOwner() async throws {
        var state = Self.items(0)
        state.schemas = [
            Self.schema("_User"), Self.schema("_Role", ["users": ["type": "Relation", "targetClass": "_User"]]),
        ]
        state.rows["_User"] = (0..<1_200).map { Self.row("user", $0) }
        state.rows["_Role"] = (0..<30).map { Self.row("role", $0) }
        state.related["_Role.role00003.users"] = (0..<1_200).map { String(format: "user%05d", $0) }
        state.related["_Role.role00029.users"] = ["user00007"]
        let read = try await OldServerDouble(state).server().read("_Join:users:_Role")
        let rows = await read.rows
        #expect(rows.count == 1_201)
        #expect(Set(rows.map(\.objectId)).count == 1_201)
        let row = try #require(rows.first { $0.objectId == "role00029:user00007" })
        #expect(row.fields == ["owningId": "role00029", "relatedId": "user00007"])
    }

    @Test func usersAreToldToResetTheirPasswordsAndSessionsNeedTokens() async throws {
        var state = Self.items(0)
        state.schemas = [Self.schema("_User"), Self.schema("_Session")]
        state.rows["_User"] = [
            ["objectId": "user1", "username": "ann", "friends": ["__type": "Relation", "className": "_User"]]
        ]
        state.rows["_Session"] = [
            ["objectId": "session1", "sessionToken": "r:0123456789abcdef"], ["objectId": "session2"],
        ]
        let server = try await OldServerDouble(state).server()
        let users = try await server.read("_User")
        #expect(await users.notes.count == 1)
        #expect(await users.objects == [["objectId": "user1", "username": "ann"]])
        let sessions = try await server.read("_Session")
        #expect(await sessions.rows.map(\.objectId) == ["session1"])
        #expect(await sessions.refusals.map(\.objectId) == ["session2"])
    }
}
