import ParseProtocol
import Testing

@testable import MoveIn

@Suite struct RowConverterTests {
    private static let schema: [String: JSON] = [
        "brand": ["type": "Pointer", "targetClass": "Brand"], "count": ["type": "Number"],
        "place": ["type": "GeoPoint"], "area": ["type": "Polygon"], "code": ["type": "Bytes"],
        "soldAt": ["type": "Date"], "fans": ["type": "Relation", "targetClass": "_User"],
    ]

    private func converted(
        _ elements: KeyValuePairs<String, BSON>, as className: String = "Item"
    ) throws -> (fields: [String: JSON], notes: [String]) {
        var converter = RowConverter(className: className, schema: Self.schema)
        var document = BSONDocument(elements: [.init(name: "_id", value: .string("item000001"))])
        document.elements += elements.map { BSONDocument.Element(name: $0.key, value: $0.value) }
        let row = try converter.row(document, at: SourcePlace(file: "Item.bson"))
        return (row.fields.filter { $0.key != "objectId" }, converter.values.notes)
    }

    @Test func aMissingListOfPermissionsMeansAll() throws {
        #expect(try converted(["_acl": .document(BSONDocument())]).fields["ACL"] == nil)
        #expect(try converted(["_rperm": .null, "_wperm": .undefined]).fields["ACL"] == nil)
        #expect(try converted(["_rperm": .array([]), "_wperm": .array([])]).fields["ACL"] == [:])
        let writable = try converted(["_wperm": .array([.string("role:staff")])]).fields["ACL"]
        #expect(writable == ["*": ["read": true], "role:staff": ["write": true]])
        let readable = try converted(["_rperm": .array([.string("*")])]).fields["ACL"]
        #expect(readable == ["*": ["read": true, "write": true]])
        for list in [.string("*"), .array([.int32(1)]), .array([.null])] as [BSON] {
            #expect(throws: UnreadableRow.self) { try converted(["_rperm": list]) }
        }
    }

    @Test func pointersAreThoseOfTheSchema() throws {
        #expect(try converted(["_p_brand": .string("Brand$b$1")]).fields["brand"] == .pointer("Brand", "b$1"))
        #expect(try converted(["_p_other": .string("_User$u")]).fields["other"] == .pointer("_User", "u"))
        #expect(try converted(["_p_brand": .null]).fields.isEmpty)
        let (fields, notes) = try converted(["_p_count": .string("Brand$b")])
        #expect(fields.isEmpty && notes.count == 1)
        let stored = try converted(["_p_brand": .string("Brand$b"), "brand": .string("plain")])
        #expect(stored.fields["brand"] == .pointer("Brand", "b"))
        for text in ["Brand", "$b", "Brand$", "", "Shop$b"] {
            #expect(throws: UnreadableRow.self) { try converted(["_p_brand": .string(text)]) }
        }
    }

    @Test func valuesThatTheSchemaDoesNotFitStayAsTheyAre() throws {
        let pair: BSON = .array([.int32(1), .string("2")])
        #expect(try converted(["place": pair]).fields["place"] == [1, "2"])
        #expect(try converted(["place": .array([.int32(1)])]).fields["place"] == [1])
        #expect(try converted(["area": .document(BSONDocument())]).fields["area"] == [:])
        #expect(try converted(["code": .string("%")]).fields["code"] == "%")
        #expect(try converted(["code": .string("AQI=")]).fields["code"] == ["__type": "Bytes", "base64": "AQI="])
        #expect(try converted(["soldAt": .string("soon")]).fields["soldAt"] == "soon")
        let date: JSON = ["__type": "Date", "iso": "2020-01-01T00:00:00.000Z"]
        #expect(try converted(["soldAt": .string("2020-01-01T00:00:00.000Z")]).fields["soldAt"] == date)
        #expect(try converted(["fans": .int32(1), "count": .null, "gone": .undefined]).fields == ["count": .null])
    }

    @Test func onlyUsersHaveSecrets() throws {
        let stored: KeyValuePairs<String, BSON> = [
            "_hashed_password": .string("h"), "_auth_data_x": .document(BSONDocument()), "authData": .int32(1),
        ]
        #expect(try converted(stored, as: "_User").fields == ["_hashed_password": "h", "authData": ["x": [:]]])
        let (fields, notes) = try converted(stored)
        #expect(fields == ["authData": 1])
        #expect(notes.count == 2)
    }

    @Test func numbersThatJSONHasNotAreRefusedOrRounded() throws {
        for number in [.double(.nan), .double(-.infinity), .decimal("NaN"), .decimal("1E6000")] as [BSON] {
            #expect(throws: UnreadableRow.self) { try converted(["x": .array([number])]) }
        }
        let (fields, notes) = try converted(["x": .int64(.max), "y": .int64(1 << 53), "z": .double(-0.0)])
        #expect(fields == ["x": .double(9_223_372_036_854_775_807), "y": .int(1 << 53), "z": 0])
        #expect(notes == ["Numbers in \"x\" have more digits than JSON numbers and are rounded."])
    }

    @Test func idsAreTexts() throws {
        func id(_ value: BSON) -> String? {
            RowConverter.id(of: BSONDocument(elements: [.init(name: "_id", value: value)]))
        }
        #expect(id(.objectId("507f1f77bcf86cd799439011")) == "507f1f77bcf86cd799439011")
        #expect(id(.int32(1)) == "1" && id(.int64(2)) == "2" && id(.double(3)) == "3")
        for value in [.string(""), .string("a\tb"), .string("a\nb"), .double(0.5), .null, .bool(true)] as [BSON] {
            #expect(id(value) == nil)
        }
    }
}
