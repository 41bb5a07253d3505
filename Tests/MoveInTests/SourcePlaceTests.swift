import Testing

@testable import MoveIn

@Suite struct SourcePlaceTests {
    @Test func aPlaceNamesFileAndByte() {
        #expect(SourcePlace(file: "parse.sql", offset: 17).description == "parse.sql, byte 17")
        let error = MoveInError(SourcePlace(file: "_User.bson", offset: nil), "It is empty.")
        #expect(error.description == "_User.bson: It is empty.")
    }
}
