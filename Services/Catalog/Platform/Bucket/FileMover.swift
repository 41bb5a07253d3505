import Logging
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// Moves files between disk and bucket, one after the other and at a bounded pace. It goes through all files by name;
/// what was moved is noted with each, so that a process that comes after goes on where this one ended.
package final class FileMover: Sendable {
    private struct State {
        /// Files that are to be moved, the next one last.
        var waiting: [FileTable.Entry] = []
        /// The last name that was looked at.
        var position = ""
        var nextWalk: ContinuousClock.Instant?
        var moved = 0
    }

    private enum Outcome {
        case moved, passedOver
    }

    private let home: FileHome
    private let bucket: FileBucket
    private let state = Mutex(State())

    /// Rows that are looked at together: a millisecond.
    private static let pageRows = 200
    /// Until all files are looked at anew, for those that could not be moved.
    private static let walkPause = Duration.seconds(3600)
    /// The largest file over a slow line.
    private static let writeLimit = Duration.seconds(300)

    package init(home: FileHome, bucket: FileBucket) {
        self.home = home
        self.bucket = bucket
    }

    /// Moves one file, or looks for files to move.
    /// - Throws: `BucketTrouble.away`, after which the same file is next; what the store throws.
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
            // The others go first; it comes again with the next walk.
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

    /// Tells how many files were moved since it was told last, when there are none left for now.
    func report(_ logger: Logger) {
        let moved = state.withLock { state in
            guard state.waiting.isEmpty, state.nextWalk != nil else { return 0 }
            defer { state.moved = 0 }
            return state.moved
        }
        guard moved > 0 else { return }
        logger.notice(
            bucket.configuration.moves == .into ? "Files were moved into the bucket." : "Files were brought home.",
            metadata: ["files.count": "\(moved)"])
    }

    /// Reads a page of files, from which those are kept that are in the wrong place.
    private func walk(_ moves: BucketConfiguration.Moves) async throws -> BackgroundWork.Round {
        let (position, nextWalk) = state.withLock { ($0.position, $0.nextWalk) }
        if let nextWalk {
            guard ContinuousClock.now >= nextWalk else { return .idle }
            state.withLock { $0.nextWalk = nil }
        }
        let page = try await home.store.read { try FileTable.page(after: position, limit: Self.pageRows, in: $0) }
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
        // Should its row go meanwhile, or this process end, the object goes as well.
        try await home.store.write { try BucketDrops.add(name, after: BucketDrops.orphanLife, in: $0) }
        try await bucket.put(content, name: name, contentType: entry.contentType, within: Self.writeLimit)
        // What is removed from the disk was read from the bucket first, byte for byte.
        guard try await bucket.content(name, size: entry.size) == content else { throw BucketTrouble.different }
        return try await note(name, inBucket: true)
    }

    /// A file that the disk should have and does not, as after a restore of a backup that was made while it moved. The
    /// bucket may have it.
    private func adopt(_ entry: FileTable.Entry) async throws -> Outcome {
        let now = try await home.store.read { try FileTable.find(entry.name, in: $0) }
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

    /// Notes where a file is now. Its former content goes after that: from the disk at once, from the bucket when URLs
    /// of it have ended.
    private func note(_ name: String, inBucket: Bool) async throws -> Outcome {
        let (folder, urlSeconds) = (home.folder, bucket.configuration.urlSeconds)
        let isNoted = try await home.store.write { transaction in
            let isNoted = try FileTable.place(name, inBucket: inBucket, in: transaction)
            switch (isNoted, inBucket) {
            case (true, true):
                try BucketDrops.remove(name, in: transaction)
                transaction.afterCommit { folder.remove(name) }
            case (true, false):
                let life = max(BucketDrops.orphanLife, .seconds(2 * urlSeconds))
                try BucketDrops.add(name, after: life, in: transaction)
            case (false, true):
                // The file was deleted meanwhile.
                try BucketDrops.hasten(name, in: transaction)
            case (false, false):
                guard try FileTable.find(name, in: transaction) == nil else { break }
                transaction.afterCommit { folder.remove(name) }
            }
            return isNoted
        }
        return isNoted ? .moved : .passedOver
    }
}
