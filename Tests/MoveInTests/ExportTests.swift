import ParseProtocol
import Testing

@testable import MoveIn

@Suite struct ExportTests {
    private func opened() throws -> any OldServer { try #require(try ExportFolder.open("\(fixtures)/hosted")) }

    @Test func hostedParsesExportIsRead() async throws {
        let server = try opened()
        let items = try await server.read("Item")
        let rows = await items.rows
        #expect(rows.map(\.objectId) == ["item000001", "item000002"])
        #expect(rows[0].updatedAt == 1_457_067_967_008)
        #expect(rows[0].fields["name"] == "Braces } ] \" \\")
        #expect(rows[0].fields["picture"]?["url"] == "http://files.parsetfss.com/a/tfss-1-soap.png")
        #expect(rows[0].fields["ACL"] == ["*": ["read": true]])
        #expect(rows[0].fields["fans"] == nil)
        #expect(await items.refusals.map(\.reason) == ["Its objectId is missing or no usable id."])
        let user = try await server.read("_User").rows.first
        #expect(user?.fields["_hashed_password"]?.stringValue?.hasPrefix("$2a$10$") == true)
        #expect(user?.fields["bcryptPassword"] == nil)
        let relation = try await server.read("_Join:users:_Role").rows
        #expect(relation.map(\.objectId) == ["role000001:user000001"])
        #expect(try await server.read("Brand").rows.count == 1)
        #expect(try await server.read("Empty").rows == [])
    }

    @Test func aFolderThatCannotBeReadIsNoEmptyOne() async throws {
        try await withFolder { folder in
            let files = try FolderListing.files(folder)
            #expect(files.isEmpty)
            #expect(throws: MoveInError.self) { _ = try FolderListing.files("\(folder)/none") }
        }
    }

    @Test func aClassHasTheTypesOfItsFirstObjects() async throws {
        let item = try #require(try await opened().classNamed("Item"))
        #expect(item.fields["brand"] == ["type": "Pointer", "targetClass": "Brand"])
        #expect(item.fields["fans"] == ["type": "Relation", "targetClass": "_User"])
        #expect(item.fields["picture"] == ["type": "File"])
        #expect(item.fields["price"] == ["type": "Number"])
        #expect(item.fields["createdAt"] == ["type": "Date"])
        #expect(try await opened().classNamed("_User")?.fields["bcryptPassword"] == nil)
    }

    @Test func otherFoldersAreNoExports() throws {
        for path in ["mongo/json-canonical", "mongo/dump", "README.md", "none"] {
            let server = try ExportFolder.open("\(fixtures)/\(path)")
            #expect(server?.name == nil)
        }
    }

    /// The texts of the objects in a file that comes in pieces of this size.
    private func rows(_ text: String, pieceBytes: Int = 3) throws -> [String] {
        let rows = JSONRows(ByteReader(MemoryPieces(Array(text.utf8), pieceBytes: pieceBytes), file: "Item.json"))
        var texts: [String] = []
        while let (text, place) = try rows.next() {
            #expect(place.file == "Item.json")
            texts.append(String(decoding: text, as: UTF8.self))
        }
        return texts
    }

    @Test func rowsAreFoundInEachForm() throws {
        let objects = [#"{"a":"}]\"{\\"}"#, "{}", #"{"b":[{"c":[]}]}"#]
        for pieceBytes in [1, 2, 3, 7, 4096] {
            let list = objects.joined(separator: " ,\n")
            for text in [
                "[\(list)]", " [ \(list) ] \n", "\u{FEFF}[\(list)]", "{\"results\":[\(list)]}",
                "{ \"results\" :\n[ \(list) ], \"count\": 3 }\n", objects.joined(separator: "\n"),
                objects.joined(), "\u{FEFF}\(objects.joined(separator: "\r\n"))\r\n",
            ] {
                #expect(try rows(text, pieceBytes: pieceBytes) == objects, "\(text)")
            }
            for text in ["", " \n", "[]", "[ ]", #"{"results":[]}"#] {
                #expect(try rows(text, pieceBytes: pieceBytes) == [], "\(text)")
            }
        }
        #expect(try rows(#"{"results":{}}"#) == [#"{"results":{}}"#])
        #expect(try rows(#"{"resul ts":[]}"#) == [#"{"resul ts":[]}"#])
    }

    @Test(arguments: [
        "5", "\"a\"", "[5]", "[,]", "[{},]", "[{}{}]", "[{} {}]", "[{}", "[{},", "[", "{", "{}x", "{},{}", "[]]",
        "[]{}",
        #"{"results":["#, #"{"results":[]"#, #"{"results":[{}],"#, #"{"results":[{},]}"#, #"{"results":[{}],[]"#,
        #"{"a":"}"#, #"{"a":[}"#,
    ]) func aDamagedFileIsAnError(_ text: String) {
        #expect(throws: MoveInError.self) { try rows(text) }
    }

    @Test func aCutAnywhereGivesNoWrongRow() throws {
        let text = try content("\(fixtures)/hosted/Item.json")
        let whole = try rows(String(decoding: text, as: UTF8.self))
        for count in 0..<(text.count - 2) {
            let reader = JSONRows(ByteReader(MemoryPieces(Array(text[..<count])), file: "Item.json"))
            var read: [String] = []
            do {
                while let (row, _) = try reader.next() { read.append(String(decoding: row, as: UTF8.self)) }
                #expect(count == 0)
            } catch {
                #expect(error is MoveInError)
            }
            #expect(read == Array(whole.prefix(read.count)))
        }
    }

    @Test func extendedJSONHasEachType() throws {
        func value(_ text: String) throws -> BSON? { try ExtendedJSON.document(Array("{\"x\":\(text)}".utf8))["x"] }
        #expect(try value(#"{"$oid":"507F1f77bcf86cd799439011"}"#) == .objectId("507f1f77bcf86cd799439011"))
        for text in [#"{"$numberInt":"5"}"#, #"{"$numberLong":"5"}"#, #"{"$numberLong":5}"#, "5"] {
            #expect(try value(text) == .int64(5))
        }
        #expect(try value(#"{"$numberDouble":"-0.5"}"#) == .double(-0.5))
        #expect(try value(#"{"$numberDouble":"Infinity"}"#) == .double(.infinity))
        #expect(try value(#"{"$numberDecimal":"1.5"}"#) == .decimal("1.5"))
        for text in [
            #"{"$date":{"$numberLong":"1577836800001"}}"#, #"{"$date":1577836800001}"#,
            #"{"$date":"2020-01-01T00:00:00.001Z"}"#, #"{"$date":"2020-01-01T01:00:00.001+0100"}"#,
        ] {
            #expect(try value(text) == .date(1_577_836_800_001))
        }
        for text in [#"{"$binary":{"base64":"AQI=","subType":"00"}}"#, #"{"$binary":"AQI=","$type":"00"}"#] {
            #expect(try value(text) == .binary([1, 2]))
        }
        #expect(try value(#"{"$undefined":true}"#) == .undefined)
        #expect(try value(#"{"$regularExpression":{"pattern":"a","options":""}}"#) == .other("a regular expression"))
        #expect(try value(#"{"$regex":"a","$options":""}"#) == .other("a regular expression"))
        #expect(try value(#"{"$minKey":1}"#) == .other("a smallest or largest key"))
        let plain = #"{"$ref":"A","$id":"b"}"#
        #expect(try value(plain)?.documentValue?["$ref"] == .string("A"))
        #expect(try value(#"{"$oid":"507f1f77bcf86cd799439011","a":1}"#)?.documentValue != nil)
        for text in [
            #"{"$oid":"507f"}"#, #"{"$numberInt":"a"}"#, #"{"$date":"soon"}"#, #"{"$binary":"%"}"#,
            #"{"$numberDecimal":""}"#, #"{"$uuid":"00"}"#,
        ] {
            #expect(throws: UnreadableRow.self) { try value(text) }
        }
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        #expect(throws: UnreadableRow.self) { try value(deep) }
    }
}
