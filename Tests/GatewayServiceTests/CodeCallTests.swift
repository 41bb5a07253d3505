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
}
