import Foundation
import ParseProtocol
import TestSupport
import Testing

@testable import MoveIn

/// Bytes of BSON, documents of MongoDB and rows of PostgreSQL that move out.
@Suite struct StorageFormTests {
    // MARK: BSON

    /// The examples of bsonspec.org.
    @Test func documentsHaveTheBytesOfTheSpecification() throws {
        let hello = BSONDocument(elements: [.init(name: "hello", value: .string("world"))])
        #expect(
            try hello.serialized() == Array("\u{16}\0\0\0\u{2}hello\0\u{6}\0\0\0world\0\0".utf8))
        let list: BSON = .array([.string("awesome"), .double(5.05), .int32(1986)])
        let expected: [UInt8] =
            [0x31, 0, 0, 0, 4] + Array("BSON\0".utf8) + [0x26, 0, 0, 0, 2] + Array("0\0".utf8) + [8, 0, 0, 0]
            + Array("awesome\0".utf8) + [1] + Array("1\0".utf8) + [0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x14, 0x40]
            + [0x10] + Array("2\0".utf8) + [0xC2, 7, 0, 0, 0, 0]
        #expect(try BSONDocument(elements: [.init(name: "BSON", value: list)]).serialized() == expected)
    }

    @Test func eachTypeIsReadBack() throws {
        let values: [BSON] = [
            .null, .bool(true), .bool(false), .int32(.min), .int64(.max), .double(-0.1), .string("é\0\u{1F600}"),
            .string(""), .date(-1), .objectId("0102030405060708090a0b0c"), .binary([0, 255]), .binary([]), .array([]),
            .array([.null, .array([.int32(1)])]), .document(BSONDocument()),
        ]
        var document = BSONDocument()
        for (number, value) in values.enumerated() { document.elements.append(.init(name: "v\(number)", value: value)) }
        #expect(try BSONDocument(parsing: try document.serialized()) == document)
    }

    @Test func whatMongoDBCannotStoreIsRefused() {
        var deep: BSON = .null
        for _ in 0..<BSONDocument.depthMax { deep = .array([deep]) }
        for (name, value) in [
            ("a\0b", .null), ("a", .undefined), ("a", .decimal("1E0")), ("a", .other("code")), ("a", deep),
            ("a", .objectId("xyz")), ("a", .binary(Array(repeating: 1, count: BSONDocument.storedBytesMax))),
        ] as [(String, BSON)] {
            let document = BSONDocument(elements: [.init(name: name, value: value)])
            #expect(throws: UnstorableValue.self) { try document.serialized() }
        }
    }

    // MARK: MongoDB

    /// What MongoDB's fixture has comes out as it was: rows, schemas, permissions and indexes.
    @Test func aMongoDumpComesOutAsItWas() async throws {
        let old = try #require(try MongoDump.open("\(fixtures)/mongo/dump", prefix: ""))
        try await withFolder { folder in
            try await Self.copy(old, to: try MongoDumpWriter("\(folder)/dump"))
            let new = try #require(try MongoDump.open("\(folder)/dump", prefix: ""))
            for schema in try await old.classes() where schema.name != "Broken" {
                let (before, after) = (try await old.read(schema.name), try await new.read(schema.name))
                let (objects, copies) = (await before.objects, await after.objects)
                #expect(objects == copies, "\(schema.name)")
                #expect(await after.refusals.isEmpty)
            }
            for name in ["Item", "Brand", "_User", "_Role"] {
                let (before, after) = (try await old.classNamed(name), try await new.classNamed(name))
                #expect(before?.fields == after?.fields, "\(name)")
                #expect(before?.classLevelPermissions == after?.classLevelPermissions, "\(name)")
                #expect(before?.indexes.filter { $0.key != "text" } == after?.indexes, "\(name)")
            }
        }
    }

    @Test func namesOfFilesAreThoseOfMongodump() throws {
        #expect(MongoDumpWriter.fileName("_Join:users:_Role") == "_Join%3Ausers%3A_Role")
        #expect(FolderListing.decoded(MongoDumpWriter.fileName("_Join:users:_Role")) == "_Join:users:_Role")
    }

    @Test func aFolderWithFilesAndAKnownFileAreRefused() async throws {
        try await withFolder { folder in
            try write([1], "\(folder)/a.txt")
            #expect(throws: MoveInError.self) { _ = try MongoDumpWriter(folder) }
            #expect(throws: MoveInError.self) { _ = try SQLWriter("\(folder)/a.txt") }
            #expect(try content("\(folder)/a.txt") == [1])
        }
    }

    // MARK: PostgreSQL

    /// The database of a real Parse Server comes out as it was: every check of the fixture holds.
    @Test func aDatabaseOfParseServerComesOutAsItWas() async throws {
        let old = try #require(try PostgreSQLDump.open(ParseServerFixture.dump))
        try await withFolder { folder in
            let file = "\(folder)/out.sql"
            try await Self.copy(old, to: try SQLWriter(file))
            try await ParseServerFixture.check(try #require(try PostgreSQLDump.open(file)))

            let url = try await TestSupport.PostgreSQLServer.shared.newDatabase()
            _ = try await Command.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", file])
            try await ParseServerFixture.check(try LiveDatabase(url))
        }
    }

    @Test func longNamesAreCutAndEqualOnesAreRefused() async throws {
        let className = String(repeating: "C", count: 128)
        let field = String(repeating: "f", count: 70)
        let relation = "_Join:fans:\(className)"
        let schema = MovedClass(
            name: className,
            fields: [
                "objectId": ["type": "String"], field: ["type": "File"],
                "fans": ["type": "Relation", "targetClass": "_User"],
            ], indexes: [String(repeating: "i", count: 70): [field: 1]])
        let text: JSON = ["type": "String"]
        let members = MovedClass(name: relation, fields: ["owningId": text, "relatedId": text])
        try await withFolder { folder in
            let file = "\(folder)/out.sql"
            #expect(PostgreSQLForm.table(schema).hasPrefix("CREATE TABLE \"\(className.prefix(63))\" ("))
            let writer = try SQLWriter(file)
            try writer.begin([schema])
            try writer.open(schema)
            try writer.add(MovedRow(className, "a", ["objectId": "a", field: ["__type": "File", "name": "x.png"]]))
            try writer.close()
            try writer.open(members)
            try writer.add(MovedRow(relation, "a:u", ["owningId": "a", "relatedId": "u"]))
            try writer.close()
            try writer.finish()

            let url = try await TestSupport.PostgreSQLServer.shared.newDatabase()
            _ = try await Command.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", file])
            let dump: any OldServer = try #require(try PostgreSQLDump.open(file))
            let live: any OldServer = try LiveDatabase(url)
            for server in [dump, live] {
                let objects = await (try await server.read(className)).objects
                #expect(objects == [["objectId": "a", field: ["__type": "File", "name": "x.png"]]])
                #expect(try await server.classNamed(relation)?.rows == 1)
                let rows = await (try await server.read(relation)).rows
                #expect(rows.map(\.objectId) == ["a:u"])
            }

            for (number, other) in [
                MovedClass(name: "\(className.dropLast())x"),
                MovedClass(name: "Item", fields: [field: text, field + "x": text]),
            ].enumerated() {
                let refusing = try SQLWriter("\(folder)/\(number).sql")
                let error = #expect(throws: MoveInError.self) { try refusing.begin([schema, other]) }
                #expect(error?.description.contains("x are equal") == true)
            }
        }
    }

    /// Only `_User` keeps a hash in its place.
    @Test func aClassMayHaveTheFieldPassword() async throws {
        let text: JSON = ["type": "String"]
        let schema = MovedClass(name: "WiFi", fields: ["objectId": text, "password": text])
        let row = MovedRow("WiFi", "a", ["objectId": "a", "password": "guest"])
        try await withFolder { folder in
            let (sql, dump) = ("\(folder)/out.sql", "\(folder)/dump")
            let writers: [any OutWriter] = [try SQLWriter(sql), try MongoDumpWriter(dump)]
            for writer in writers {
                try writer.begin([schema])
                try writer.open(schema)
                try writer.add(row)
                try writer.close()
                try writer.finish()
            }
            let servers: [any OldServer] = [
                try #require(try PostgreSQLDump.open(sql)), try #require(try MongoDump.open(dump, prefix: "")),
            ]
            for server in servers {
                #expect(try await server.classNamed("WiFi")?.fields["password"] == text, "\(server.name)")
                let objects = await (try await server.read("WiFi")).objects
                #expect(objects == [["objectId": "a", "password": "guest"]], "\(server.name)")
            }
        }
        var user = schema
        user.name = "_User"
        #expect(!PostgreSQLForm.columns(of: user).contains { $0.name == "password" })
        #expect(PostgreSQLForm.stored(user)["fields"]?["password"] == nil)
        let document = try MongoForm.schema(user)
        #expect(!document.elements.contains { $0.name == "password" })
    }

    @Test func linesOfCopyAreEscaped() throws {
        let types = [
            ("text", "text"), ("list", "jsonb"), ("none", "text"), ("ok", "boolean"), ("n", "double precision"),
        ]
        let columns = types.map { PostgreSQLForm.Column(name: $0.0, type: $0.1) }
        let fields: [String: JSON] = ["text": "a\tb\\N\nc\r", "list": ["x\n", ["y": ""]], "ok": true, "n": 1.5]
        let line = String(decoding: try PostgreSQLForm.line(MovedRow("Item", "a", fields), columns), as: UTF8.self)
        let values = [#"a\tb\\N\nc\r"#, #"["x\\n",{"y":""}]"#, #"\N"#, "t", "1.5"]
        #expect(line == values.joined(separator: "\t") + "\n")
        #expect(PostgreSQLForm.escaped("") == "")
        for value in ["a\0b", ["deep": ["a\0b"]], ["a\0": 1]] as [JSON] {
            let row = MovedRow("Item", "a", ["list": value])
            #expect(throws: UnstorableValue.self) { try PostgreSQLForm.line(row, columns) }
        }
        let wrong = MovedRow("Item", "a", ["n": "many"])
        #expect(throws: UnstorableValue.self) { try PostgreSQLForm.line(wrong, columns) }
    }

    @Test func permissionsAreArrays() throws {
        let columns = ["_rperm", "_wperm"].map { PostgreSQLForm.Column(name: $0, type: "text[]") }
        func line(_ fields: [String: JSON]) throws -> String {
            String(decoding: try PostgreSQLForm.line(MovedRow("Item", "a", fields), columns), as: UTF8.self)
        }
        #expect(try line([:]) == "\\N\t\\N\n")
        #expect(try line(["ACL": [:]]) == "{}\t{}\n")
        let acl: JSON = ["*": ["read": true], "role:a b": ["read": true, "write": true]]
        #expect(try line(["ACL": acl]) == "{\"*\",\"role:a b\"}\t{\"role:a b\"}\n")
    }

    @Test func tablesAreThoseOfParseServer() {
        var schema = MovedClass(
            name: "Item",
            fields: [
                "objectId": ["type": "String"], "price": ["type": "Number"], "place": ["type": "GeoPoint"],
                "fans": ["type": "Relation", "targetClass": "_User"], "ACL": ["type": "ACL"],
            ])
        schema.indexes = ["price_1": ["price": -1], "_id_": ["_id": 1], "text": ["price": "text"], "x": ["gone": 1]]
        let expected = """
            CREATE TABLE "Item" (
                "objectId" text NOT NULL,
                "place" point,
                "price" double precision,
                "_rperm" text[],
                "_wperm" text[],
                PRIMARY KEY ("objectId")
            );

            """
        #expect(PostgreSQLForm.table(schema) == expected)
        let index = "CREATE INDEX IF NOT EXISTS \"price_1\" ON \"Item\" (\"price\" DESC);\n"
        #expect(PostgreSQLForm.indexes(schema) == index)
        #expect(PostgreSQLForm.quoted("a\"b") == "\"a\"\"b\"")
    }

    /// Writes all classes of an old server.
    private static func copy(_ old: any OldServer, to writer: any OutWriter) async throws {
        let classes = try await old.classes().sorted { $0.name < $1.name }
        let unlisted: Set = ["_Audience", "_GlobalConfig", "_Hooks", "_JobSchedule", "_JobStatus", "_PushStatus"]
        try writer.begin(
            classes.filter { RelationName($0.name) == nil && !$0.fields.isEmpty && !unlisted.contains($0.name) })
        for schema in classes {
            try writer.open(schema)
            for row in await (try await old.read(schema.name)).rows { try writer.add(row) }
            try writer.close()
        }
        try writer.finish()
    }
}
