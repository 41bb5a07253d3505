import ObjectStore

/// The changes of the last minutes, for subscribers who come back. Pure.
///
/// Changes are kept of classes that somebody watches, and some time longer: a client whose connection broke finds what
/// it missed also when nobody else was there meanwhile.
struct LiveWindow {
    struct Entry {
        let position: UInt64
        let change: StoredChange
        /// Nanoseconds of the feed's clock.
        let at: Int64
    }

    /// Changes that are kept at most, their bytes in memory, and for how long.
    static let entriesMax = 8192
    static let bytesMax = 16 << 20
    static let nanosecondsMax: Int64 = 300_000_000_000

    private var entries: [Entry] = []
    /// Entries at the beginning that are gone.
    private var dropped = 0
    private var bytes = 0
    /// Of positions up to it something may be gone.
    private var floor: UInt64 = 0
    /// The positions after which the changes of each watched class were kept.
    private(set) var watchedFrom: [String: UInt64] = [:]

    /// Says that a class is watched, too, from a position on.
    mutating func watch(_ className: String, from position: UInt64) {
        if watchedFrom[className] == nil { watchedFrom[className] = position }
    }

    /// Says which classes are watched, from a position on.
    mutating func watch(_ classes: Set<String>, from position: UInt64) {
        watchedFrom = watchedFrom.filter { classes.contains($0.key) }
        for name in classes where watchedFrom[name] == nil { watchedFrom[name] = position }
    }

    mutating func add(_ change: StoredChange, at position: UInt64, now: Int64) {
        entries.append(Entry(position: position, change: change, at: now))
        bytes += change.bytes
        makeRoom(now)
    }

    /// Lets go of what is too old or too much.
    mutating func makeRoom(_ now: Int64) {
        while dropped < entries.count {
            let first = entries[dropped]
            guard
                entries.count - dropped > Self.entriesMax || bytes > Self.bytesMax
                    || now - first.at > Self.nanosecondsMax
            else { break }
            floor = first.position
            bytes -= first.change.bytes
            dropped += 1
        }
        // Half of the array at once, so that moving the rest is paid for.
        guard dropped > 1024 || dropped == entries.count, dropped * 2 >= entries.count else { return }
        entries.removeFirst(dropped)
        dropped = 0
    }

    /// The changes of a class after a position; nil when some of them are not known any more.
    func changes(of className: String, after position: UInt64) -> ArraySlice<Entry>? {
        guard let from = watchedFrom[className], position >= max(from, floor) else { return nil }
        let kept = entries[dropped...]
        // Positions only grow.
        var (low, high) = (kept.startIndex, kept.endIndex)
        while low < high {
            let middle = (low + high) / 2
            if kept[middle].position <= position { low = middle + 1 } else { high = middle }
        }
        return kept[low...]
    }

    mutating func removeAll() { self = LiveWindow() }
}
