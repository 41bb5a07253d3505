import ParseProtocol

@testable import MoveIn

/// A file of mongodump, up to the rows that a move sends.
struct BSONTarget: FuzzTarget {
    let name = "bson"
    let testInputs = 3000
    let dictionary = [
        "\u{5}\0\0\0\0", "\u{1}", "\u{2}", "\u{3}", "\u{4}", "\u{5}", "\u{7}", "\u{8}", "\u{F}", "\u{13}", "\u{7F}",
        "\0", "\0\0\0\0", "\0\0\u{1}\0", "_id\0", "_p_brand\0", "_rperm\0", "_created_at\0", "place\0", "area\0",
        "__proto__\0", "constructor\0", "Brand$b1", "\u{301}\u{316}",
    ]

    func generate(_ random: inout Seeded) -> [UInt8] {
        (0...random.below(4)).flatMap { _ in RandomBSON.document(&random, depth: 4) }
    }

    func run(_ input: [UInt8]) async throws -> String {
        let documents = MongoDocuments(ByteReader(MemoryPieces(input, pieceBytes: 64), file: "Item.bson"))
        return try MovedRowCheck.outcome(documents)
    }
}

/// An archive of mongodump. Each collection must have as many documents as the archive's list says.
struct ArchiveTarget: FuzzTarget {
    let name = "archives"
    let testInputs = 2000
    let dictionary = [
        "\u{5}\0\0\0\0", "db\0", "collection\0", "EOF\0", "CRC\0", "metadata\0", "type\0", "view\0", "shop", "Item",
        "\0",
    ]

    private static let terminator: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]

    func generate(_ random: inout Seeded) -> [UInt8] {
        let names = ["Item", "Brand", "_User"]
        var bytes: [UInt8] = [0x6D, 0xE2, 0x99, 0x81] + RandomBSON.document(&random, depth: 1)
        for name in names { bytes += Self.header(name, isEnd: nil) }
        bytes += Self.terminator
        var checksums = names.map { _ in CRC64() }
        for _ in 0..<random.below(6) {
            let index = random.below(names.count)
            bytes += Self.header(names[index], isEnd: false)
            for _ in 0..<random.below(3) {
                let document = RandomBSON.document(&random, depth: 2)
                checksums[index].add(document)
                bytes += document
            }
            bytes += Self.terminator
        }
        for (name, checksum) in zip(names, checksums) {
            bytes += Self.header(name, isEnd: true, checksum.value) + Self.terminator
        }
        return bytes
    }

    private static func header(_ name: String, isEnd: Bool?, _ checksum: UInt64 = 0) -> [UInt8] {
        var elements = RandomBSON.element(2, "db", RandomBSON.string("shop"))
        elements += RandomBSON.element(2, "collection", RandomBSON.string(name))
        if let isEnd {
            elements += RandomBSON.element(8, "EOF", [isEnd ? 1 : 0])
            elements += RandomBSON.element(0x12, "CRC", RandomBSON.little(checksum))
        }
        return RandomBSON.document(elements)
    }

    func run(_ input: [UInt8]) async throws -> String {
        let archive: MongoArchive
        do {
            guard let read = try MongoArchive(ByteReader(MemoryPieces(input, pieceBytes: 64), file: "shop.archive"))
            else {
                return "none"
            }
            archive = read
        } catch is MoveInError {
            return "damaged"
        }
        for (name, collection) in archive.collections {
            let reader = ByteReader(MemoryPieces(input), file: "shop.archive")
            let documents = MongoDocuments(reader, blocks: collection.blocks[...])
            var count = 0
            while try documents.next() != nil { count += 1 }
            try require(count == collection.rows, "\(name) has \(count) documents, not \(collection.rows).")
        }
        return "\(archive.collections.values.map(\.rows).sorted())"
    }
}

/// A file of JSON: mongoexport's, or hosted Parse's. The size of the pieces it comes in must not matter.
struct ExportTarget: FuzzTarget {
    let name = "exports"
    let testInputs = 3000
    let dictionary = [
        "{\"results\":[", "]}", "[", "]", "{", "}", ",", "\n", "\"", "\\", "\\\"", "\u{FEFF}", "\"_id\":", "\"$oid\":",
        "\"$date\":", "\"$numberLong\":", "\"$numberDecimal\":", "\"$binary\":", "\"$type\":", "NaN", "objectId",
        "updatedAt", "__type", "Relation", "__proto__",
    ]

    func generate(_ random: inout Seeded) -> [UInt8] {
        let typed: [JSON] = [
            ["$oid": "507f1f77bcf86cd799439011"], ["$date": 1], ["$date": ["$numberLong": "1"]],
            ["$numberDecimal": "1.5"], ["$numberLong": "9007199254740993"], ["$numberDouble": "NaN"],
            ["$binary": "AQI=", "$type": "00"], ["$undefined": true], ["$ref": "a", "$id": 1],
        ]
        let rows = (0..<random.below(5)).map { index -> String in
            var row: JSON = random.chance(50) ? ["_id": .string("a\(index)")] : ["objectId": .string("a\(index)")]
            for _ in 0..<random.below(4) {
                let value = random.chance(40) ? random.pick(typed) : ValueKind.any(&random, depth: 3)
                row[random.pick(RandomBSON.names)] = value
            }
            return row.serializedText
        }
        let list = rows.joined(separator: random.pick([",", " ,\n"]))
        switch random.below(4) {
        case 0: return Array("[\(list)]".utf8)
        case 1: return Array("{\"results\":[\(list)],\"n\":{}}".utf8)
        default: return Array(rows.joined(separator: random.pick(["", "\n", "\r\n"])).utf8)
        }
    }

    func run(_ input: [UInt8]) async throws -> String {
        let (texts, problem) = try rows(input, pieceBytes: 4096)
        let again = try rows(input, pieceBytes: 7)
        try require(texts == again.texts && problem == again.problem, "The size of the pieces matters.")
        for text in texts {
            try require(text.first == UInt8(ascii: "{"), "A row begins with \(text.prefix(1)).")
            guard let json = try? JSON(clientText: text),
                let row = try? ExportServer.row(json, "Item", at: SourcePlace(file: "Item.json"))
            else { continue }
            try MovedRowCheck.check(row)
        }
        let reader = ByteReader(MemoryPieces(input), file: "Item.json")
        let outcome = try MovedRowCheck.outcome(MongoDocuments(reader, rows: JSONRows(reader)))
        return "\(problem == nil) \(outcome)"
    }

    private func rows(_ input: [UInt8], pieceBytes: Int) throws -> (texts: [[UInt8]], problem: String?) {
        let rows = JSONRows(ByteReader(MemoryPieces(input, pieceBytes: pieceBytes), file: "Item.json"))
        var texts: [[UInt8]] = []
        do {
            while let (text, _) = try rows.next() { texts.append(text) }
            return (texts, nil)
        } catch let error as MoveInError {
            return (texts, error.description)
        }
    }
}

/// What holds for every row that a source gives.
private enum MovedRowCheck {
    private static let schema: [String: JSON] = [
        "brand": ["type": "Pointer", "targetClass": "Brand"], "place": ["type": "GeoPoint"],
        "area": ["type": "Polygon"], "code": ["type": "Bytes"], "picture": ["type": "File"], "soldAt": ["type": "Date"],
        "fans": ["type": "Relation", "targetClass": "_User"],
    ]

    static func check(_ row: MovedRow) throws {
        try require(row.fields["objectId"] == .string(row.objectId) && !row.objectId.isEmpty, "A row without an id")
        let text = JSON.object(row.fields).serialized
        guard let again = try? JSON(parsing: text) else { throw Violation("A row is no JSON: \(row.fields)") }
        try require(again == .object(row.fields), "A row reads back as \(again).")
    }

    static func outcome(_ documents: MongoDocuments) throws -> String {
        var converter = RowConverter(className: "_User", schema: schema)
        var words: [String] = []
        do {
            while let item = try documents.next() {
                switch item {
                case .damaged(_, let reason): words.append(String(reason.suffix(30)))
                case .document(let document, let place):
                    do {
                        let row = try converter.row(document, at: place)
                        try check(row)
                        words.append("\(row.fields.count)")
                    } catch let problem as UnreadableRow {
                        words.append(String(problem.reason.suffix(30)))
                    }
                }
            }
        } catch let error as MoveInError {
            words.append(String(error.description.suffix(40)))
        }
        return words.prefix(4).joined(separator: " ")
    }
}

/// Random documents in BSON, mostly sound.
private enum RandomBSON {
    static let names = [
        "_id", "x", "_p_brand", "_rperm", "_wperm", "_created_at", "updatedAt", "tags", "place", "area", "code",
        "picture", "soldAt", "fans", "__proto__", "constructor", "$a", "a.b", "_auth_data_facebook", "authData",
        "_tombstone", "_hashed_password", "expiresAt", "_session_token", "é", "__type", "iso", "type", "coordinates",
    ]

    static func document(_ random: inout Seeded, depth: Int) -> [UInt8] {
        var elements = random.chance(90) ? element(2, "_id", string("id\(random.below(1000))")) : []
        for _ in 0..<random.below(5) {
            let (type, bytes) = value(&random, depth: depth)
            elements += element(type, random.pick(names), bytes)
        }
        return document(elements)
    }

    static func document(_ elements: [UInt8]) -> [UInt8] { little(Int32(elements.count + 5)) + elements + [0] }

    static func element(_ type: UInt8, _ name: String, _ value: [UInt8]) -> [UInt8] {
        [type] + Array(name.utf8) + [0] + value
    }

    static func string(_ text: String) -> [UInt8] { little(Int32(text.utf8.count + 1)) + Array(text.utf8) + [0] }

    static func little(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private static func value(_ random: inout Seeded, depth: Int) -> (UInt8, [UInt8]) {
        switch random.below(depth > 0 ? 16 : 13) {
        case 0: (1, little(random.pick([0.5, 1e300, -0.0, .nan, .infinity] as [Double]).bitPattern))
        case 1: (2, string(random.pick(["Brand$b1", "*", "a", "", "é", "2020-01-01T00:00:00.000Z", "Polygon"])))
        case 2: (5, little(Int32(3)) + [0, 1, 2, 3])
        case 3: (6, [])
        case 4: (7, random.bytes(12))
        case 5: (8, [UInt8(random.below(2))])
        case 6: (9, little(random.pick([0, -1, 1_577_836_800_000, .max] as [Int64])))
        case 7: (10, [])
        case 8: (11, [97, 0, 0])
        case 9: (16, little(Int32(random.below(100)) - 50))
        case 10: (18, little(random.pick([0, -1, .max, 1 << 53] as [Int64])))
        case 11: (19, random.bytes(16))
        case 12: (random.pick([0x7F, 0xFF]), [])
        case 13: (3, document(&random, depth: depth - 1))
        default: (4, array(&random, depth: depth))
        }
    }

    private static func array(_ random: inout Seeded, depth: Int) -> [UInt8] {
        var elements: [UInt8] = []
        for index in 0..<random.below(4) {
            let (type, bytes) = value(&random, depth: depth - 1)
            elements += element(type, String(index), bytes)
        }
        return document(elements)
    }
}
