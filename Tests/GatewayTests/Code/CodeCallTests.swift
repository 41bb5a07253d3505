import GatewayService
import Messages
import ParseProtocol
import Testing

/// The meaning of cloud code's answers.
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

    /// A version that no longer has the trigger answers nothing, until the gateway knows that.
    @Test func aTriggerThatIsNotThereAnyMoreChangesNothing() throws {
        #expect(try Self.find.answer(to: [:]).value == .null)
        #expect(try Self.find.answer(to: .null).value == .null)
        let saved = try Self.save.answer(to: [:])
        #expect(saved.value == ["className": "Note", "text": "a", "wish": 1])
        #expect(saved.removedByCode.isEmpty)
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
        #expect(answer.removedByCode == ["wish"])
    }

    private static let five: JSON = ["__op": "Increment", "amount": 5]
    private static let one: JSON = ["__op": "Increment", "amount": 1]

    /// For a field with written members, the result contains either the members or the whole field.
    @Test func aMemberThatTheResultLacksIsTakenBack() throws {
        let save = CodeCall(
            [
                "triggerName": "beforeSave", "object": ["className": "Note", "m": ["a": 6, "b": 1], "n": 1],
                CodeCall.written: ["m", "n"], CodeCall.ofMembers: ["m.a": Self.five, "m.b": 1],
            ], sessionToken: "")
        #expect(try save.answer(to: ["object": ["m.a": 1, "m.b": 1, "n": 1]]).removedByCode == [])
        #expect(try save.answer(to: ["object": ["m.b": 1]]).removedByCode == ["m.a", "n"])
        #expect(try save.answer(to: ["object": ["m": ["z": 1], "n": 1]]).removedByCode == [])
    }

    /// A client's changes, the code's answer, and the stored changes.
    struct Both: Sendable {
        let client: JSON
        let code: JSON
        let written: JSON
    }

    private static let six: JSON = ["__op": "Increment", "amount": 6]
    private static let add: JSON = ["__op": "Add", "objects": [1]]
    static let both = [
        Both(client: ["m.a": five, "m.b": 1], code: ["m.a": six, "m.b": 1], written: ["m.a": six, "m.b": 1]),
        Both(client: ["m.a": five], code: ["m": ["z": 1]], written: ["m": ["z": 1]]),
        Both(
            client: ["m.a": five, "m.b": 1], code: ["m": ["z": 1], "m.b": 1], written: ["m": ["z": 1], "m.b": 1]),
        Both(
            client: ["n": 1], code: ["n": 1, "m.a": ["__op": "Delete"]],
            written: ["n": 1, "m.a": ["__op": "Delete"]]),
        // An SDK without member operations returns the value that it received, and its own operation.
        Both(client: ["m.a": five], code: ["m": ["a": 6], "m.a": one], written: ["m": ["a": 6], "m.a": one]),
        Both(
            client: ["l": add, "l.1": 1], code: ["l": add, "l.0": 2, "l.1": 1],
            written: ["l": add, "l.0": 2, "l.1": 1]),
    ]

    @Test(arguments: both)
    func operationsOnMembersAreWrittenAsTheCodeLeavesThem(_ both: Both) {
        let client = both.client
        let merged = HookedObject.merged(client, into: ["m": ["a": 1], "l": [0, 0]], of: "Note")
        let told = HookedObject.withOperators(of: client, merged)
        let members = HookedObject.members(of: client, sent: told)
        let fields = HookedObject.replaced(by: both.code, sent: told, members: members)
        #expect(HookedObject.document(client, replacing: fields) == both.written)
    }

    @Test func whatCodeCannotTakeAsAnOperationItSeesAsAValue() {
        let deep = Array(repeating: "m", count: 17).joined(separator: ".")
        let changes: JSON = [
            "k.a": Self.five, "whole": 1, "whole.a": 1, "odd.a": ["__op": "Odd"], "odd.b": 1, "bad.__proto__.x": 1,
            "authData.facebook": 1, "objectId.x": 1, "n.a": ["__op": "Increment", "amount": "x"],
        ]
        var told = changes
        told[deep] = 1
        let members = HookedObject.members(of: told, sent: HookedObject.merged(told, into: nil, of: "Note"))
        #expect(members == ["k.a": Self.five])
    }

    private static func related(_ names: String..., by name: String = "AddRelation") -> JSON {
        ["__op": .string(name), "objects": .array(names.map { JSON.pointer($0, "a") })]
    }

    /// The code receives relation operators and may undo them. It does not receive operators that the service will
    /// refuse.
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
        #expect(HookedObject.written(by: changes, sent: object) == ["users", "roles"])
        // Webhooks receive none.
        #expect(HookedObject.written(by: changes, sent: ["className": "_Role"]).isEmpty)
    }
}
