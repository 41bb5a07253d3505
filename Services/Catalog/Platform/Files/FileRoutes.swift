import Foundation
import MessageBus
import Messages
import ParseProtocol
import ServiceKit
import Synchronization

/// The kinds about files (Shared/Messages/Protos/files.proto).
@discardableResult
func installFiles(_ host: ServiceHost, _ home: FileHome, _ routes: inout ServiceRoutes) -> FileKeeper {
    let folder = home.folder
    let keeper = FileKeeper(host: host, home: home, quota: FileQuota(quotas: host.quotas))
    let bucketKeeper = home.bucket.map { BucketKeeper(host: host, home: home, bucket: $0) }
    routes.task(FileCalls.save) { message, request in
        try await keeper.save(message, request)
        return Accepted()
    }
    if home.bucket == nil {
        // Not on a lane, which must not wait for the disk.
        routes.read(asideFramed: FileCalls.get) { message, _, reader in
            guard let entry = try FileTable.find(message.name, in: reader) else { throw ParseError.objectNotFound }
            // No more than is there: each time room for a whole part, of which most files leave the greater half empty,
            // would be asked of the system and given back.
            let wanted = FileHome.range(message.offset, Int(message.length), of: entry.size)
            let part = try wanted.map { try folder.read(message.name, offset: message.offset, length: $0.count) }
            return try BusReply(entry.reply, documents: [part ?? []])
        }
    } else {
        // What waits for a bucket needs a task.
        routes.task(framed: FileCalls.get) { message, _ in
            guard let found = try await home.reply(to: message) else { throw ParseError.objectNotFound }
            return try BusReply(found.reply, documents: [found.content])
        }
    }
    routes.accept(FileCalls.delete) { message, request, transaction in
        guard request.caller.isMaster else {
            throw ParseError(.operationForbidden, "Only the master key deletes files.")
        }
        guard try FileTable.remove(message.name, in: transaction) else {
            throw ParseError(.fileDeleteError, "Could not delete file.")
        }
        transaction.afterCommit {
            folder.remove(message.name)
            bucketKeeper?.wake()
        }
    }
    host.whenOpened { [bucket = home.bucket] in try FileBucket.check(bucket, in: $0) }
    bucketKeeper?.begin()
    keeper.keepSweeping()
    return keeper
}

/// Takes files in and clears up what crashes leave behind.
struct FileKeeper: Sendable {
    let host: ServiceHost
    let home: FileHome
    let quota: FileQuota

    private var folder: FileFolder { home.folder }

    /// A request lives for half a minute at most, so that what is older than this is not under way.
    private static let abandonedAfter = Duration.seconds(3600)

    func save(_ message: SaveFileRequest, _ request: ServiceRequest) async throws {
        guard FileNames.isKept(message.name), let content = request.documents.first, !content.isEmpty else {
            throw ParseError(.fileSaveError, "Invalid file upload.")
        }
        let name = message.name
        // A repetition of a request whose answer was lost.
        if try await host.store.read({ try FileTable.find(name, in: $0) }) != nil { return }
        let caller = request.caller
        try await quota.admit(bytes: content.count + message.metadata.count, by: caller, store: host.store)
        let entry = try await home.keep(
            content,
            for: FileTable.Entry(
                name: name, contentType: message.contentType, size: content.count,
                owner: caller.userId ?? (caller.isMaster ? nil : ""),
                metadata: String(decoding: message.metadata, as: UTF8.self)))
        do {
            try await host.store.write { try FileTable.add(entry, in: $0) }
        } catch {
            // Waited for, so that a repetition of the request at another replica comes after it.
            try? await folder.onDisk { [folder] in folder.removeNow(name) }
            if let error = error as? ParseError { throw error }
            host.logger.error("A file could not be recorded.", metadata: ["error": "\(error)"])
            throw ParseError(.fileSaveError, "The file could not be saved.")
        }
    }

    /// Sweeps when this process became the writer, and from time to time.
    func keepSweeping() {
        let start = SweepStart()
        // Where others write as well, what is older than this process may be theirs: by age alone.
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

    /// Removes now what nobody is at work on any more.
    /// - Returns: how many files that were.
    func sweepAbandoned() async throws -> Int {
        try await sweep(before: Date(timeIntervalSinceNow: -Double(Self.abandonedAfter.components.seconds)))
    }

    private func sweep(before time: Date) async throws -> Int {
        var count = try await folder.onDisk { [folder] in folder.sweepUnfinished(before: time) }
        for shard in try await folder.onDisk({ [folder] in folder.shards() }) {
            let names = try await folder.onDisk { [folder] in folder.names(in: shard, before: time) }
            let strangers = try await host.store.read { try FileTable.strangers(names, in: $0) }
            for name in strangers where FileNames.isKept(name) { folder.remove(name) }
            count += strangers.count
        }
        return count
    }
}

/// Since when the files are this process's own: what is older belongs to one that is gone, also when a sweep is tried
/// again.
private final class SweepStart: Sendable {
    private let start = Mutex<Date?>(nil)

    /// The moment of the first look at it. Times of files are coarser than the clock.
    var time: Date {
        start.withLock { start in
            let time = start ?? Date(timeIntervalSinceNow: -2)
            start = time
            return time
        }
    }
}
