import Compression
import Foundation
import ParseProtocol
import Testing

@testable import MoveIn

@Suite struct MongoDumpTests {
    private static let folder = "\(fixtures)/mongo"
    private static let whole = ["dump", "dump/shop", "shop.archive", "shop.archive.gz", "json-canonical"]
    private static let partial = ["gzip", "gzip/shop", "json-relaxed", "json-legacy"]

    private func opened(_ path: String, prefix: String = "") throws -> any OldServer {
        try #require(try MongoDump.open("\(Self.folder)/\(path)", prefix: prefix))
    }

    private func expectedRows() throws -> [String: JSON] {
        try #require(try JSON(parsing: content("\(Self.folder)/expected.json")).objectValue)
    }

    @Test(arguments: whole) func everyFormHasTheSameRows(_ path: String) async throws {
        let server = try opened(path)
        let expected = try expectedRows()
        for (className, rows) in expected {
            let read = try await server.read(className)
            let objects = await read.objects
            #expect(JSON.array(objects) == rows, "\(className)")
            #expect(await read.refusals == [])
        }
        let names = Set(try await server.classes().map(\.name)).subtracting(["Broken"])
        #expect(names == Set(expected.keys).union(["_Join:roles:_Role", "_Join:fans:Item"]))
        let relation = try await server.read("_Join:users:_Role")
        #expect(await relation.rows.map(\.objectId) == ["role000001:user000001"])
    }

    @Test(arguments: partial) func otherFormsHaveTheSameRows(_ path: String) async throws {
        let read = try await opened(path).read("Item")
        let (objects, expected) = (await read.objects, try expectedRows())
        #expect(JSON.array(objects) == expected["Item"])
        #expect(await read.refusals == [])
        #expect(await read.rows.first?.updatedAt == 1_622_536_200_500)
    }

    @Test func aSchemaIsAsParseHasIt() async throws {
        let item = try #require(try await opened("dump").classNamed("Item"))
        #expect(item.fields["name"] == ["type": "String", "required": true, "defaultValue": "?"])
        #expect(item.fields["brand"] == ["type": "Pointer", "targetClass": "Brand"])
        #expect(item.fields["fans"] == ["type": "Relation", "targetClass": "_User"])
        let types = ["price", "active", "soldAt", "picture", "place", "area", "code", "more", "old", "tags", "ACL"]
        #expect(
            types.map { item.fields[$0]?["type"] } == [
                "Number", "Boolean", "Date", "File", "GeoPoint", "Polygon", "Bytes", "Object", "Object", "Array", "ACL",
            ])
        #expect(item.classLevelPermissions?["find"] == ["*": true])
        #expect(item.classLevelPermissions?["get"] == ["role:staff": true])
        #expect(item.classLevelPermissions?["delete"] == [:])
        #expect(
            item.indexes == [
                "price_1": ["price": 1], "brand": ["brand": 1, "createdAt": -1], "text": ["name": "text"],
            ])
        #expect(item.bytes != nil)
        let brand = try #require(try await opened("dump").classNamed("Brand"))
        #expect(brand.classLevelPermissions == nil)
        let archived = try #require(try await opened("shop.archive").classNamed("Item"))
        #expect(archived.rows == 5)
        #expect(archived.indexes == item.indexes)
    }

    @Test func whatChangesIsNotedOnce() async throws {
        let notes = try await opened("dump").read("Item").notes
        #expect(notes.count == 2)
        #expect(notes.contains { $0.contains("\"price\" have more digits") })
        #expect(notes.contains { $0.contains("\"_tombstone\" is left out") })
    }

    @Test(arguments: ["dump", "shop.archive"]) func rowsThatNothingCanTakeAreRefusedOneByOne(
        _ path: String
    ) async throws {
        let read = try await opened(path).read("Broken")
        #expect(await read.rows.map(\.objectId) == ["good000001"])
        let refusals = await read.refusals
        #expect(refusals.count == 12)
        #expect(refusals.first?.objectId == "broken0001")
        #expect(refusals.first?.place.offset != nil)
        for (reason, count) in [
            "NaN or infinite": 2, "a regular expression": 1, "has code": 2, "an internal timestamp": 1,
            "a smallest or largest key": 1, "the form Class$id": 1, "not a list of texts": 1, "prohibited key": 1,
            "Its createdAt is not a date": 1, "Its _id is missing": 1,
        ] {
            #expect(refusals.count { $0.reason.contains(reason) } == count, "\(reason)")
        }
    }

    @Test(arguments: ["dump", "shop.archive", "json-canonical"]) func aPrefixChoosesTheApp(_ path: String) async throws
    {
        let server = try opened(path, prefix: "old_app_")
        #expect(try await server.classes().map(\.name) == ["Item"])
        #expect(try await server.read("Item").rows.map(\.objectId) == ["old0000001"])
        #expect(throws: MoveInError.self) { try opened(path, prefix: "none_") }
    }

    @Test func otherPathsAreNoDumps() throws {
        for path in ["\(fixtures)/none", "\(fixtures)/README.md", "\(fixtures)/hosted", "https://shop.example/parse"] {
            let server = try MongoDump.open(path, prefix: "")
            #expect(server?.name == nil)
        }
    }

    @Test func severalDatabasesNeedOneWithTheApp() async throws {
        try await withFolder { folder in
            for database in ["a", "b", "admin"] {
                try FileManager.default.createDirectory(
                    atPath: "\(folder)/\(database)", withIntermediateDirectories: true)
                try write(Built.document(Built.id("\(database)000000001")), "\(folder)/\(database)/Item.bson")
            }
            #expect(throws: MoveInError.self) { try MongoDump.open(folder, prefix: "") }
            try write(Built.document(Built.id("Item")), "\(folder)/b/_SCHEMA.bson")
            let server = try #require(try MongoDump.open(folder, prefix: ""))
            #expect(try await server.read("Item").rows.map(\.objectId) == ["b000000001"])
        }
    }

    // MARK: Damage

    /// What a source gives before it ends or throws.
    private func readable(_ bytes: [UInt8], as name: String) async throws -> (rows: [MovedRow], isWhole: Bool) {
        try await withFolder { folder in
            let path = name.hasSuffix(".archive") ? "\(folder)/\(name)" : folder
            try write(bytes, "\(folder)/\(name)")
            let sink = Collected()
            do {
                guard let server = try MongoDump.open(path, prefix: "") else { return ([], false) }
                try await server.read("Item", since: nil, into: sink)
                return (await sink.rows, await sink.refusals.isEmpty)
            } catch is MoveInError {
                return (await sink.rows, false)
            }
        }
    }

    private func isStart(_ rows: [MovedRow], of all: [MovedRow]) -> Bool {
        rows.map(\.fields) == all.prefix(rows.count).map(\.fields)
    }

    @Test func aCutAnywhereGivesNoWrongRow() async throws {
        let whole = try content("\(Self.folder)/dump/shop/Item.bson")
        let all = try await readable(whole, as: "Item.bson").rows
        #expect(all.count == 5)
        var cleanEnds = 0
        for count in 0..<whole.count {
            let (rows, isWhole) = try await readable(Array(whole[..<count]), as: "Item.bson")
            #expect(isStart(rows, of: all))
            // A cut between two documents cannot be seen.
            cleanEnds += isWhole ? 1 : 0
        }
        #expect(cleanEnds == 5)
    }

    @Test func aCutArchiveIsRefusedAsAWhole() async throws {
        let whole = try content("\(Self.folder)/shop.archive")
        for count in stride(from: 4, to: whole.count, by: 7) {
            let (rows, isWhole) = try await readable(Array(whole[..<count]), as: "cut.archive")
            #expect(rows.isEmpty && !isWhole, "\(count)")
        }
        let packed = try content("\(Self.folder)/shop.archive.gz")
        for count in stride(from: 10, to: packed.count, by: 13) {
            let (rows, isWhole) = try await readable(Array(packed[..<count]), as: "cut.archive")
            #expect(rows.isEmpty && !isWhole, "\(count)")
        }
    }

    @Test func aChangedByteOfAnArchiveIsFound() async throws {
        let whole = try content("\(Self.folder)/shop.archive")
        let text = try #require(whole.firstRange(of: Array("Old brand".utf8)))
        var changed = whole
        changed[text.lowerBound] = UInt8(ascii: "o")
        let path = "changed.archive"
        try await withFolder { folder in
            try write(changed, "\(folder)/\(path)")
            let error = #expect(throws: MoveInError.self) { try MongoDump.open("\(folder)/\(path)", prefix: "") }
            #expect(error?.description.contains("checksum of Brand") == true)
        }
    }

    @Test func aDamagedDocumentIsOneRefusedRow() async throws {
        let documents = (0..<3).map { Built.document(Built.id("item00000\($0)"), Built.element(8, "x", [1])) }
        var bytes = documents.flatMap(\.self)
        // The Boolean of the second document.
        bytes[documents[0].count + documents[1].count - 2] = 9
        let damaged = bytes
        try await withFolder { folder in
            try write(damaged, "\(folder)/Item.bson")
            let server = try #require(try MongoDump.open(folder, prefix: ""))
            let read = try await server.read("Item")
            #expect(await read.rows.map(\.objectId) == ["item000000", "item000002"])
            let refusal = await read.refusals.first
            #expect(refusal?.place == SourcePlace(file: "\(folder)/Item.bson", offset: documents[0].count))
            #expect(refusal?.reason.contains("A Boolean is neither 0 nor 1.") == true)
            var cut = damaged
            cut[documents[0].count + 3] = 0x7F
            try write(cut, "\(folder)/Item.bson")
            let sink = Collected()
            let error = await #expect(throws: MoveInError.self) {
                try await server.read("Item", since: nil, into: sink)
            }
            #expect(error?.description.contains("byte \(documents[0].count)") == true)
        }
    }

    @Test func deepDocumentsAndHostileKeysAreRefusedRows() async throws {
        func row(_ number: Int, _ element: [UInt8]) -> [UInt8] {
            Built.document(Built.id("item00000\(number)"), element)
        }
        let one = Built.little(1 as Int32)
        let bytes = [
            row(0, Built.element(3, "x", Built.nested(200))), row(1, Built.element(4, "x", Built.nested(80, type: 4))),
            row(2, Built.element(0x10, "__proto__", one)), row(3, Built.element(0x10, "_p_constructor", one)),
            row(4, Built.element(0x10, "_rperm.x", one)), row(5, Built.element(0x10, "a.b$", one)),
            row(6, Built.element(6, "x", [])), row(7, Built.element(9, "x", Built.little(Int64.max))),
            row(9, Built.element(2, "_p_objectId", Built.string("Brand$b"))),
            row(8, Built.element(3, "x", Built.nested(60))),
        ].flatMap(\.self)
        try await withFolder { folder in
            try write(bytes, "\(folder)/Item.bson")
            let read = try await #require(try MongoDump.open(folder, prefix: "")).read("Item")
            let rows = await read.rows
            #expect(rows.map(\.objectId) == [2, 4, 5, 6, 8].map { "item00000\($0)" })
            #expect(rows.map { $0.fields["a.b$"] } == [nil, nil, 1, nil, nil])
            #expect(rows.dropLast().map(\.fields.count) == [1, 1, 2, 1])
            #expect(
                await read.notes
                    == ["__proto__", "_rperm.x"].map {
                        "Item: The field \"\($0)\" is left out: Parse has no such column."
                    })
        }
    }

    @Test func manyAndLargeRowsComeInPortions() async throws {
        actor Portions: RowSink {
            private(set) var counts: [Int] = []
            func take(_ rows: [MovedRow]) { counts.append(rows.count) }
            func refuse(_ refusal: RefusedRow) {}
        }
        let small = (0..<450).flatMap { Built.document(Built.id("item\(1_000_000 + $0)")) }
        let text = Built.element(2, "x", Built.string(String(repeating: "x", count: 3 << 20)))
        let large = (0..<3).flatMap { Built.document(Built.id("large00000\($0)"), text) }
        try await withFolder { folder in
            try write(small + large, "\(folder)/Item.bson")
            let sink = Portions()
            try await #require(try MongoDump.open(folder, prefix: "")).read("Item", since: nil, into: sink)
            #expect(await sink.counts == [200, 200, 52, 1])
        }
    }

    @Test func compressedFilesMayHaveSeveralMembers() async throws {
        let first = (0..<300).flatMap { Built.document(Built.id("item\(1_000_000 + $0)")) }
        let second = (300..<20_000).flatMap { Built.document(Built.id("item\(1_000_000 + $0)")) }
        let members = [first, second].compactMap { Gzip.compressed($0) }
        #expect(members.count == 2)
        let bytes = members.flatMap(\.self)
        try await withFolder { folder in
            try write(bytes, "\(folder)/Item.bson.gz")
            let server = try #require(try MongoDump.open(folder, prefix: ""))
            #expect(try await server.read("Item").rows.count == 20_000)
            try write(Array(bytes.dropLast()), "\(folder)/Item.bson.gz")
            await #expect(throws: MoveInError.self) { _ = try await server.read("Item") }
            try write(bytes + [1], "\(folder)/Item.bson.gz")
            await #expect(throws: MoveInError.self) { _ = try await server.read("Item") }
        }
    }
}
