import GatewayService
import Messages
import ParseProtocol
import Testing

/// The meaning of what cloud code answers.
@Suite struct CodeCallTests {
    private static let find = CodeCall(
        [
            "triggerName": "beforeFind",
            "query": ["className": "Note", "where": ["open": true], "skip": 0, "limit": 100],
        ], sessionToken: "")

    private static let save = CodeCall(
        [
            "triggerName": "beforeSave", "object": ["className": "Note", "text": "a", "wish": 1],
            CodeCall.written: ["text", "wish"],
        ], sessionToken: "")

    /// A version that has given up its trigger answers nothing, until the gateway knows of it.
    @Test func aTriggerThatIsNotThereAnyMoreChangesNothing() throws {
        #expect(try Self.find.answer(to: [:]).value == .null)
        #expect(try Self.find.answer(to: .null).value == .null)
        let saved = try Self.save.answer(to: [:])
        #expect(saved.value == ["className": "Note", "text": "a", "wish": 1])
        #expect(saved.takenBack.isEmpty)
    }

    @Test func triggersOfLiveQueriesAreToldOfTheConnection() throws {
        let connect = CodeCall(
            [
                "triggerName": "beforeConnect", "className": "@Connect", "event": "connect", "clients": 2,
                "subscriptions": 3, "useMasterKey": false, "sessionToken": "r:1", "user": ["objectId": "u"],
            ], sessionToken: "r:1")
        #expect(connect.message.className == "@Connect")
        #expect(connect.members["clients"] == 2 && connect.members["subscriptions"] == 3)
        #expect(connect.members["sessionToken"] == "r:1" && connect.members["useMasterKey"] == false)
        #expect(connect.members["request"]?["user"]?["sessionToken"] == "r:1")
        #expect(try connect.answer(to: [:]).value == .null)
        let event = CodeCall(
            ["triggerName": "afterEvent", "object": ["className": "Note"], "event": "create"], sessionToken: "")
        #expect(event.message.className == "Note")
        #expect(event.members["event"] == "create")
        #expect(try event.answer(to: ["sendEvent": false]).value == ["sendEvent": false])
        #expect(throws: ParseError.self) { try event.answer(to: ["object": ["__proto__": 1]]) }
    }

    @Test func aQueryWithoutItsConditionHasNone() throws {
        let answer = try Self.find.answer(to: ["query": ["limit": 5]])
        #expect(answer.value == ["query": ["where": [:], "skip": 0, "limit": 5]])
    }

    @Test func objectsInPlaceOfAQueryAreObjects() throws {
        let answer = try Self.find.answer(to: ["objects": [["text": "a"]]])
        #expect(answer.objects == [["text": "a"]])
        #expect(try Self.find.answer(to: ["query": [:]]).objects == nil)
        #expect(throws: ParseError.self) { try Self.find.answer(to: ["objects": ["a"]]) }
    }

    @Test func aFieldThatTheResultLacksIsTakenBack() throws {
        let answer = try Self.save.answer(to: ["object": ["text": "b"]])
        #expect(answer.value == ["text": "b"])
        #expect(answer.takenBack == ["wish"])
    }

    private static func related(_ names: String..., by name: String = "AddRelation") -> JSON {
        ["__op": .string(name), "objects": .array(names.map { JSON.pointer($0, "a") })]
    }

    /// The code hears of operators on relations and may take them back; of one that the service will refuse it does
    /// not.
    @Test func operatorsOnRelationsAreTold() {
        let (adds, removes) = (Self.related("_User"), Self.related("_User", by: "RemoveRelation"))
        let both: JSON = ["__op": "Batch", "ops": [adds, removes]]
        let told: JSON = ["users": adds, "roles": both]
        let refused: JSON = [
            "odd": Self.related("_User", "_Role"), "none": Self.related(), "deep": ["__op": "Batch", "ops": [both]],
            "text": ["__op": "AddRelation", "objects": ["a"]],
        ]
        let changes = JSON.object((told.objectValue ?? [:]).merging(refused.objectValue ?? [:]) { $1 })
        let object = HookedObject.withOperators(of: changes, ["className": "_Role"])
        #expect(object == .object((told.objectValue ?? [:]).merging(["className": "_Role"]) { $1 }))
        #expect(HookedObject.written(by: changes, told: object) == ["users", "roles"])
        // Webhooks are told of none.
        #expect(HookedObject.written(by: changes, told: ["className": "_Role"]).isEmpty)
    }
}
