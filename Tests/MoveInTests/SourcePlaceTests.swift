import Testing

@testable import MoveIn

@Suite struct SourcePlaceTests {
    @Test func aPlaceNamesFileAndByte() {
        #expect(SourcePlace(file: "parse.sql", offset: 17).description == "parse.sql, byte 17")
        #expect("\(MoveInError(SourcePlace(file: "_User.bson", offset: nil), "It is empty."))" == "_User.bson: It is empty.")
    }
}
