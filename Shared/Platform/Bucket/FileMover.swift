import Logging
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// Moves files between disk and bucket, one at a time and with a rate limit. It walks all files by name. Each file's
/// row records the move, so the next process continues where this one ended.
package final class FileMover: Sendable {
    private struct State {
        /// Files to move; the next one is last.
        var waiting: [FileTable.Entry] = []
        /// The last inspected name.
        var position = ""
        var nextWalk: ContinuousClock.Instant?
        var moved = 0
    }

    private enum Outcome {
        case moved, passedOver
    }

    private let home: FileStorage
    private let bucket: FileBucket
    private let state = Mutex(State())

    /// Rows per page; takes about 1 ms.
    private static let pageRows = 200
    /// Delay until the next walk, which retries files that could not be moved.
    private static let walkPause = Duration.seconds(3600)
    /// Long enough for the largest file on a slow connection.
    private static let writeLimit = Duration.seconds(300)

    package init(home: FileStorage, bucket: FileBucket) {
        self.home = home
        self.bucket = bucket
    }

    /// Moves one file, or searches for files to move.
    /// - Throws: `BucketTrouble.away`, after which the same file is next; the store's errors.
    package func round() async throws -> BackgroundWork.Round {
        let moves = bucket.configuration.moves
        guard moves != .none else { return .idle }
        guard let entry = state.withLock({ $0.waiting.last }) else { return try await walk(moves) }
        let outcome: Outcome
        do {
            outcome = moves == .into ? try await moveIn(entry) : try await moveBack(entry)
        } catch BucketTrouble.away(let why) {
            throw BucketTrouble.away(why)
        } catch {
            // Continues with the other files; the next walk retries this one.
            home.logger.error("A file could not be moved.", metadata: ["error": "\(error)"])
            outcome = .passedOver
        }
        state.withLock { state in
            _ = state.waiting.popLast()
            if outcome == .moved { state.moved += 1 }
        }
        try await Task.sleep(for: pause(after: entry.size))
        return .more
    }

    /// Logs how many files were moved since the last report, when none is left for now.
    func report(_ logger: Logger) {
        let moved = state.withLock { state in
            guard state.waiting.isEmpty, state.nextWalk != nil else { return 0 }
            defer { state.moved = 0 }
            return state.moved
        }
        guard moved > 0 else { return }
        logger.notice(
            bucket.configuration.moves == .into ? "Files were moved into the bucket." : "Files were moved to the disk.",
            metadata: ["files.count": "\(moved)"])
    }

    /// Reads a page of files and queues those in the wrong place.
    private func walk(_ moves: BucketConfiguration.Moves) async throws -> BackgroundWork.Round {
        let (position, nextWalk) = state.withLock { ($0.position, $0.nextWalk) }
        if let nextWalk {
            guard ContinuousClock.now >= nextWalk else { return .idle }
            state.withLock { $0.nextWalk = nil }
        }
        let page = try await home.store.read(for: nil) {
            try FileTable.page(after: position, limit: Self.pageRows, in: $0)
        }
        let isLast = page.count < Self.pageRows
        state.withLock { state in
            state.position = isLast ? "" : page.last?.name ?? ""
            state.waiting = page.filter { $0.inBucket == (moves == .back) }.reversed()
            if isLast { state.nextWalk = ContinuousClock.now + Self.walkPause }
        }
        return isLast && state.withLock({ $0.waiting.isEmpty }) ? .idle : .more
    }

    private func pause(after bytes: Int) -> Duration {
        .microseconds(Int64(bytes) * 1_000_000 / Int64(bucket.configuration.moveBytesPerSecond))
    }

    // MARK: - One file

    private func moveIn(_ entry: FileTable.Entry) async throws -> Outcome {
        let name = entry.name
        guard let content = try? await home.content(onDisk: entry) else { return try await adopt(entry) }
        // If the row is deleted meanwhile or this process ends, the object is deleted too.
        try await home.store.write(for: nil) {
            try BucketDeletions.add(name, after: BucketDeletions.orphanLife, in: $0)
        }
        try await bucket.put(content, name: name, contentType: entry.contentType, within: Self.writeLimit)
        // Before content is deleted from the disk, it is read back from the bucket and compared byte for byte.
        guard try await bucket.content(name, size: entry.size) == content else { throw BucketTrouble.different }
        return try await note(name, inBucket: true)
    }

    /// Handles a file whose content is missing on the disk, for example after restoring a backup that was made during
    /// the move. The bucket may have it.
    private func adopt(_ entry: FileTable.Entry) async throws -> Outcome {
        let now = try await home.store.read(for: nil) { try FileTable.find(entry.name, in: $0) }
        guard let now, !now.inBucket else { return .passedOver }
        _ = try await bucket.content(entry.name, size: entry.size)
        return try await note(entry.name, inBucket: true)
    }

    private func moveBack(_ entry: FileTable.Entry) async throws -> Outcome {
        let content = try await bucket.content(entry.name, size: entry.size)
        try await home.folder.save(content, as: entry.name)
        guard try await home.content(onDisk: entry) == content else { throw BucketTrouble.different }
        return try await note(entry.name, inBucket: false)
    }

    /// Records a file's new location. The old copy is deleted afterwards: on the disk at once, in the bucket when its
    /// presigned URLs have expired.
    private func note(_ name: String, inBucket: Bool) async throws -> Outcome {
        let (folder, urlSeconds) = (home.folder, bucket.configuration.urlSeconds)
        let isNoted = try await home.store.write(for: nil) { transaction in
            let isNoted = try FileTable.place(name, inBucket: inBucket, in: transaction)
            switch (isNoted, inBucket) {
            case (true, true):
                try BucketDeletions.remove(name, in: transaction)
                transaction.afterCommit { folder.remove(name) }
            case (true, false):
                let life = max(BucketDeletions.orphanLife, .seconds(2 * urlSeconds))
                try BucketDeletions.add(name, after: life, in: transaction)
            case (false, true):
                // The file was deleted meanwhile.
                try BucketDeletions.makeDue(name, in: transaction)
            case (false, false):
                guard try FileTable.find(name, in: transaction) == nil else { break }
                transaction.afterCommit { folder.remove(name) }
            }
            return isNoted
        }
        return isNoted ? .moved : .passedOver
    }
}
