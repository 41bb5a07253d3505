/// The requests that each call has made and waits for: so many at a time, the others in line.
///
/// Each call has a line of its own. In a common one a call could wait for a request that is behind those of the calls
/// that wait for it.
package struct AskLine<Key: Hashable, Ask> {
    /// Requests of one call under way.
    package static var underWayMax: Int { 32 }
    /// Requests of one call that wait.
    package static var waitingMax: Int { 10_000 }
    /// Bytes of the requests that wait, of all calls: they are in this process's memory.
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

    /// A request of a call, and its size.
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

    /// A request of a call is answered: the next one, which is to be sent.
    package mutating func answered(of key: Key) -> Ask? {
        guard var line = lines.removeValue(forKey: key) else { return nil }
        let next = line.waiting.isEmpty ? nil : line.waiting.removeFirst()
        if next == nil { line.underWay -= 1 }
        if line.underWay > 0 { lines[key] = line }
        waitingBytes -= next?.bytes ?? 0
        return next?.ask
    }

    /// The calls are gone.
    package mutating func forget(where isGone: (Key) -> Bool) {
        for (key, line) in lines where isGone(key) {
            waitingBytes -= line.waiting.reduce(0) { $0 + $1.bytes }
            lines[key] = nil
        }
    }
}
