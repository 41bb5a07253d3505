import Foundation
import ParseProtocol

/// Recognises what the tools of MongoDB write.
enum MongoDump {
    /// Opens a folder of mongodump, a file of `mongodump --archive`, or a folder or file of mongoexport.
    ///
    /// Files may be compressed with gzip. A class of a compressed archive is found by reading the archive again.
    /// - Parameter prefix: of the app's collections.
    /// - Returns: nil when the path is none of these.
    /// - Throws: `MoveInError`.
    static func open(_ path: String, prefix: String) throws -> (any OldServer)? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let found: [MongoCollection]
        if FolderListing.isFolder(path) {
            let dumped = try folders(path).flatMap { try collections(in: $0) }
            found = try dumped.isEmpty ? exported(FolderListing.files(path)) : dumped
        } else if let archive = try MongoArchive(ByteReader(path: path)) {
            found = archive.collections.map { name, content in
                MongoCollection(
                    database: name.database, name: name.collection,
                    content: .archive(path: path, blocks: content.blocks), rows: content.rows, bytes: content.bytes,
                    indexes: MovedClass.indexes(metadata: Array(content.metadata.utf8)))
            }
        } else {
            found = try exported([path])
        }
        guard !found.isEmpty else { return nil }
        return try MongoServer(name: path, found, prefix: prefix)
    }

    /// The folder of a database, or those in the folder of a dump.
    private static func folders(_ path: String) throws -> [String] {
        try [path] + FolderListing.paths(path).filter(FolderListing.isFolder)
    }

    private static func collections(in folder: String) throws -> [MongoCollection] {
        let database = URL(fileURLWithPath: folder).lastPathComponent
        return try FolderListing.files(folder).compactMap { path -> MongoCollection? in
            guard let stem = FolderListing.stem(path, ".bson") else { return nil }
            let isGzip = path.hasSuffix(".gz")
            let metadata = try? ByteReader(path: "\(folder)/\(stem).metadata.json\(isGzip ? ".gz" : "")")
                .take(BSONDocument.bytesMax)
            // Long names are cut in file names.
            let name = metadata.flatMap { try? JSON(parsing: $0) }?["collectionName"]?.stringValue
            return try MongoCollection(
                database: database, name: name ?? FolderListing.decoded(stem), content: .bson(path: path), rows: nil,
                bytes: FolderListing.rawBytes(path),
                indexes: MovedClass.indexes(metadata: metadata ?? []))
        }
    }

    /// Files of mongoexport, if any of them has documents.
    private static func exported(_ paths: [String]) throws -> [MongoCollection] {
        let files = paths.compactMap { path in
            FolderListing.stem(path, ".json").map { (path: path, name: FolderListing.decoded($0)) }
        }.filter { !$0.name.hasSuffix(".metadata") }
        guard files.contains(where: { FolderListing.firstRow($0.path)?["_id"] != nil }) else { return [] }
        return try files.map { file in
            try MongoCollection(
                database: "", name: file.name, content: .json(path: file.path), rows: nil,
                bytes: FolderListing.rawBytes(file.path))
        }
    }
}
