import ParseProtocol

/// A collection in a dump or an export, and where its documents are.
struct MongoCollection: Sendable {
    enum Content: Sendable {
        case bson(path: String)
        case archive(path: String, blocks: [Range<Int>])
        case json(path: String)
    }

    var database: String
    var name: String
    var content: Content
    var rows: Int?
    var bytes: Int?
    /// By name, with Parse's names of the fields.
    var indexes: [String: JSON] = [:]

    func documents() throws -> MongoDocuments { try MongoDocuments(content) }
}

/// The documents of a collection, one after another.
final class MongoDocuments {
    enum Item {
        case document(BSONDocument, SourcePlace)
        case damaged(SourcePlace, reason: String)
    }

    private let reader: ByteReader
    private var blocks: ArraySlice<Range<Int>>?
    private let rows: JSONRows?

    convenience init(_ content: MongoCollection.Content) throws {
        switch content {
        case .bson(let path): self.init(try ByteReader(path: path))
        case .archive(let path, let blocks): self.init(try ByteReader(path: path), blocks: blocks[...])
        case .json(let path):
            let reader = try ByteReader(path: path)
            self.init(reader, rows: JSONRows(reader))
        }
    }

    init(_ reader: ByteReader, blocks: ArraySlice<Range<Int>>? = nil, rows: JSONRows? = nil) {
        self.reader = reader
        self.blocks = blocks
        self.rows = rows
    }

    /// The bytes that were read.
    var offset: Int { reader.offset }

    /// - Throws: `MoveInError` when the file cannot be read any further.
    func next() throws -> Item? {
        if let rows { return try nextRow(rows) }
        while let block = blocks?.first {
            if reader.offset < block.upperBound {
                try reader.skip(to: block.lowerBound)
                break
            }
            blocks = blocks?.dropFirst()
        }
        if let blocks, blocks.isEmpty { return nil }
        guard let (bytes, place) = try reader.nextDocument() else { return nil }
        do {
            return .document(try BSONDocument(parsing: bytes), place)
        } catch let error as BSONError {
            return .damaged(place, reason: "The document is damaged at its byte \(error.offset): \(error.reason)")
        }
    }

    private func nextRow(_ rows: JSONRows) throws -> Item? {
        guard let (text, place) = try rows.next() else { return nil }
        do {
            return .document(try ExtendedJSON.document(text), place)
        } catch let error as UnreadableRow {
            return .damaged(place, reason: error.reason)
        }
    }
}
