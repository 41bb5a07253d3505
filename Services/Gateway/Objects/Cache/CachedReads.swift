import DequeModule
import MessageBus
import ParseProtocol

/// The answers that the gateway keeps for reads of the same, and the decision which of them stay: without I/O, time is
/// an argument.
///
/// Which ones stay is decided as in S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP
/// 2023). A new answer waits in a line of a tenth of the room; only one that is asked for there again comes into the
/// rest, and one that is asked for again soon after it had to go. So a client that asks a million different questions
/// throws out its own answers and not those that everybody asks for.
package struct CachedReads<Answer: Sendable, Stamp: Sendable> {
    /// A question, byte for byte as it came. Swift's texts are equal when they look alike, such as one with an accented
    /// letter and one with a letter and its accent, between which the database makes a difference.
    package struct Key: Hashable, Sendable {
        private let isMaster: Bool
        private let className: String
        private let objectId: [UInt8]?
        private let options: [UInt8]

        /// - Parameters:
        ///   - isMaster: asked with the master key, which sees more than anybody else.
        ///   - className: an identifier.
        ///   - objectId: nil for a query.
        ///   - options: as the client wrote them. The same in another order is another question.
        package init(isMaster: Bool, className: String, objectId: String?, options: [UInt8]) {
            self.isMaster = isMaster
            self.className = className
            self.objectId = objectId.map { Array($0.utf8) }
            self.options = options
        }

        fileprivate var bytes: Int { className.utf8.count + (objectId?.count ?? 0) + options.count }
    }

    /// Numbers for the operator. `entries` and `bytes` are of this moment, the others since the start.
    package struct Counts: Sendable, Equatable {
        package var hits = 0
        /// Questions that had to be asked of a service, among those that could have been here.
        package var misses = 0
        /// Answers that were found to be older than a change.
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
        /// Tells the entry from an earlier one of the same key.
        let serial: UInt64
        var isProven: Bool
        var uses: UInt8 = 0
    }

    private struct Place {
        let key: Key
        let serial: UInt64
    }

    /// Entries in the order in which they came. Those that were dropped keep their place until it is their turn.
    private struct Line {
        var places: Deque<Place> = []
        var bytes = 0
        var count = 0
    }

    /// Beside the answer and the key: the entry, its place, and what the buffers take for themselves.
    package static var entryOverhead: Int { 512 }
    /// Questions remembered after their answers had to go.
    private static var departedMax: Int { 8192 }
    /// A bound for what changes without our doing, such as an operator who edits the database.
    package static var lifetime: BusClock.Milliseconds { 60_000 }

    private let bytesMax: Int
    private let entryBytesMax: Int
    private var entries: [Key: Entry] = [:]
    private var new = Line()
    private var proven = Line()
    private var departed: Set<Int> = []
    private var departures: Deque<Int> = []
    private var lastSerial: UInt64 = 0
    private var counted = Counts()

    /// - Parameters:
    ///   - bytesMax: of all entries together, with what they take beside their answers.
    ///   - entryBytesMax: of one entry.
    package init(bytesMax: Int, entryBytesMax: Int) {
        self.bytesMax = bytesMax
        self.entryBytesMax = min(entryBytesMax, bytesMax)
    }

    package var counts: Counts {
        var counts = counted
        counts.entries = entries.count
        counts.bytes = new.bytes + proven.bytes
        return counts
    }

    // MARK: Finding

    /// The answer that a question has now; nil when a service must be asked.
    /// - Parameters:
    ///   - isSignedIn: whether the caller is a user: then only answers that are everybody's are his.
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

    // MARK: Keeping

    /// Keeps an answer, unless it is too large.
    /// - Parameters:
    ///   - bytes: of memory that the answer takes.
    ///   - stamp: taken before the read began.
    ///   - isForEverybody: whether every caller but the master key gets the same.
    package mutating func keep(
        _ answer: Answer, for key: Key, bytes: Int, stamp: Stamp, isForEverybody: Bool, now: BusClock.Milliseconds
    ) {
        // The place in a line may outlive its entry, and its question with it.
        let cost = bytes + 2 * key.bytes + Self.entryOverhead
        guard cost <= entryBytesMax else { return }
        drop(key)
        lastSerial += 1
        let isProven = departed.remove(key.hashValue) != nil
        entries[key] = Entry(
            answer: answer, stamp: stamp, isForEverybody: isForEverybody, bytes: cost, keptAt: now, serial: lastSerial,
            isProven: isProven)
        append(Place(key: key, serial: lastSerial), bytes: cost, isProven: isProven)
        makeRoom()
    }

    private mutating func append(_ place: Place, bytes: Int, isProven: Bool) {
        if isProven {
            proven.places.append(place)
            proven.bytes += bytes
            proven.count += 1
            Self.compact(&proven, entries)
        } else {
            new.places.append(place)
            new.bytes += bytes
            new.count += 1
            Self.compact(&new, entries)
        }
    }

    /// Removes the places of entries that were dropped, once they are more than the others.
    private static func compact(_ line: inout Line, _ entries: [Key: Entry]) {
        guard line.places.count > 2 * line.count + 64 else { return }
        line.places.removeAll { entries[$0.key]?.serial != $0.serial }
    }

    private mutating func drop(_ key: Key) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        left(entry)
    }

    private mutating func left(_ entry: Entry) {
        if entry.isProven {
            proven.bytes -= entry.bytes
            proven.count -= 1
        } else {
            new.bytes -= entry.bytes
            new.count -= 1
        }
    }

    // MARK: Making room

    private mutating func makeRoom() {
        while new.bytes + proven.bytes > bytesMax {
            if new.bytes > bytesMax / 10 || proven.count == 0 {
                passNew()
            } else {
                passProven()
            }
        }
    }

    /// The oldest of the new ones goes, or is proven by then.
    private mutating func passNew() {
        guard let place = new.places.popFirst(), var entry = entries[place.key], entry.serial == place.serial else {
            return
        }
        left(entry)
        guard entry.uses > 1 else {
            entries[place.key] = nil
            depart(place.key.hashValue)
            return
        }
        entry.isProven = true
        entry.uses = 0
        entries[place.key] = entry
        append(place, bytes: entry.bytes, isProven: true)
    }

    /// The oldest of the proven ones goes, unless it was asked for since it was last looked at.
    private mutating func passProven() {
        guard let place = proven.places.popFirst(), var entry = entries[place.key], entry.serial == place.serial else {
            return
        }
        guard entry.uses > 0 else {
            drop(place.key)
            return
        }
        entry.uses -= 1
        entries[place.key] = entry
        proven.places.append(place)
    }

    private mutating func depart(_ question: Int) {
        guard departed.insert(question).inserted else { return }
        departures.append(question)
        if departures.count > Self.departedMax, let oldest = departures.popFirst() { departed.remove(oldest) }
    }
}
