import ParseProtocol
import Testing

@Suite struct NamesAndTimeTests {
    @Test func onlyIdentifiersPassTheAllowList() {
        for name in ["a", "A9_", String(repeating: "a", count: 128)] { #expect(Names.isIdentifier(name)) }
        for name in [
            "", "9a", "_a", "a-b", "a.b", "a'b", "a b", "é", "a\0", "@", "[", "`", "{",
            String(repeating: "a", count: 129),
        ] {
            #expect(!Names.isIdentifier(name), "\(name)")
        }
        #expect(!Names.isFieldName("className"))
        #expect(!Names.isFieldName("length"))
        #expect(Names.isFieldName("name"))
        #expect(Names.isClassName("_User"))
        #expect(!Names.isClassName("_Join:users:_Role"))
        #expect(!Names.isClassName("_Hooks"))
        #expect(!Names.isObjectId("role:x"))
        #expect(!Names.isObjectId("*"))
        #expect(!Names.isObjectId(""))
        #expect(Names.isObjectId("Ed1nuqPvcm"))
    }

    @Test func noClientNamesAFileLikeAPhotoOfAnAccount() throws {
        let photo = FileNames.storedName("photo.jpg", isAccountPhoto: true)
        #expect(FileNames.isAccountPhoto(photo))
        #expect(FileNames.isStoredName(photo))
        #expect(FileNames.original(photo) == "photo.jpg")
        #expect(throws: ParseError.self) { try FileNames.check(photo.dropFirst(33)) }
        for name in [
            FileNames.storedName("photo.jpg"), FileNames.storedName("a~.jpg", isPrivate: true), "_~photo.jpg", "",
        ] {
            #expect(!FileNames.isAccountPhoto(name), "\(name)")
        }
    }

    @Test func objectIdsOfOneMomentBeginAlikeAndLaterOnesDoNot() {
        func beginnings(_ milliseconds: Range<Int64>) -> Set<Substring> {
            Set(milliseconds.map { Names.objectId(at: Timestamp(milliseconds: $0)).prefix(2) })
        }
        let start: Int64 = 64 * 27_000_000_000
        #expect(beginnings(start..<start + 64).count == 1)
        #expect(beginnings(start..<start + 640).count == 10)
        // Also before 1970, where an unset clock may be.
        #expect(Names.isObjectId(Names.objectId(at: Timestamp(milliseconds: -1))))
    }

    @Test(arguments: ["", "short", "é", "a text that is too long to be kept within the string itself"])
    func theCharacterNullIsFoundAnywhereInAText(_ text: String) {
        #expect(!text.hasNull)
        for text in ["\0\(text)", "\(text)\0", "\(text)\0\(text)"] { #expect(text.hasNull) }
    }

    @Test func objectIdsAreTenLettersAndDigits() {
        let ids = (0..<1000).map { _ in Names.objectId() }
        #expect(Set(ids).count == 1000)
        #expect(ids.allSatisfy { $0.utf8.count == 10 && Names.isObjectId($0) })
    }

    @Test(arguments: [
        ("2022-01-01T12:23:45.678Z", "2022-01-01T12:23:45.678Z"), ("2022-01-01T12:23:45Z", "2022-01-01T12:23:45.000Z"),
        ("2022-01-01T12:23:45.5Z", "2022-01-01T12:23:45.500Z"),
        ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
        ("2000-02-29T00:00:00.001Z", "2000-02-29T00:00:00.001Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000Z"), ("2014-11-15", "2014-11-15T00:00:00.000Z"),
        ("2014-11-15T07:35Z", "2014-11-15T07:35:00.000Z"), ("2014-11-15T07:35+05", "2014-11-15T02:35:00.000Z"),
        ("1997-07-16T19:20:30+01:00", "1997-07-16T18:20:30.000Z"),
        ("1997-07-16T19:20:30.45+0100", "1997-07-16T18:20:30.450Z"),
        ("2014-12-31T23:59:59.9999999-09:30", "2015-01-01T09:29:59.999Z"),
        ("2022-01-01T12:23:45", "2022-01-01T12:23:45.000Z"),
    ]) func datesAreBroughtIntoOneForm(_ text: String, _ expected: String) {
        #expect(Timestamp(iso: text)?.iso == expected)
    }

    @Test(arguments: [
        "", "now", "2022-01", "2022-02-30", "2022-01-01Z", "2022-01-01T", "2022-01-01T12", "2022-01-01T12:23:",
        "2022-13-01T00:00:00Z", "2022-01-01T25:00:00Z", "20220-01-01T00:00:00Z", "2022-01-01T12:23:45.678Zx",
        "2022-01-01T12:23:45.Z", "2022-01-01T12:23:45+1", "2022-01-01T12:23:45+24:00", "2022-01-01T12:23:45+01:60",
        "2022-01-01T12:23:45+01:", "2022-01-01T12:23:45Z+01:00", "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
    ])
    func otherDatesAreRefused(_ text: String) {
        #expect(Timestamp(iso: text) == nil)
    }

    @Test func everyMillisecondPrintsAndReadsTheSame() {
        for offset in stride(from: Int64(-86_400_000 * 800), to: 4_000_000_000_000, by: 39_916_801_001) {
            let time = Timestamp(milliseconds: offset)
            #expect(Timestamp(iso: time.iso) == time)
        }
    }
}
