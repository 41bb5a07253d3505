import DequeModule
import MessageBus
import ParseProtocol

/// The cached responses to reads, with the eviction policy. No I/O; time is an argument.
///
/// Eviction follows S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023). A new response
/// enters the small queue, with a tenth of the memory. It moves into the main queue only when it is requested again
/// there, or again soon after its eviction, or when it replaces an outdated one of the main queue. A client that sends
/// a million different queries therefore evicts its own responses, and not the popular ones.
package struct CachedReads<Answer: Sendable, Stamp: Sendable> {
    /// A query, byte for byte as the client sent it. Swift's strings compare by canonical equivalence, such as an
    /// accented letter with a letter and a combining accent, which the database distinguishes.
    package struct Key: Hashable, Sendable {
        /// The hash of the other members. A key is looked up several times from its read to its eviction, and the hash
        /// of an array is made byte by byte.
        private let digest: Int
        private let isMaster: Bool
        private let className: String
        private let objectId: [UInt8]?
        private let options: [UInt8]

        /// - Parameters:
        ///   - isMaster: sent with the master key, which sees more than every other caller.
        ///   - className: an identifier.
        ///   - objectId: nil for a query.
        ///   - options: as the client wrote them. The same options in another order are another key.
        package init(isMaster: Bool, className: String, objectId: String?, options: [UInt8]) {
            self.isMaster = isMaster
            self.className = className
            self.objectId = objectId.map { Array($0.utf8) }
            self.options = options
            var hasher = Hasher()
            hasher.combine(isMaster)
            hasher.combine(className)
            hasher.combine(objectId)
            hasher.combine(options.count)
            options.withUnsafeBytes { hasher.combine(bytes: $0) }
            digest = hasher.finalize()
        }

        package func hash(into hasher: inout Hasher) { hasher.combine(digest) }

        fileprivate var bytes: Int { className.utf8.count + (objectId?.count ?? 0) + options.count }
    }

    /// Counters for the operator. `entries` and `bytes` are current values; the others count since the start.
    package struct Counts: Sendable, Equatable {
        package var hits = 0
        /// Reads that went to a service although they were cacheable.
        package var misses = 0
        /// Entries that were older than a change.
        package var outdated = 0
        package var entries = 0
        package var bytes = 0

        var json: JSON {
            [
                "hits": .int(Int64(hits)), "misses": .int(Int64(misses)), "invalidations": .int(Int64(outdated)),
                "entries": .int(Int64(entries)), "bytes": .int(Int64(bytes)),
            ]
        }
    }

    private struct Entry {
        let answer: Answer
        let stamp: Stamp
        let isForEverybody: Bool
        let bytes: Int
        let keptAt: BusClock.Milliseconds
        /// Distinguishes the entry from an earlier one of the same key.
        let serial: UInt64
        var isInMain: Bool
        var uses: UInt8 = 0
    }

    private struct QueueItem {
        let key: Key
        let serial: UInt64
    }

    /// Entries in the order of insertion. The item of a dropped entry stays until the queue reaches it.
    private struct Queue {
        var items: Deque<QueueItem> = []
        var bytes = 0
        var count = 0
    }

    /// Overhead per entry besides response and key: the entry, its queue item and the buffers' own fields.
    package static var entryOverhead: Int { 512 }
    /// Keys that are remembered after their eviction, or after the end of their response in the main queue.
    private static var ghostsMax: Int { 8192 }
    /// Bounds the staleness after changes outside Satchel, such as an operator's edit of the database.
    package static var lifetime: BusClock.Milliseconds { 60_000 }

    private let bytesMax: Int
    private let entryBytesMax: Int
    private var entries: [Key: Entry] = [:]
    private var small = Queue()
    private var main = Queue()
    /// The hashes of remembered keys, and their order.
    private var ghosts: Set<Int> = []
    private var ghostOrder: Deque<Int> = []
    private var lastSerial: UInt64 = 0
    private var counted = Counts()

    /// - Parameters:
    ///   - bytesMax: for all entries together, overhead included.
    ///   - entryBytesMax: for one entry.
    package init(bytesMax: Int, entryBytesMax: Int) {
        self.bytesMax = bytesMax
        self.entryBytesMax = min(entryBytesMax, bytesMax)
    }

    package var counts: Counts {
        var counts = counted
        counts.entries = entries.count
        counts.bytes = small.bytes + main.bytes
        return counts
    }

    // MARK: Look-up

    /// The cached response of a key; nil when a service must be asked.
    /// - Parameters:
    ///   - isSignedIn: whether the caller is a user: then only responses that are equal for every caller apply.
    ///   - isCurrent: whether nothing changed since a stamp was taken.
    package mutating func find(
        _ key: Key, isSignedIn: Bool, now: BusClock.Milliseconds, isCurrent: (Stamp) -> Bool
    ) -> Answer? {
        guard let index = entries.index(forKey: key) else {
            counted.misses += 1
            return nil
        }
        let entry = entries.values[index]
        guard isCurrent(entry.stamp), now - entry.keptAt < Self.lifetime else {
            // The next response of a popular key enters the main queue, too.
            if entry.isInMain { remember(key.hashValue) }
            drop(key)
            counted.outdated += 1
            counted.misses += 1
            return nil
        }
        guard entry.isForEverybody || !isSignedIn else {
            counted.misses += 1
            return nil
        }
        if entry.uses < 3 { entries.values[index].uses += 1 }
        counted.hits += 1
        return entry.answer
    }

    // MARK: Storing

    /// Stores a response, unless it is too large.
    /// - Parameters:
    ///   - bytes: of memory that the response takes.
    ///   - stamp: taken before the read began.
    ///   - isForEverybody: whether every caller except the master key gets the same response.
    package mutating func keep(
        _ answer: Answer, for key: Key, bytes: Int, stamp: Stamp, isForEverybody: Bool, now: BusClock.Milliseconds
    ) {
        // The queue item may outlive the entry, and it holds a second copy of the key.
        let cost = bytes + 2 * key.bytes + Self.entryOverhead
        guard cost <= entryBytesMax else { return }
        // Of two reads at once, the second response finds the entry of the first.
        let isInMain = ghosts.contains(key.hashValue) || entries[key]?.isInMain == true
        drop(key)
        lastSerial += 1
        entries[key] = Entry(
            answer: answer, stamp: stamp, isForEverybody: isForEverybody, bytes: cost, keptAt: now, serial: lastSerial,
            isInMain: isInMain)
        append(QueueItem(key: key, serial: lastSerial), bytes: cost, isInMain: isInMain)
        makeRoom()
    }

    private mutating func append(_ item: QueueItem, bytes: Int, isInMain: Bool) {
        if isInMain {
            main.items.append(item)
            main.bytes += bytes
            main.count += 1
            Self.compact(&main, entries)
        } else {
            small.items.append(item)
            small.bytes += bytes
            small.count += 1
            Self.compact(&small, entries)
        }
    }

    /// Removes the items of dropped entries when they outnumber the others.
    private static func compact(_ queue: inout Queue, _ entries: [Key: Entry]) {
        guard queue.items.count > 2 * queue.count + 64 else { return }
        queue.items.removeAll { entries[$0.key]?.serial != $0.serial }
    }

    private mutating func drop(_ key: Key) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        uncount(entry)
    }

    private mutating func uncount(_ entry: Entry) {
        if entry.isInMain {
            main.bytes -= entry.bytes
            main.count -= 1
        } else {
            small.bytes -= entry.bytes
            small.count -= 1
        }
    }

    // MARK: Eviction

    private mutating func makeRoom() {
        while small.bytes + main.bytes > bytesMax {
            if small.bytes > bytesMax / 10 || main.count == 0 {
                passSmall()
            } else {
                passMain()
            }
        }
    }

    /// Evicts the oldest entry of the small queue, or promotes it when it was requested again.
    private mutating func passSmall() {
        guard let item = small.items.popFirst(), var entry = entries[item.key], entry.serial == item.serial else {
            return
        }
        uncount(entry)
        guard entry.uses > 1 else {
            entries[item.key] = nil
            remember(item.key.hashValue)
            return
        }
        entry.isInMain = true
        entry.uses = 0
        entries[item.key] = entry
        append(item, bytes: entry.bytes, isInMain: true)
    }

    /// Evicts the oldest entry of the main queue, unless it was requested since its last check.
    private mutating func passMain() {
        guard let item = main.items.popFirst(), var entry = entries[item.key], entry.serial == item.serial else {
            return
        }
        guard entry.uses > 0 else {
            drop(item.key)
            return
        }
        entry.uses -= 1
        entries[item.key] = entry
        main.items.append(item)
    }

    private mutating func remember(_ hash: Int) {
        guard ghosts.insert(hash).inserted else { return }
        ghostOrder.append(hash)
        if ghostOrder.count > Self.ghostsMax, let oldest = ghostOrder.popFirst() { ghosts.remove(oldest) }
    }
}
