import Foundation
import ParseProtocol

/// The files that a mongodump folder has in `fs.files.bson` and `fs.chunks.bson`.
///
/// It keeps where the documents are, 24 bytes for each, and reads a file's chunks when it is opened.
struct GridFSShelf: FileShelf {
    var name: String { filesPath }
    let isLocal = true
    private let filesPath: String
    private let chunksPath: String
    private let files: [UInt64: FilePlace]
    /// Sorted by file and number.
    private let chunks: [ChunkPlace]

    private struct FilePlace {
        var offset: Int
        var uploadedAt: Int64
    }

    private struct ChunkPlace {
        var file: UInt64
        var number: Int32
        var offset: Int
    }

    /// Opens the folder of a database in a dump, and reads where its chunks are.
    /// - Returns: nil when the folder has no files of GridFS.
    /// - Throws: `MoveInError` for a damaged dump, and for a compressed one.
    static func open(_ folder: String) throws -> GridFSShelf? {
        let manager = FileManager.default
        guard !manager.fileExists(atPath: "\(folder)/fs.chunks.bson.gz") else {
            throw MoveInError("\(folder)/fs.chunks.bson.gz is compressed: unpack it and fs.files.bson.gz by gunzip.")
        }
        let isThere = ["files", "chunks"].allSatisfy { manager.fileExists(atPath: "\(folder)/fs.\($0).bson") }
        return isThere ? try GridFSShelf(folder) : nil
    }

    private init(_ folder: String) throws {
        filesPath = "\(folder)/fs.files.bson"
        chunksPath = "\(folder)/fs.chunks.bson"
        var files: [UInt64: FilePlace] = [:]
        try Self.forEach(in: filesPath) { document, offset in
            guard let name = document["filename"]?.stringValue else { return }
            var place = FilePlace(offset: offset, uploadedAt: .min)
            if case .date(let time)? = document["uploadDate"] { place.uploadedAt = time }
            let hash = FNV1a.hash(name.utf8)
            // The latest of several files of one name counts, as in Parse Server.
            if let other = files[hash], other.uploadedAt > place.uploadedAt { return }
            files[hash] = place
        }
        var chunks: [ChunkPlace] = []
        try Self.forEach(in: chunksPath) { document, offset in
            guard let file = Self.key(document["files_id"]),
                let number = Self.whole(document["n"]).flatMap({ Int32(exactly: $0) })
            else { return }
            chunks.append(ChunkPlace(file: file, number: number, offset: offset))
        }
        chunks.sort { ($0.file, $0.number) < ($1.file, $1.number) }
        (self.files, self.chunks) = (files, chunks)
    }

    func open(_ file: OldFile, bytesMax: Int) async throws -> ShelvedFile? {
        guard let place = files[FNV1a.hash(file.name.utf8)], let entry = try Self.document(filesPath, at: place.offset),
            entry["filename"]?.stringValue == file.name
        else { return nil }
        guard let key = Self.key(entry["_id"]), let length = Self.whole(entry["length"]), length >= 0 else {
            throw ShelfProblem(reason: "its entry in \(filesPath) is damaged")
        }
        guard length <= bytesMax else { throw AnswerTooLarge() }
        let broken = ShelfProblem(reason: "its chunks in \(chunksPath) are not whole")
        var content: [UInt8] = []
        content.reserveCapacity(length)
        var number: Int32 = 0
        for chunk in chunks[firstChunk(of: key)...].prefix(while: { $0.file == key }) {
            guard chunk.number == number, let document = try Self.document(chunksPath, at: chunk.offset),
                document["files_id"] == entry["_id"], case .binary(let data)? = document["data"],
                content.count + data.count <= length
            else { throw broken }
            content += data
            number += 1
        }
        guard content.count == length else { throw broken }
        let metadata = entry["metadata"]?.documentValue
        let type = entry["contentType"]?.stringValue ?? metadata?["contentType"]?.stringValue
        return ShelvedFile(content: content, contentType: type)
    }

    private func firstChunk(of key: UInt64) -> Int {
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if chunks[middle].file < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private static func forEach(in path: String, _ body: (BSONDocument, Int) -> Void) throws {
        let documents = try MongoDocuments(.bson(path: path))
        while let item = try documents.next() {
            if case .document(let document, let place) = item, let offset = place.offset { body(document, offset) }
        }
    }

    private static func document(_ path: String, at offset: Int) throws -> BSONDocument? {
        let reader = ByteReader(try FilePieces(path), file: path)
        try reader.skip(to: offset)
        guard let (bytes, _) = try reader.nextDocument() else { return nil }
        return try? BSONDocument(parsing: bytes)
    }

    private static func key(_ id: BSON?) -> UInt64? {
        switch id {
        case .objectId(let digits)?: FNV1a.hash("o\(digits)".utf8)
        case .string(let text)?: FNV1a.hash("s\(text)".utf8)
        default: nil
        }
    }

    private static func whole(_ value: BSON?) -> Int? { value?.number.flatMap { Int(exactly: $0.value) } }
}
