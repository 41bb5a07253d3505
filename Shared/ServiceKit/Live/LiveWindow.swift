import ObjectStore

/// The recent changes, for subscribers that reconnect. Pure.
///
/// Changes are kept for watched classes, which remain watched for some time after the last subscription. So a client
/// whose connection broke gets the changes it missed even when it was the only subscriber.
struct LiveWindow {
    struct Entry {
        let position: UInt64
        let change: StoredChange
        /// Nanoseconds of the feed's clock.
        let at: Int64
    }

    /// Limits of the window: changes, their bytes in memory, and their age.
    static let entriesMax = 8192
    static let bytesMax = 16 << 20
    static let nanosecondsMax: Int64 = 300_000_000_000

    private var entries: [Entry] = []
    /// Number of entries at the start of the array that are already dropped.
    private var dropped = 0
    private var bytes = 0
    /// Changes at positions up to this one may be dropped.
    private var floor: UInt64 = 0
    /// The position since which the changes of each watched class are kept.
    private(set) var watchedFrom: [String: UInt64] = [:]

    /// Adds a watched class from a position on.
    mutating func watch(_ className: String, from position: UInt64) {
        if watchedFrom[className] == nil { watchedFrom[className] = position }
    }

    /// Sets the watched classes from a position on.
    mutating func watch(_ classes: Set<String>, from position: UInt64) {
        watchedFrom = watchedFrom.filter { classes.contains($0.key) }
        for name in classes where watchedFrom[name] == nil { watchedFrom[name] = position }
    }

    mutating func add(_ change: StoredChange, at position: UInt64, now: Int64) {
        entries.append(Entry(position: position, change: change, at: now))
        bytes += change.bytes
        makeRoom(now)
    }

    /// Drops entries that are too old or exceed the limits.
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
        // Removes at least half of the array at once to amortise the move.
        guard dropped > 1024 || dropped == entries.count, dropped * 2 >= entries.count else { return }
        entries.removeFirst(dropped)
        dropped = 0
    }

    /// The changes of a class after a position; nil when some of them were dropped.
    func changes(of className: String, after position: UInt64) -> ArraySlice<Entry>? {
        guard let from = watchedFrom[className], position >= from else { return nil }
        return self.entries(after: position)
    }

    /// The changes of all classes after a position; nil when some of them were dropped.
    func entries(after position: UInt64) -> ArraySlice<Entry>? {
        guard position >= floor else { return nil }
        let kept = entries[dropped...]
        // Binary search: positions are increasing.
        var (low, high) = (kept.startIndex, kept.endIndex)
        while low < high {
            let middle = (low + high) / 2
            if kept[middle].position <= position { low = middle + 1 } else { high = middle }
        }
        return kept[low...]
    }

    mutating func removeAll() { self = LiveWindow() }
}
