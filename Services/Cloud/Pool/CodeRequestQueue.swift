/// The requests that code makes during each call: a limited number in flight, the others queued.
///
/// Each call has its own queue. A shared queue could deadlock: a request of a nested call could wait behind requests of
/// calls that wait for the nested call.
package struct CodeRequestQueue<Key: Hashable, Ask> {
    /// Maximum requests of one call in flight.
    package static var underWayMax: Int { 32 }
    /// Maximum queued requests of one call.
    package static var waitingMax: Int { 10_000 }
    /// Maximum bytes of all queued requests of all calls, which are in this process's memory.
    package static var waitingBytesMax: Int { 128 << 20 }

    package enum Decision {
        case send
        case wait
        case refuse
    }

    private struct Line {
        var underWay = 0
        var waiting: [(ask: Ask, bytes: Int)] = []
    }

    private var lines: [Key: Line] = [:]
    private var waitingBytes = 0

    package init() {}

    /// Adds a request of a call with its size.
    package mutating func add(_ ask: Ask, bytes: Int, of key: Key) -> Decision {
        var line = lines[key] ?? Line()
        lines[key] = nil
        defer { lines[key] = line }
        if line.underWay < Self.underWayMax {
            line.underWay += 1
            return .send
        }
        guard line.waiting.count < Self.waitingMax, waitingBytes + bytes <= Self.waitingBytesMax else { return .refuse }
        line.waiting.append((ask, bytes))
        waitingBytes += bytes
        return .wait
    }

    /// Records the answer to a request of a call; returns the next request to send.
    package mutating func answered(of key: Key) -> Ask? {
        guard var line = lines.removeValue(forKey: key) else { return nil }
        let next = line.waiting.isEmpty ? nil : line.waiting.removeFirst()
        if next == nil { line.underWay -= 1 }
        if line.underWay > 0 { lines[key] = line }
        waitingBytes -= next?.bytes ?? 0
        return next?.ask
    }

    /// Removes the queues of ended calls.
    package mutating func forget(where isGone: (Key) -> Bool) {
        for (key, line) in lines where isGone(key) {
            waitingBytes -= line.waiting.reduce(0) { $0 + $1.bytes }
            lines[key] = nil
        }
    }
}
