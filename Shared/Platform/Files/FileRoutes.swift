import Foundation
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// The message kinds for files (Shared/Messages/Protos/files.proto).
func installFiles(_ host: ServiceHost, _ home: FileStorage, _ routes: inout ServiceRoutes) -> FileLifecycle {
    let folder = home.folder
    let bucketMaintenance = home.bucket.map { BucketMaintenance(host: host, home: home, bucket: $0) }
    let lifecycle = FileLifecycle(
        host: host, home: home, quota: FileQuota(quotas: host.quotas), bucketMaintenance: bucketMaintenance)
    routes.task(FileCalls.save) { message, request in
        try await lifecycle.save(message, request)
        return Accepted()
    }
    if home.bucket == nil {
        // Runs off the lanes, which must not wait for the disk.
        routes.read(asideFramed: FileCalls.get) { message, _, reader in
            guard let entry = try FileTable.find(message.name, in: reader) else { throw ParseError.objectNotFound }
            // Reads only the bytes that exist. Otherwise each read would allocate a full part, and most files use less
            // than half.
            let wanted = FileStorage.range(message.offset, Int(message.length), of: entry.size)
            let part = try wanted.map { try folder.read(message.name, offset: message.offset, length: $0.count) }
            return try BusReply(entry.reply, documents: [part ?? []])
        }
    } else {
        // Reads from a bucket wait for the network and need a task.
        routes.task(framed: FileCalls.get) { message, request in
            let found = try await home.reply(to: message, for: request.share)
            guard let found else { throw ParseError.objectNotFound }
            return try BusReply(found.reply, documents: [found.content])
        }
    }
    routes.accept(FileCalls.delete) { message, request, transaction in
        guard request.caller.isMaster else {
            throw ParseError(.operationForbidden, "Only the master key deletes files.")
        }
        guard try lifecycle.remove(message.name, in: transaction) else {
            throw ParseError(.fileDeleteError, "Could not delete file.")
        }
    }
    routes.accept(FileCalls.dropAccountPhoto) { message, _, transaction in
        let shown = message.shown
        // A late write of a client may name a photo that is deleted. The last one there is stays.
        guard
            try shown.isEmpty || !FileNames.isAccountPhoto(shown) || FileTable.find(shown, in: transaction) != nil
        else { return }
        let isThere = try FileTable.find(message.name, in: transaction) != nil
        // After such a write the account's other photo has to go.
        try lifecycle.removeAccountPhotos(
            of: message.userID, named: isThere ? message.name : nil, except: shown, in: transaction)
    }
    host.whenOpened { [bucket = home.bucket] in try FileBucket.check(bucket, in: $0) }
    bucketMaintenance?.begin()
    lifecycle.keepSweeping()
    return lifecycle
}

/// Stores uploaded files, and removes deleted ones and leftovers of crashes.
package struct FileLifecycle: Sendable {
    let host: ServiceHost
    let home: FileStorage
    let quota: FileQuota
    let bucketMaintenance: BucketMaintenance?

    private var folder: FileFolder { home.folder }

    /// A request lives for at most 30 s, so an older file does not belong to a running request.
    private static let abandonedAfter = Duration.seconds(3600)

    func save(_ message: SaveFileRequest, _ request: ServiceRequest) async throws {
        guard FileNames.isStoredName(message.name), let content = request.documents.first, !content.isEmpty else {
            throw ParseError(.fileSaveError, "Invalid file upload.")
        }
        let name = message.name
        // A retry of a request whose answer was lost.
        let share = request.share
        if try await host.store.read(for: share, { try FileTable.find(name, in: $0) }) != nil { return }
        let caller = request.caller
        let bytes = content.count + message.metadata.count
        try await quota.admit(bytes: bytes, by: caller, store: host.store, for: share)
        let entry = try await home.keep(
            content,
            for: FileTable.Entry(
                name: name, contentType: message.contentType, size: content.count,
                owner: caller.userId ?? (caller.isMaster ? nil : ""),
                metadata: String(decoding: message.metadata, as: UTF8.self)), share: share)
        do {
            try await host.store.write(for: share) { try FileTable.add(entry, in: $0) }
        } catch {
            // Awaited, so that a retry of the request at another replica runs after it.
            if Self.isUnused(after: error, isServed: host.store.isServed) {
                try? await folder.onDisk { [folder] in folder.removeNow(name) }
            }
            if let error = error as? ParseError { throw error }
            host.logger.error("A file could not be recorded.", metadata: ["error": "\(error)"])
            throw ParseError(.fileSaveError, "The file could not be saved.")
        }
    }

    /// Whether a file certainly has no row after an error of the transaction that adds it. If the connection to a
    /// server is lost, the row may be stored; if it is not, the sweep removes the content.
    package static func isUnused(after error: any Error, isServed: Bool) -> Bool {
        !isServed || (error as? ParseError)?.code != .serviceUnavailable
    }

    /// Deletes a file: its row in the transaction, its content and the pictures made from it afterwards.
    /// - Returns: false when there is no such file.
    func remove(_ name: String, in transaction: StoreTransaction) throws -> Bool {
        guard try FileTable.remove(name, in: transaction) else { return false }
        transaction.afterCommit { [folder, bucketMaintenance] in
            folder.remove(name)
            bucketMaintenance?.wake()
        }
        return true
    }

    /// Deletes photos that the storefront stored for an account.
    /// - Parameters:
    ///   - name: of one photo; nil for all.
    ///   - kept: the name of a photo that stays.
    package func removeAccountPhotos(
        of userId: String, named name: String? = nil, except kept: String = "", in transaction: StoreTransaction
    ) throws {
        for photo in try FileTable.accountPhotos(of: userId, named: name, in: transaction) where photo != kept {
            _ = try remove(photo, in: transaction)
        }
    }

    /// Sweeps when this process becomes the writer, and periodically.
    func keepSweeping() {
        let start = SweepStart()
        // With several writers, files older than this process may belong to another one, so only the age decides.
        if host.writers == .one {
            host.whenWriter(
                "files.leftovers", every: .seconds(1), problem: "Unfinished files could not be removed."
            ) {
                report(try await sweep(before: start.time))
                return .finished
            }
        }
        host.whenWriter("files", every: Self.abandonedAfter, problem: "Unfinished files could not be removed.") {
            report(try await sweepAbandoned())
            return .idle
        }
    }

    private func report(_ removed: Int) {
        guard removed > 0 else { return }
        host.logger.notice("Removed unfinished files.", metadata: ["files.count": "\(removed)"])
    }

    /// Removes files that no running request can own.
    /// - Returns: the number of removed files.
    func sweepAbandoned() async throws -> Int {
        try await sweep(before: Date(timeIntervalSinceNow: -Double(Self.abandonedAfter.components.seconds)))
    }

    private func sweep(before time: Date) async throws -> Int {
        var count = try await folder.onDisk { [folder] in folder.sweepUnfinished(before: time) }
        for shard in try await folder.onDisk({ [folder] in folder.shards() }) {
            let names = try await folder.onDisk { [folder] in folder.names(in: shard, before: time) }
            let strangers = try await host.store.read(for: nil) { try FileTable.strangers(names, in: $0) }
            for name in strangers where FileNames.isStoredName(name) { folder.remove(name) }
            count += strangers.count
        }
        return count
    }
}

/// The start of this process as the writer. Older files belong to an earlier process, also when a sweep is retried.
private final class SweepStart: Sendable {
    private let start = Mutex<Date?>(nil)

    /// The time of the first access, minus 2 s: file times are coarser than the clock.
    var time: Date {
        start.withLock { start in
            let time = start ?? Date(timeIntervalSinceNow: -2)
            start = time
            return time
        }
    }
}
