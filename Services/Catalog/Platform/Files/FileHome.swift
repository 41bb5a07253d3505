import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The places where files have their content: the folder on the disk or, where one is set, the bucket. The row of each
/// file says which. It changes after the content is at the other place and before it goes from the first, so that who
/// looks at both finds it at every moment.
package struct FileHome: Sendable {
    let store: ClassStore
    let folder: FileFolder
    let bucket: FileBucket?
    let logger: Logger

    package init(store: ClassStore, folder: FileFolder, bucket: FileBucket?, logger: Logger) {
        self.store = store
        self.folder = folder
        self.bucket = bucket
        self.logger = logger
    }

    init(_ host: ServiceHost, _ bucket: FileBucket?) {
        self.init(
            store: host.store, folder: FileFolder(dataDirectory: host.configuration.dataDirectory), bucket: bucket,
            logger: host.logger)
    }

    /// The bucket that new files go into.
    private var target: FileBucket? { bucket.flatMap { $0.configuration.moves == .back ? nil : $0 } }

    // MARK: - In

    /// Keeps content for a file whose row is to be written. Without a row it is removed in time.
    /// - Returns: the entry, which knows where the content is.
    /// - Throws: `.fileSaveError` (130) when it is not taken, `.serviceUnavailable` (2) when the bucket is away.
    package func keep(_ content: [UInt8], for entry: FileTable.Entry) async throws -> FileTable.Entry {
        var kept = entry
        kept.inBucket = target != nil
        do {
            if let target {
                if target.isAway { throw BucketTrouble.away("not asked for now") }
                try await store.write { try BucketDrops.add(entry.name, after: BucketDrops.orphanLife, in: $0) }
                try await target.put(
                    content, name: entry.name, contentType: entry.contentType, within: FileBucket.uploadLimit)
            } else {
                try await folder.save(content, as: entry.name)
            }
        } catch let trouble as BucketTrouble {
            logger.error("A file could not be put into the bucket.", metadata: ["error": "\(trouble)"])
            throw trouble.parseError(isSaving: true)
        } catch let error as ParseError {
            throw error
        } catch {
            logger.error("A file could not be written.", metadata: ["error": "\(error)"])
            throw ParseError(.fileSaveError, "The file could not be saved.")
        }
        return kept
    }

    /// Brings a file that was made on the disk, and has no row yet, to where new files go.
    /// - Throws: as `keep`; then nothing is left on the disk.
    func settle(_ entry: FileTable.Entry) async throws -> FileTable.Entry {
        guard target != nil else { return entry }
        defer { folder.remove(entry.name) }
        return try await keep(content(onDisk: entry), for: entry)
    }

    // MARK: - Out

    /// What is known of a file and a part of its content, shorter than asked at its end; nil when there is no file.
    /// - Throws: `.serviceUnavailable` (2) when the bucket is away; what the folder throws.
    package func part(
        of name: String, offset: UInt64, length: Int
    ) async throws -> (entry: FileTable.Entry, content: [UInt8])? {
        let first = try await look(name, offset, length)
        guard let (entry, content) = first else { return nil }
        if let content { return (entry, content) }
        guard let bucket, let wanted = Self.range(offset, length, of: entry.size) else { throw Self.lost }
        do {
            return (entry, try await bucket.get(name, wanted, of: entry.size).bytes)
        } catch {
            guard error == .missing else {
                logger.error("A file could not be read from the bucket.", metadata: ["error": "\(error)"])
                throw error.parseError(isSaving: false)
            }
        }
        // It came home, or was removed, since the first look.
        guard let (now, content) = try await look(name, offset, length, alsoIfInBucket: true) else { return nil }
        if let content { return (now, content) }
        logger.error("The content of a file is not there.", metadata: ["file.bucket": "\(now.inBucket)"])
        throw ParseError.objectNotFound
    }

    /// The whole content of a file.
    /// - Throws: as `part`.
    func content(of entry: FileTable.Entry) async throws -> [UInt8] {
        var content: [UInt8] = []
        while content.count < entry.size {
            let found = try await part(
                of: entry.name, offset: UInt64(content.count), length: FileFolder.partBytesMax)
            guard let part = found?.content, !part.isEmpty else { throw Self.lost }
            content += part
        }
        return content
    }

    /// The whole content of a file that the disk has.
    func content(onDisk entry: FileTable.Entry) async throws -> [UInt8] {
        try await folder.onDisk { [folder] in
            var content: [UInt8] = []
            while content.count < entry.size {
                let part = try folder.read(
                    entry.name, offset: UInt64(content.count), length: FileFolder.partBytesMax)
                guard !part.isEmpty else { break }
                content += part
            }
            guard content.count == entry.size else { throw Self.lost }
            return content
        }
    }

    /// A file as the gateway asks for it.
    func reply(to message: FileRequest) async throws -> (reply: FileReply, content: [UInt8])? {
        if !message.proxied, let bucket, bucket.configuration.downloads == .presigned {
            let entry = try await store.read { try FileTable.find(message.name, in: $0) }
            if let entry, entry.inBucket {
                var reply = entry.reply
                reply.url = bucket.presignedURL(message.name, contentType: entry.contentType, at: .now)
                return (reply, [])
            }
        }
        let found = try await part(of: message.name, offset: message.offset, length: Int(message.length))
        return found.map { ($0.entry.reply, $0.content) }
    }

    private static var lost: ParseError { ParseError.internalError }

    /// The part of a file that is asked for; nil for none.
    static func range(_ offset: UInt64, _ length: Int, of size: Int) -> Range<Int>? {
        guard let start = Int(exactly: offset), start < size, length > 0 else { return nil }
        return start..<min(size, start + min(length, FileFolder.partBytesMax))
    }

    /// A file and, where no bucket is needed for it, the part of it: nil for content that the disk does not have.
    private func look(
        _ name: String, _ offset: UInt64, _ length: Int, alsoIfInBucket: Bool = false
    ) async throws -> (entry: FileTable.Entry, content: [UInt8]?)? {
        try await store.read { [folder, bucket] reader in
            guard let entry = try FileTable.find(name, in: reader) else { return nil }
            guard let wanted = Self.range(offset, length, of: entry.size) else { return (entry, []) }
            if entry.inBucket, !alsoIfInBucket { return (entry, nil) }
            do {
                return (entry, try folder.read(name, offset: offset, length: wanted.count))
            } catch let failure as FileFolder.Failure where failure.isMissing && bucket != nil {
                return (entry, nil)
            }
        }
    }
}

extension FileTable.Entry {
    /// What the gateway is told of a file.
    var reply: FileReply {
        FileReply.with {
            $0.contentType = contentType
            $0.size = UInt64(max(0, size))
            $0.metadata = .init(metadata.utf8)
        }
    }
}
