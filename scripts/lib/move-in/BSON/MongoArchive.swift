/// What an archive of `mongodump --archive` contains.
///
/// After a magic number and a list of collections come blocks: a header with the collection's name, documents, and a
/// terminator. The documents of several collections may alternate. A header without documents ends a collection and
/// has their checksum.
struct MongoArchive: Sendable {
    struct Collection: Sendable {
        /// The offsets of the documents of each block.
        var blocks: [Range<Int>] = []
        var rows = 0
        var bytes = 0
        /// JSON text, as in a file `<collection>.metadata.json`.
        var metadata = ""
        fileprivate var isView = false
        fileprivate var isEnded = false
        fileprivate var checksum = CRC64()
    }

    struct Name: Hashable, Sendable {
        var database: String
        var collection: String
    }

    private(set) var collections: [Name: Collection] = [:]

    /// 0x8199e26d.
    private static let magic: [UInt8] = [0x6D, 0xE2, 0x99, 0x81]

    /// Reads a whole archive and checks its checksums.
    /// - Returns: nil when the file is no archive.
    /// - Throws: `MoveInError` when it is damaged or cut off.
    init?(_ reader: ByteReader) throws {
        guard try reader.take(4) == Self.magic else { return nil }
        guard case .document = try reader.nextPart() else { throw Self.damage(reader.place) }
        try readPrelude(reader)
        while try readBlock(reader) {}
        guard let unfinished = collections.first(where: { !$1.isEnded && !$1.isView }) else { return }
        throw MoveInError(reader.place, "The archive ends before the collection \(unfinished.key.collection) does.")
    }

    private static func damage(_ place: SourcePlace) -> MoveInError {
        MoveInError(place, "The archive is damaged: dump it again.")
    }

    private mutating func readPrelude(_ reader: ByteReader) throws {
        while true {
            switch try reader.nextPart() {
            case .terminator: return
            case .end: throw Self.damage(reader.place)
            case .document(let bytes, let place):
                let (name, header) = try Self.header(bytes, place)
                var collection = Collection()
                collection.metadata = header["metadata"]?.stringValue ?? ""
                collection.isView = header["type"] == .string("view")
                collections[name] = collection
            }
        }
    }

    /// - Returns: false at the end of the archive.
    private mutating func readBlock(_ reader: ByteReader) throws -> Bool {
        let place = reader.place
        switch try reader.nextPart() {
        case .end: return false
        case .terminator: throw Self.damage(place)
        case .document(let bytes, let place):
            let (name, header) = try Self.header(bytes, place)
            var collection = collections.removeValue(forKey: name) ?? Collection()
            guard !collection.isEnded else { throw Self.damage(place) }
            collection.isEnded = header["EOF"] == .bool(true)
            let start = reader.offset
            var end = start
            blocks: while true {
                switch try reader.nextPart() {
                case .terminator: break blocks
                case .end: throw MoveInError(reader.place, "The archive is cut off.")
                case .document(let bytes, let place):
                    guard !collection.isEnded else { throw Self.damage(place) }
                    collection.checksum.add(bytes)
                    collection.rows += 1
                    end = reader.offset
                }
            }
            if end > start { collection.blocks.append(start..<end) }
            collection.bytes += end - start
            let checksum = BSON.int64(Int64(bitPattern: collection.checksum.value))
            if collection.isEnded, let expected = header["CRC"], expected != checksum {
                throw MoveInError(place, "The checksum of \(name.collection) is wrong. Dump the database again.")
            }
            collections[name] = collection
            return true
        }
    }

    private static func header(_ bytes: [UInt8], _ place: SourcePlace) throws -> (Name, BSONDocument) {
        guard let header = try? BSONDocument(parsing: bytes), let database = header["db"]?.stringValue,
            let collection = header["collection"]?.stringValue, !collection.isEmpty
        else { throw damage(place) }
        return (Name(database: database, collection: collection), header)
    }
}

/// CRC-64 with the polynomial of ECMA-182, reflected.
struct CRC64: Sendable {
    private var state = UInt64.max

    private static let table: [UInt64] = (0..<256).map { index in
        (0..<8).reduce(UInt64(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xC96C_5795_D787_0F42 : value >> 1 }
    }

    var value: UInt64 { ~state }

    mutating func add(_ bytes: [UInt8]) {
        var state = state
        Self.table.withUnsafeBufferPointer { table in
            for byte in bytes { state = table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8 }
        }
        self.state = state
    }
}
