import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Where file contents are stored: the folder on the disk or, when configured, the bucket. Each file's row says which.
/// The row changes after the content is at the new place and before it is deleted from the old one. A reader that
/// checks both places therefore always finds the content.
package struct FileStorage: Sendable {
    package let store: ClassStore
    package let folder: FileFolder
    let bucket: FileBucket?
    let logger: Logger

    package init(store: ClassStore, folder: FileFolder, bucket: FileBucket?, logger: Logger) {
        self.store = store
        self.folder = folder
        self.bucket = bucket
        self.logger = logger
    }

    package init(_ host: ServiceHost, _ bucket: FileBucket?) {
        self.init(
            store: host.store, folder: FileFolder(dataDirectory: host.configuration.dataDirectory), bucket: bucket,
            logger: host.logger)
    }

    /// The bucket for new files; nil for the disk.
    private var target: FileBucket? { bucket.flatMap { $0.configuration.moves == .back ? nil : $0 } }

    // MARK: - In

    /// Stores content for a file whose row is written next. Without a row the content is removed later.
    /// - Parameter share: the share of the request; nil for the service's own work.
    /// - Returns: the entry with the content's location.
    /// - Throws: `.fileSaveError` (130) when it cannot be stored, `.serviceUnavailable` (2) when the bucket is
    ///   unavailable.
    package func keep(
        _ content: [UInt8], for entry: FileTable.Entry, share: WorkShare?
    ) async throws -> FileTable.Entry {
        var kept = entry
        kept.inBucket = target != nil
        do {
            if let target {
                if target.isAway { throw BucketTrouble.away("not asked for now") }
                try await store.write(for: share) {
                    try BucketDeletions.add(entry.name, after: BucketDeletions.orphanLife, in: $0)
                }
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

    /// Moves a new file on the disk that has no row yet to the place for new files.
    /// - Throws: as `keep`; then nothing remains on the disk.
    package func settle(_ entry: FileTable.Entry, share: WorkShare?) async throws -> FileTable.Entry {
        guard target != nil else { return entry }
        defer { folder.remove(entry.name) }
        return try await keep(content(onDisk: entry), for: entry, share: share)
    }

    // MARK: - Out

    /// A file's entry and a part of its content, shorter than requested at its end; nil when there is no file.
    /// - Throws: `.serviceUnavailable` (2) when the bucket is unavailable; the folder's errors.
    package func part(
        of name: String, offset: UInt64, length: Int, for share: WorkShare?
    ) async throws -> (entry: FileTable.Entry, content: [UInt8])? {
        let first = try await look(name, offset, length, for: share)
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
        // The file was moved to the disk, or deleted, since the first lookup.
        let second = try await look(name, offset, length, alsoIfInBucket: true, for: share)
        guard let (now, content) = second else { return nil }
        if let content { return (now, content) }
        logger.error("The content of a file is missing.", metadata: ["file.bucket": "\(now.inBucket)"])
        throw ParseError.objectNotFound
    }

    /// The whole content of a file.
    /// - Throws: as `part`.
    package func content(of entry: FileTable.Entry, for share: WorkShare?) async throws -> [UInt8] {
        var content: [UInt8] = []
        while content.count < entry.size {
            let found = try await part(
                of: entry.name, offset: UInt64(content.count), length: FileFolder.partBytesMax, for: share)
            guard let part = found?.content, !part.isEmpty else { throw Self.lost }
            content += part
        }
        return content
    }

    /// The whole content of a file that is on the disk.
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

    /// The reply to the gateway's request for a file.
    func reply(
        to message: FileRequest, for share: WorkShare
    ) async throws -> (reply: FileReply, content: [UInt8])? {
        if !message.proxied, let bucket, bucket.configuration.downloads == .presigned {
            let entry = try await store.read(for: share) { try FileTable.find(message.name, in: $0) }
            if let entry, entry.inBucket {
                var reply = entry.reply
                reply.url = bucket.presignedURL(message.name, contentType: entry.contentType, at: .now)
                return (reply, [])
            }
        }
        let found = try await part(
            of: message.name, offset: message.offset, length: Int(message.length), for: share)
        return found.map { ($0.entry.reply, $0.content) }
    }

    private static var lost: ParseError { ParseError.internalError }

    /// The requested part of a file; nil when it is empty.
    static func range(_ offset: UInt64, _ length: Int, of size: Int) -> Range<Int>? {
        guard let start = Int(exactly: offset), start < size, length > 0 else { return nil }
        return start..<min(size, start + min(length, FileFolder.partBytesMax))
    }

    /// A file and the requested part, if the disk has it. The part is nil when it needs the bucket.
    private func look(
        _ name: String, _ offset: UInt64, _ length: Int, alsoIfInBucket: Bool = false, for share: WorkShare?
    ) async throws -> (entry: FileTable.Entry, content: [UInt8]?)? {
        try await store.read(for: share) { [folder, bucket] reader in
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
    /// The file's metadata for the gateway.
    var reply: FileReply {
        FileReply.with {
            $0.contentType = contentType
            $0.size = UInt64(max(0, size))
            $0.metadata = .init(metadata.utf8)
        }
    }
}
