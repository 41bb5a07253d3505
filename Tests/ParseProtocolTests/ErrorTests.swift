import ParseProtocol
import Testing

@Suite struct ErrorTests {
    @Test func anErrorHasTheBodyOfTheProtocol() {
        #expect(ParseError.objectNotFound.body.serializedText == #"{"code":101,"error":"Object not found."}"#)
        #expect(
            ParseError(.scriptFailed, "Declined.", details: ["code": "card_declined"]).body["details"] == [
                "code": "card_declined"
            ])
    }

    @Test func aCallerIsGrantedWhatItsNameAndRolesAre() {
        #expect(Caller(userId: "u", roles: ["admins"]).grants == ["*", "u", "role:admins"])
        #expect(Caller.anonymous.grants == ["*"])
    }

    @Test func aPointerIsReadFromBothOfItsForms() {
        #expect(JSON.pointer("C", "x").pointerTarget?.objectId == "x")
        #expect((["__type": "Object", "className": "C", "objectId": "x"] as JSON).pointerTarget?.className == "C")
        #expect((["__type": "Pointer", "className": "C"] as JSON).pointerTarget == nil)
        #expect(JSON.string("x").pointerTarget == nil)
    }
}
