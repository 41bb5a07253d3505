import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization
import Testing

/// From a request on the bus to its route and back: each kind of route, and requests that no route can answer.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RouteTests {
    private struct Private: Error {
        let path = "/var/lib/secret"
    }

    /// Marks objects that passed `prepare`, which only a task can await.
    private struct Marking: ClassRules {
        func prepare(_ change: inout ProposedChange) async throws {
            if change.object["refused"] != nil { throw ParseError(.validationError, "Refused by its rules.") }
            change.object["prepared"] = true
        }
    }

    /// Changes objects in the transaction only, which needs no task. If it were awaited, its `prepare` would refuse.
    private struct Counting: ClassRules {
        let prepares = false
        func prepare(_ change: inout ProposedChange) async throws { throw ParseError.internalError }
        func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
            if change.object["refused"] != nil { throw ParseError(.validationError, "Refused by its rules.") }
            change.object["counted"] = 1
        }
    }

    private static let plan = ServicePlan(
        name: "shop",
        classes: [
            ClassDefinition("Note"), ClassDefinition("Known", fields: ["text": .string, "rank": .number]),
            ClassDefinition("Marked"), ClassDefinition("Counted"), ClassDefinition("Category"),
            ClassDefinition("_Session", permissions: .masterOnly),
        ],
        migrations: [Migration(1, "tables", ["CREATE TABLE marks(user TEXT)"])]
    ) { _ in ["Marked": Marking(), "Counted": Counting()] }

    /// Counts how often route bodies ran.
    private final class Runs: Sendable {
        private let count = Mutex(0)
        func add() { count.withLock { $0 += 1 } }
        var all: Int { count.withLock { $0 } }
    }

    private func withShop(_ body: (BusBench, ServiceHost, Runs) async throws -> Void) async throws {
        try await BusBench.with { bench in
            let runs = Runs()
            let host = try await bench.start(Self.plan) { _, routes in
                Self.install(runs, in: &routes)
            }
            try await body(bench, host, runs)
        }
    }

    private static func install(_ runs: Runs, in routes: inout ServiceRoutes) {
        routes.read(Call<UserDeleted, UserDeleted>("shop.look.v1")) { message, _, reader in
            runs.add()
            if message.userID == "nobody" { throw ParseError.objectNotFound }
            let seven = try reader.rows("SELECT 7").first?.int(0) ?? 0
            return UserDeleted.with { $0.deletedAt = seven }
        }
        routes.read(Call<UserDeleted, UserDeleted>("shop.ponder.v1")) { _, _, reader in
            runs.add()
            let million = try reader.ponder()
            return UserDeleted.with { $0.deletedAt = million }
        }
        routes.accept(userCall("shop.mark.v1")) { message, _, transaction in
            runs.add()
            _ = try transaction.execute("INSERT INTO marks(user) VALUES (?)", [.text(message.userID)])
            if message.userID == "nobody" { throw ParseError.objectNotFound }
        }
        routes.task(framed: userCall("shop.do.v1")) { message, _ in
            runs.add()
            switch message.userID {
            case "parse": throw ParseError.tooManyRequests("Later.", retryAfterSeconds: 9)
            case "bus": throw BusFailure.unavailable("Elsewhere.")
            case "private": throw Private()
            default: return try BusReply(Accepted(), documents: [[1], []])
            }
        }
        routes.function("double") { parameters, _ in
            runs.add()
            guard let number = parameters["number"]?.intValue else { throw ParseError(.validationError, "A number.") }
            return try .result(.int(2 * number))
        }
        routes.readingFunction("halve") { parameters, _, reader in
            let marks = try reader.rows("SELECT count(*) AS n FROM marks").first?.int("n") ?? 0
            guard let number = parameters["number"]?.intValue else { throw ParseError(.validationError, "A number.") }
            return {
                runs.add()
                return try .result(.int(number / 2 + marks))
            }
        }
    }

    /// The failure with which the service refuses the request.
    private func refusal(
        _ bench: BusBench, _ kind: String, _ user: String, key: String? = nil
    ) async throws -> Failure {
        let failure = await #expect(throws: BusFailure.self) {
            try await bench.ask(kind, deletion(of: user), key: key)
        }
        return try #require(failure).failure
    }

    // MARK: Routes

    @Test func aReadIsAnsweredAndItsErrorPassedOn() async throws {
        try await withShop { bench, _, _ in
            let reply = try await bench.ask("shop.look.v1", deletion(of: "ann"))
            #expect(try UserDeleted(serializedBytes: reply.body).deletedAt == 7)
            #expect(try await refusal(bench, "shop.look.v1", "nobody").code == 101)
        }
    }

    @Test func aReadThatIsTooLongForTheLaneIsBegunAnewElsewhere() async throws {
        try await withShop { bench, _, runs in
            let reply = try await bench.ask("shop.ponder.v1", deletion(of: "ann"))
            #expect(try UserDeleted(serializedBytes: reply.body).deletedAt == 1_000_000)
            #expect(runs.all >= 2)
        }
    }

    @Test func aWriteThatFailsLeavesNothing() async throws {
        try await withShop { bench, host, _ in
            #expect(try await refusal(bench, "shop.mark.v1", "nobody", key: "k").code == 101)
            #expect(try await host.number("SELECT count(*) FROM marks") == 0)
            try await bench.ask("shop.mark.v1", deletion(of: "ann"), key: "k")
            #expect(try await host.number("SELECT count(*) FROM marks") == 1)
        }
    }

    @Test func aTaskAnswersWithItsDocumentsOrItsError() async throws {
        try await withShop { bench, _, _ in
            #expect(try await bench.ask("shop.do.v1", deletion(of: "ann")).documents == [[1], []])
            let parse = try await refusal(bench, "shop.do.v1", "parse")
            #expect(parse.code == 155)
            #expect(parse.retryAfter == 9)
            #expect(!parse.retriable)
            let bus = try await refusal(bench, "shop.do.v1", "bus")
            #expect(bus.code == 2)
            #expect(bus.message == "Elsewhere.")
            #expect(bus.retriable)
        }
    }

    @Test func whatIsNotForClientsIsAnInternalErrorWithoutDetail() async throws {
        try await withShop { bench, _, _ in
            let failure = try await refusal(bench, "shop.do.v1", "private")
            #expect(failure.code == 1)
            #expect(failure.message == ParseError.internalError.message)
            #expect(failure.details.isEmpty)
        }
    }

    @Test func functionsAnswerByTheirName() async throws {
        try await withShop { bench, _, runs in
            func call(_ name: String, _ parameters: [[UInt8]]) async throws -> BusReply {
                try await bench.ask("shop.function.v1", FunctionRequest.with { $0.name = name }, documents: parameters)
            }
            func code(_ name: String, _ parameters: [[UInt8]]) async -> Int32? {
                let failure = await #expect(throws: BusFailure.self) { try await call(name, parameters) }
                return failure?.failure.code
            }
            let eight = try await call("double", [Array(#"{"number":4}"#.utf8)])
            #expect(eight.documents == [Array("8".utf8)])
            #expect(runs.all == 1)
            #expect(await code("double", [Array("{}".utf8)]) == 142)
            #expect(await code("triple", [Array("{}".utf8)]) == 141)
            #expect(await code("double", []) == 107)
            #expect(await code("double", [Array("{".utf8)]) == 107)
            #expect(runs.all == 2)
        }
    }

    /// The small request runs on the lane. The large one would block the lane, so a task decodes it.
    @Test(arguments: [0, 100_000]) func functionsThatReadFirstAnswerWhatTheyRead(padding: Int) async throws {
        try await withShop { bench, _, runs in
            func halve(_ parameters: JSON) async throws -> [[UInt8]] {
                var padded = parameters
                padded["padding"] = .string(String(repeating: "x", count: padding))
                return try await bench.ask(
                    "shop.function.v1", FunctionRequest.with { $0.name = "halve" }, documents: [padded.serialized]
                ).documents
            }
            #expect(try await halve(["number": 8]) == [Array("4".utf8)])
            _ = try await bench.ask("shop.mark.v1", deletion(of: "ann"), key: "m")
            #expect(try await halve(["number": 8]) == [Array("5".utf8)])
            let before = runs.all
            let failure = await #expect(throws: BusFailure.self) { try await halve([:]) }
            #expect(failure?.failure.code == 142)
            #expect(runs.all == before)
        }
    }

    // MARK: Object writes

    private func save(
        _ bench: BusBench, _ className: String, _ object: String, proposedId: String, key: String
    ) async throws -> (outcome: WriteOutcome, document: JSON?) {
        let change = Change.with {
            $0.verb = .create
            $0.className = className
            $0.proposedID = proposedId
        }
        let reply = try await bench.ask(
            "shop.write.v1", WriteRequest.with { $0.changes = [change] }, key: key, documents: [Array(object.utf8)])
        let outcome = try #require(try WriteReply(serializedBytes: reply.body).outcomes.first)
        guard !outcome.hasFailure else { return (outcome, nil) }
        let wanted = GetRequest.with {
            $0.className = className
            $0.objectID = outcome.objectID
        }
        let found = try await bench.ask("shop.get.v1", wanted)
        return (outcome, try JSON(parsing: try #require(found.documents.first)))
    }

    /// A create with its proposed id is recognized by its object, so its answer need not be stored.
    @Test func plainDataIsAWriteThatIsItsOwnKey() async throws {
        try await withShop { bench, host, _ in
            let first = try await save(bench, "Note", #"{"text":"a"}"#, proposedId: "noteNoteNo", key: "k")
            #expect(first.outcome.objectID == "noteNoteNo")
            #expect(first.document?["text"] == "a")
            let again = try await save(bench, "Note", #"{"text":"a"}"#, proposedId: "noteNoteNo", key: "k")
            #expect(again.outcome == first.outcome)
            #expect(again.document == first.document)
            #expect(try await host.number("SELECT count(*) FROM keyedReplies") == 0)
        }
    }

    /// The same without a savepoint, which a class with known fields does not need: a repetition finds the object.
    @Test func aCreateOfKnownFieldsAloneIsItsOwnKeyToo() async throws {
        try await withShop { bench, host, _ in
            let first = try await save(bench, "Known", #"{"text":"a"}"#, proposedId: "knownKnown", key: "k")
            let again = try await save(bench, "Known", #"{"text":"a"}"#, proposedId: "knownKnown", key: "k")
            #expect(first.document?["text"] == "a")
            #expect(again.outcome == first.outcome)
            let wrong = try await save(bench, "Known", #"{"text":1}"#, proposedId: "knownKnow2", key: "l")
            #expect(wrong.outcome.failure.code == 111)
            #expect(try await host.number("SELECT count(*) FROM keyedReplies") == 0)
        }
    }

    /// With a savepoint, and in SQLite without one: that of a class with known fields. A refusal is stored too.
    @Test(arguments: ["Note", "Known"]) func anUpdateIsMadeOnce(className: String) async throws {
        try await withShop { bench, host, _ in
            _ = try await save(bench, className, #"{"rank":1}"#, proposedId: "rankRankRa", key: "c")
            func update(_ id: String, _ changes: String, key: String) async throws -> (WriteOutcome?, [UInt8]?) {
                let change = Change.with {
                    $0.verb = .update
                    $0.className = className
                    $0.objectID = id
                }
                let reply = try await bench.ask(
                    "shop.write.v1", WriteRequest.with { $0.changes = [change] }, key: key,
                    documents: [Array(changes.utf8)])
                return (try WriteReply(serializedBytes: reply.body).outcomes.first, reply.documents.first)
            }
            let increment = #"{"rank":{"__op":"Increment","amount":1}}"#
            let first = try await update("rankRankRa", increment, key: "k")
            let again = try await update("rankRankRa", increment, key: "k")
            #expect(first.0?.hasFailure == false)
            #expect(again.0 == first.0)
            #expect(again.1 == first.1)
            #expect(try await update("rankRankRa", #"{"rank":"x"}"#, key: "l").0?.failure.code == 111)
            #expect(try await update("missing", increment, key: "m").0?.failure.code == 101)
            #expect(try await host.number("SELECT count(*) FROM keyedReplies") == 3)
            let wanted = GetRequest.with {
                $0.className = className
                $0.objectID = "rankRankRa"
            }
            let found = try await bench.ask("shop.get.v1", wanted)
            #expect(try JSON(parsing: try #require(found.documents.first))["rank"] == 2)
        }
    }

    /// A client may repeat a create with an `Idempotency-Key` after the object was changed or deleted.
    @Test(arguments: ["Note", "Known"]) func aCreateUnderAClientsKeyIsStored(className: String) async throws {
        try await withShop { bench, host, _ in
            let first = try await save(bench, className, #"{"text":"a"}"#, proposedId: "keyedKeyed", key: "client:k")
            let again = try await save(bench, className, #"{"text":"a"}"#, proposedId: "keyedKeye2", key: "client:k")
            #expect(first.outcome.objectID == "keyedKeyed")
            #expect(again.outcome == first.outcome)
            #expect(try await host.number("SELECT count(*) FROM clientReplies") == 1)
        }
    }

    /// The hooks of the next run get the object as it is, unless the write was carried out.
    @Test(arguments: ["Note", "Marked"]) func aPreviewIsKeptForAWriteThatWasMade(className: String) async throws {
        try await withShop { bench, _, _ in
            _ = try await save(bench, className, #"{"text":"a"}"#, proposedId: "noteNoteNo", key: "k")
            let change = Change.with {
                $0.verb = .update
                $0.className = className
                $0.objectID = "noteNoteNo"
            }
            let message = WriteRequest.with { $0.changes = [change] }
            func previewed() async throws -> JSON? {
                let reply = try await bench.ask(
                    "shop.preview.v1", message, key: "client:seed shop.preview.v1 0",
                    documents: [Array(#"{"text":"c"}"#.utf8)])
                return try JSON(parsing: try #require(reply.documents.first))["text"]
            }
            func write(_ text: String, key: String) async throws {
                let reply = try await bench.ask(
                    "shop.write.v1", message, key: key, documents: [Array(#"{"text":"\#(text)"}"#.utf8)])
                #expect(try WriteReply(serializedBytes: reply.body).outcomes.map(\.hasFailure) == [false])
            }
            #expect(try await previewed() == "a")
            try await write("b", key: "of another client")
            #expect(try await previewed() == "b")
            try await write("c", key: "client:seed shop.write.v1 0")
            #expect(try await previewed() == "b")
        }
    }

    @Test func aRepeatedPurgeLeavesNewObjects() async throws {
        try await withShop { bench, host, _ in
            let message = SchemaChange.with { $0.className = "Note" }
            for (id, count) in [("noteNoteNo", 0), ("noteNoteN2", 1)] as [(String, Int64)] {
                _ = try await save(bench, "Note", #"{"text":"a"}"#, proposedId: id, key: id)
                let reply = try await bench.ask("shop.purge.v1", message, key: "client:seed shop.purge.v1 0")
                #expect(reply.documents == [Array("{}".utf8)])
                let table = try await host.number("SELECT id FROM classes WHERE name = 'Note'")
                #expect(try await host.number("SELECT count(*) FROM o\(table)") == count)
            }
        }
    }

    /// The object alone does not show whether the audit log already has the entry.
    @Test func aCreateThatIsRepeatedIsNotedOnce() async throws {
        try await withShop { bench, host, _ in
            let change = Change.with {
                $0.verb = .create
                $0.className = "Category"
                $0.proposedID = "categoryCa"
            }
            let message = WriteRequest.with { $0.changes = [change] }
            let masterKey = Principal.with {
                $0.master = true
                $0.network = "192.0.2.7"
            }
            for _ in 0..<2 {
                let reply = try await bench.ask(
                    "shop.write.v1", message, key: "k", documents: [Array("{}".utf8)], as: masterKey)
                #expect(try WriteReply(serializedBytes: reply.body).outcomes.map(\.objectID) == ["categoryCa"])
            }
            #expect(try await host.number("SELECT count(*) FROM outbox WHERE kind = 'users.audit.v1'") == 1)
        }
    }

    @Test func rulesThatPrepareNothingNeedNoTask() async throws {
        try await withShop { bench, host, _ in
            let saved = try await save(bench, "Counted", #"{"text":"a"}"#, proposedId: "countedCou", key: "k")
            #expect(saved.document?["counted"] == 1)
            #expect(try await host.number("SELECT count(*) FROM keyedReplies WHERE key = 'k'") == 1)
            let refused = try await save(bench, "Counted", #"{"refused":1}"#, proposedId: "countedCo2", key: "l")
            #expect(refused.outcome.failure.message == "Refused by its rules.")
        }
    }

    @Test func aClassWithRulesIsPreparedInATaskAndItsReplyKept() async throws {
        try await withShop { bench, host, _ in
            let kept = try await save(bench, "Marked", #"{"text":"a"}"#, proposedId: "markedMark", key: "k")
            #expect(kept.document?["prepared"] == true)
            #expect(try await host.number("SELECT count(*) FROM keyedReplies WHERE key = 'k'") == 1)
            let refused = try await save(bench, "Marked", #"{"refused":1}"#, proposedId: "markedMar2", key: "l")
            #expect(refused.outcome.failure.code == 142)
            #expect(refused.outcome.failure.message == "Refused by its rules.")
        }
    }

    // MARK: Object reads

    /// The small objects of the second class follow a large one, and no longer fit.
    @Test func theEstimateOfAFetchCountsWhatWasFoundBefore() async throws {
        try await withShop { bench, _, _ in
            let large = JSON.object(["text": .string(String(repeating: "x", count: 50_000))])
            let text = String(decoding: large.serialized, as: UTF8.self)
            _ = try await save(bench, "Note", text, proposedId: "noteNoteNo", key: "k")
            _ = try await save(bench, "Known", #"{"text":"a"}"#, proposedId: "knownKnown", key: "l")
            var message = FetchRequest.with {
                $0.wanted = [("Note", "noteNoteNo"), ("Known", "knownKnown")].map { className, id in
                    ClassIds.with {
                        $0.className = className
                        $0.objectIds = [id]
                    }
                }
            }
            let whole = try await bench.ask("shop.fetch.v1", message).documents
            #expect(whole.count == 2)
            let bytes = whole.reduce(0) { $0 + $1.count }
            message.answerBytesMax = UInt32(bytes - 1)
            let refused = try await bench.ask("shop.fetch.v1", message)
            let needed = Int(try FetchReply(serializedBytes: refused.body).bytesNeeded)
            #expect(refused.documents.isEmpty)
            #expect((bytes...bytes * 2).contains(needed), "\(needed)")
            message.answerBytesMax = UInt32(needed)
            let again = try await bench.ask("shop.fetch.v1", message)
            #expect(again.documents == whole)
        }
    }

    // MARK: Sessions

    @Test func theReadOnlyKeyReadsNoSession() async throws {
        try await withShop { bench, _, _ in
            let find = FindRequest.with {
                $0.className = "_Session"
                $0.limit = 1
            }
            let live = LiveSubscribe.with {
                $0.className = "_Session"
                $0.checks = true
            }
            func read(with key: Principal) async throws {
                try await bench.ask("shop.find.v1", find, as: key)
            }
            func subscribe(with key: Principal) async throws {
                try await bench.ask("shop.liveSubscribe.v1", live, documents: [Array("{}".utf8)], as: key)
            }
            var key = Principal.with { $0.master = true }
            try await read(with: key)
            try await subscribe(with: key)
            key.readOnly = true
            let readOnlyKey = key
            let found = await #expect(throws: BusFailure.self) { try await read(with: readOnlyKey) }
            #expect(found?.failure.code == 119)
            let subscribed = await #expect(throws: BusFailure.self) { try await subscribe(with: readOnlyKey) }
            #expect(subscribed?.failure.code == 119)
        }
    }

    // MARK: Unreadable requests

    @Test func anUnknownKindIsRefused() async throws {
        try await withShop { bench, _, runs in
            let failure = try await refusal(bench, "shop.nothing.v1", "ann")
            #expect(failure.code == 108)
            #expect(failure.message == "Unknown kind shop.nothing.v1.")
            #expect(try await refusal(bench, "shop.look.v2", "ann").code == 108)
            #expect(runs.all == 0)
        }
    }

    /// A length that never ends, fewer bytes than announced, text that is not UTF-8, and an invalid wire type.
    @Test(arguments: [
        "shop.look.v1", "shop.ponder.v1", "shop.mark.v1", "shop.do.v1", "shop.function.v1", "shop.write.v1",
    ])
    func aBodyThatIsNoMessageIsRefused(kind: String) async throws {
        let bodies: [[UInt8]] = [[0x0A, 0xFF], [0x0A, 5, 0x61], [0x0A, 1, 0xFF], [0x0E, 1]]
        try await withShop { bench, host, runs in
            for body in bodies {
                var request = BusRequest(kind: kind, body: body, timeout: .seconds(30))
                request.writes = true
                request.idempotencyKey = "k"
                request.documents = [Array("{}".utf8)]
                let sent = request
                let failure = await #expect(throws: BusFailure.self, "\(body)") { try await bench.broker.call(sent) }
                #expect(failure?.failure.code == 107, "\(body)")
                #expect(failure?.failure.message == "The body of \(kind) could not be read.", "\(body)")
            }
            #expect(runs.all == 0)
            let kept = try await host.number("SELECT count(*) FROM keyedReplies")
            #expect(kept == 0)
        }
    }

    /// A message's bytes are rarely valid as another message; if they are, the required fields are missing.
    @Test func anotherMessagesBytesAreRefused() async throws {
        try await withShop { bench, _, _ in
            let get = GetRequest.with { $0.className = "Note" }
            let read = await #expect(throws: BusFailure.self) {
                try await bench.ask("shop.write.v1", get, key: "k", documents: [Array("{}".utf8)])
            }
            #expect(read?.failure.code == 107)
            let nothing = await #expect(throws: BusFailure.self) {
                try await bench.ask("shop.write.v1", Accepted(), key: "k", documents: [Array("{}".utf8)])
            }
            #expect(nothing?.failure.code == 107)
            #expect(nothing?.failure.message == "Each change needs its document.")
        }
    }
}
