import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Synchronization
import TestSupport
import Testing

/// Rows of another server in one service: staged, rehearsed, switched and dropped.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MoveTests {
    /// Refuses rows before and after their change.
    private struct Marking: ClassRules {
        func prepare(_ change: inout ProposedChange) async throws {
            if change.object["wrong"] != nil { throw ParseError(.validationError, "Refused before.") }
            change.object["prepared"] = true
        }

        func after(
            _ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction
        ) throws {
            try transaction.execute("INSERT INTO marks(objectId) VALUES (?)", [.text(outcome.objectId)])
            if outcome.after?["first"] != nil, try !transaction.rows("SELECT phase FROM moveState").isEmpty {
                throw ParseError(.duplicateValue, "The end of an earlier switch is stored.")
            }
            if outcome.after?["refused"] != nil { throw ParseError(.duplicateValue, "Refused afterwards.") }
        }
    }

    /// Stores a file for each row.
    private struct Filing: ClassRules {
        static let stored = Mutex(0)
        let preparesFiles = true

        func prepare(_ change: inout ProposedChange) async throws {
            Self.stored.withLock { $0 += 1 }
            change.notes["file"] = true
            change.object["filed"] = true
        }
    }

    /// Ids of changes that reach live queries.
    private final class Told: Sendable {
        private let told = Mutex<[String]>([])
        var ids: [String] { told.withLock { $0 } }
        func add(_ changes: [StoredChange]) { told.withLock { $0 += changes.map(\.objectId) } }
    }

    private static let plan = ServicePlan(
        name: "shop", classes: [ClassDefinition("Marked"), ClassDefinition("Filed")],
        migrations: [Migration(1, "tables", ["CREATE TABLE marks(objectId TEXT PRIMARY KEY)"])],
        ownsUnknownClasses: true
    ) { _ in ["Marked": Marking(), "Filed": Filing()] }

    /// The service, as the gateway uses it.
    private struct Shop {
        let bench: BusBench
        let host: ServiceHost

        func reply(_ verb: MoveVerb, _ parameters: JSON = [:], _ data: [UInt8]? = nil) async throws -> [UInt8] {
            let documents = [parameters.serialized] + (data.map { [$0] } ?? [])
            let reply = try await bench.ask(
                ObjectCalls(of: "shop").move.kind, FunctionRequest.with { $0.name = verb.rawValue },
                key: Names.random(12), documents: documents)
            return try #require(reply.documents.first)
        }

        @discardableResult
        func ask(_ verb: MoveVerb, _ parameters: JSON = [:], _ data: [UInt8]? = nil) async throws -> JSON {
            try JSON(parsing: try await reply(verb, parameters, data))
        }

        @discardableResult
        func stage(_ className: String, _ lines: String) async throws -> JSON {
            try await ask(.rows, ["className": .string(className)], Array(lines.utf8))
        }

        func status() async throws -> JSON { try await ask(.status) }

        /// Runs a switch to its end.
        func end(rehearses: Bool = false) async throws -> JSON {
            try await ask(.begin, ["rehearses": .bool(rehearses)])
            try await eventually("the switch ends") { try await status()["phase"] != "switching" }
            return try await status()
        }

        func has(_ className: String) async throws -> Bool {
            try await host.store.write { $0.hasClass(className) }
        }

        func document(_ className: String, _ id: String) async throws -> JSON {
            try await host.store.write { try $0.document(className, id, caller: .master) }
        }

        func failure(_ className: String, _ lines: String) async throws -> Failure {
            let failure = await #expect(throws: BusFailure.self) { try await stage(className, lines) }
            return try #require(failure).failure
        }
    }

    private func withShop(_ body: (Shop) async throws -> Void) async throws {
        try await BusBench.with { bench in
            try await body(Shop(bench: bench, host: try await bench.start(Self.plan)))
        }
    }

    private static func line(_ id: String, _ time: Int64, _ object: JSON) -> String {
        "\(id)\t\(time)\t\(object.serializedText)\n"
    }

    private static func row(_ time: String, _ more: [String: JSON] = [:]) -> JSON {
        .object(["createdAt": "2020-01-02T03:04:05.678Z", "updatedAt": .string(time)].merging(more) { $1 })
    }

    private static let old = "2021-01-02T03:04:05.678Z"
    private static let oldTime: Int64 = 1_609_556_645_678

    // MARK: The switch

    @Test func rowsAreVisibleFromTheSwitchOn() async throws {
        try await withShop { shop in
            #expect(try await shop.status()["phase"] == "empty")
            let schema: JSON = [
                "fields": [
                    "name": ["type": "String", "required": true], "objectId": ["type": "String"],
                    "friends": ["type": "Relation", "targetClass": "Player"],
                ],
                "classLevelPermissions": ["find": [:], "get": ["*": true]],
                "indexes": ["name_1": ["name": 1], "_id_": ["_id": 1], "name_2d": ["name": "2dsphere"]],
            ]
            try await shop.ask(.schema, ["className": "Player"], schema.serialized)
            let lines = ["a1", "b2", "c3"].map { Self.line($0, Self.oldTime, Self.row(Self.old, ["name": "Ann"])) }
            #expect(try await shop.stage("Player", lines.joined()) == ["staged": 3])
            let members = ["a1:b2", "a1:c3", "b2:a1"].map { "\($0)\t0\t{}\n" }
            try await shop.stage("_Join:friends:Player", members.joined())
            let staged = try await shop.status()
            #expect(staged["phase"] == "staged")
            #expect(staged["rows"] == 6)
            #expect(staged["classes"]?.arrayValue?.compactMap { $0["rows"] } == [3, 3])
            #expect(try await shop.has("Player") == false)

            let rehearsed = try await shop.end(rehearses: true)
            #expect(rehearsed["phase"] == "staged")
            #expect(rehearsed["applied"] == 6)
            #expect(rehearsed["failed"] == 0)
            #expect(try await shop.has("Player") == false)

            let switched = try await shop.end()
            #expect(switched["phase"] == "switched", "\(switched.serializedText)")
            #expect(switched["applied"] == 6)
            #expect(switched["classes"] == [])
            #expect(try await shop.end()["applied"] == 6, "A repeated call changes nothing.")
            let player = try await shop.document("Player", "a1")
            #expect(player["createdAt"] == "2020-01-02T03:04:05.678Z")
            #expect(player["updatedAt"] == .string(Self.old), "A relation does not change its owner.")
            #expect(try await shop.host.number("SELECT count(*) FROM relations") == 3)
            #expect(try await shop.host.number("SELECT count(*) FROM stagedRows") == 0)
            let stored = try await shop.host.store.write { try JSON(parsing: $0.schema(of: "Player")) }
            #expect(stored["fields"]?["name"]?["required"] == true)
            #expect(stored["classLevelPermissions"]?["find"] == [:])
            #expect(Set(stored["indexes"]?.objectValue?.keys.map { $0 } ?? []) == ["_id_", "name_1"])
        }
    }

    @Test func aRelationIsListedInPages() async throws {
        try await withShop { shop in
            let schema: JSON = ["fields": ["friends": ["type": "Relation", "targetClass": "Player"]]]
            try await shop.ask(.schema, ["className": "Player"], schema.serialized)
            try await shop.stage("Player", ["a1", "b2", "c3"].map { Self.line($0, 0, [:]) }.joined())
            let rows = ["a1:b2", "a1:c3", "b2:a1"].map { "\($0)\t0\t{}\n" }
            try await shop.stage("_Join:friends:Player", rows.joined())
            #expect(try await shop.end()["phase"] == "switched")
            for (after, listed) in [("", "a1:b2\na1:c3\n"), ("a1:b2", "a1:c3\nb2:a1\n"), ("a1:c3", "b2:a1\n")] {
                let parameters: JSON = ["className": "_Join:friends:Player", "after": .string(after), "limit": 2]
                let answer = try await shop.reply(.members, parameters)
                #expect(String(decoding: answer, as: UTF8.self) == listed)
            }
        }
    }

    @Test func aRefusedRowLeavesNothingOfTheOthers() async throws {
        try await withShop { shop in
            try await shop.stage(
                "Marked",
                Self.line("a1", 0, ["n": 1]) + Self.line("b2", 0, ["refused": true])
                    + Self.line("c3", 0, ["wrong": 1]))
            try await shop.stage("Other", Self.line("a1", 0, ["n": 1]))
            try await shop.stage("_Join:friends:Other", "a1:b2\t0\t{}\n")
            for rehearses in [true, false] {
                let failed = try await shop.end(rehearses: rehearses)
                #expect(failed["phase"] == "failed")
                #expect(failed["applied"] == 2)
                #expect(failed["failed"] == 3)
                let refusals = (failed["failures"]?.arrayValue ?? []).map { $0["code"]?.intValue }
                #expect(refusals == [137, 142, 111], "\(failed.serializedText)")
                #expect(failed["failures"]?.arrayValue?.first?["objectId"] == "b2")
                #expect(try await shop.has("Other") == false)
                #expect(try await shop.host.number("SELECT count(*) FROM marks") == 0)
            }
            for (className, ids) in [("Marked", ["b2", "c3", "d4"]), ("_Join:friends:Other", ["a1:b2"])] {
                let removed = try await shop.ask(
                    .removals, ["className": .string(className), "ids": .array(ids.map(JSON.string))])
                #expect(removed["removed"] == .int(className == "Marked" ? 2 : 1))
            }
            let staged = try await shop.status()
            #expect(staged["phase"] == "staged")
            #expect(staged["classes"]?.arrayValue?.compactMap { $0["className"] } == ["Marked", "Other"])
            #expect(try await shop.end()["phase"] == "switched")
            #expect(try await shop.document("Marked", "a1")["prepared"] == true)
            #expect(try await shop.host.number("SELECT count(*) FROM marks") == 1)
        }
    }

    /// Many rows share a savepoint. Those around a refused one are applied again, and no trace of the first time stays.
    @Test func aRefusedRowAmongManyStopsNoOther() async throws {
        try await withShop { shop in
            let ids = (100..<550).map { "row\($0)" }
            let bad = ids[230]
            let lines = ids.map { Self.line($0, 0, $0 == bad ? ["refused": true] : ["n": 1]) }
            try await shop.stage("Marked", lines.joined())
            for rehearses in [true, false] {
                let failed = try await shop.end(rehearses: rehearses)
                #expect(failed["applied"] == 449, "\(failed.serializedText)")
                #expect(failed["failed"] == 1)
                #expect(failed["failures"]?.arrayValue?.compactMap { $0["objectId"]?.stringValue } == [bad])
            }
            try await shop.ask(.removals, ["className": "Marked", "ids": [.string(bad)]])
            #expect(try await shop.end()["phase"] == "switched")
            #expect(try await shop.host.number("SELECT count(*) FROM marks") == 449)
        }
    }

    /// If the process is killed, the state shows no earlier end.
    @Test func theEndOfARehearsalIsForgottenWhenTheNextOneStarts() async throws {
        try await withShop { shop in
            try await shop.stage("Marked", Self.line("a1", 0, ["first": true]))
            for _ in 0..<2 {
                let rehearsed = try await shop.end(rehearses: true)
                #expect(rehearsed["applied"] == 1, "\(rehearsed.serializedText)")
                #expect(rehearsed["failed"] == 0)
            }
        }
    }

    @Test func aRehearsalStoresNoFiles() async throws {
        try await withShop { shop in
            try await shop.stage("Filed", Self.line("a1", 0, ["n": 1]))
            #expect(try await shop.end(rehearses: true)["applied"] == 1)
            #expect(Filing.stored.withLock { $0 } == 0)
            #expect(try await shop.end()["phase"] == "switched")
            #expect(Filing.stored.withLock { $0 } == 1)
            #expect(try await shop.document("Filed", "a1")["filed"] == true)
        }
    }

    @Test func aLaterChangeStaysAndAnEarlierOneIsReplaced() async throws {
        try await withShop { shop in
            try await shop.host.store.write { transaction in
                for (id, time) in [("new", "2030-01-01T00:00:00.000Z"), ("old", "2019-01-01T00:00:00.000Z")] {
                    _ = try transaction.create(
                        "Note",
                        [
                            "text": "here", "more": 1, "createdAt": "2019-01-01T00:00:00.000Z",
                            "updatedAt": .string(time),
                        ],
                        objectId: id, isImported: true, caller: .master)
                }
            }
            let told = Told()
            shop.host.store.watch.listen { told.add($0) }
            shop.host.store.watch.watch(["Note"])
            let lines = ["new", "old"].map { Self.line($0, Self.oldTime, Self.row(Self.old, ["text": "there"])) }
            try await shop.stage("Note", lines.joined())
            #expect(try await shop.end()["phase"] == "switched")
            #expect(try await shop.document("Note", "new")["text"] == "here")
            let replaced = try await shop.document("Note", "old")
            #expect(replaced["text"] == "there")
            #expect(replaced["more"] == nil)
            #expect(told.ids.isEmpty)
            #expect(replaced["createdAt"] == "2020-01-02T03:04:05.678Z")
            #expect(replaced["updatedAt"] == .string(Self.old))
        }
    }

    // MARK: Staging

    @Test func aRowOfTheSameIdIsReplaced() async throws {
        try await withShop { shop in
            let short = Self.line("b2", 5, ["name": "Ann"])
            try await shop.stage("Note", Self.line("b2", 1, ["a": 1]) + Self.line("a1", 7, ["a": 1]))
            try await shop.stage("Note", Self.line("b2", 2, ["a": 2]) + short)
            let staged = try await shop.status()["classes"]?.arrayValue?.first
            #expect(staged?["rows"] == 2)
            #expect(staged?["bytes"] == .int(Int64(#"{"a":1}{"name":"Ann"}"#.utf8.count)))
            let list = { (after: JSON, limit: JSON) in
                let parameters: JSON = ["className": "Note", "after": after, "limit": limit]
                return String(decoding: try await shop.reply(.list, parameters), as: UTF8.self)
            }
            #expect(try await list("", 10) == "a1\t7\tbeae62276a97f862\nb2\t5\t40211a8955e63203\n")
            #expect(try await list("", 1) == "a1\t7\tbeae62276a97f862\n")
            #expect(try await list("a1", 10) == "b2\t5\t40211a8955e63203\n")
            try await shop.ask(.undo)
            #expect(try await list("", 10).isEmpty)
            #expect(try await shop.status()["phase"] == "empty")
        }
    }

    @Test func aClassIsDroppedWithItsSchemaOnceItHasNoRows() async throws {
        try await withShop { shop in
            let schema: JSON = ["fields": ["old": ["type": "String"]]]
            try await shop.ask(.schema, ["className": "Item"], schema.serialized)
            try await shop.stage("Item", Self.line("a1", 0, [:]) + Self.line("b2", 0, [:]))
            let rowsLeft = { (ids: JSON, dropsClass: JSON) async throws -> [Int64]? in
                try await shop.ask(.removals, ["className": "Item", "ids": ids, "dropsClass": dropsClass])
                return try await shop.status()["classes"]?.arrayValue?.compactMap { $0["rows"]?.intValue }
            }
            #expect(try await rowsLeft(["a1"], true) == [1])
            #expect(try await rowsLeft(["b2"], false) == [0])
            #expect(try await rowsLeft([], true) == [])
            #expect(try await shop.status()["phase"] == "empty")
        }
    }

    @Test func malformedLinesAreRefusedAndNothingIsStaged() async throws {
        try await withShop { shop in
            let good = Self.line("a1", 0, [:])
            for bad in [
                "b2\t0\n", "b2\t0\t[]\n", "b2\t-1\t{}\n", "b2\tx\t{}\n", "b:2\t0\t{}\n", "\t0\t{}\n", "b2\t0\t{\n",
                "b2\t0\t{\"a\":1,}\n", "\n",
            ] {
                let failure = try await shop.failure("Note", good + bad)
                #expect(failure.code == 107, "\(bad)")
                #expect(failure.message.hasPrefix("Line 2 is malformed."), "\(failure.message)")
            }
            #expect(try await shop.failure("_Join:friends:Note", "a1\t0\t{}\n").code == 107)
            let long = String(repeating: "x", count: 256 << 10)
            #expect(try await shop.failure("Note", Self.line("b2", 0, ["a": .string(long)])).code == 116)
            #expect(try await shop.failure("Note", String(repeating: good, count: 5001)).code == 116)
            let notUTF8 = Array("a1\t0\t{\"a\":\"".utf8) + [0xFF] + Array("\"}".utf8)
            await #expect(throws: BusFailure.self) {
                try await shop.ask(.rows, ["className": "Note"], notUTF8)
            }
            #expect(try await shop.status()["phase"] == "empty")
        }
    }

    @Test func onlyTheMasterKeyStages() async throws {
        try await withShop { shop in
            for verb in ["status", "rows", "undo", "members", "secrets"] {
                let failure = await #expect(throws: BusFailure.self) {
                    try await shop.bench.ask(
                        ObjectCalls(of: "shop").move.kind, FunctionRequest.with { $0.name = verb }, key: verb,
                        documents: [[0x7B, 0x7D]], as: .user("ann"))
                }
                #expect(failure?.failure.code == 119)
            }
        }
    }
}
