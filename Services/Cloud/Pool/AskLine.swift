/// The requests that each call has made and waits for: so many at a time, the others in line.
///
/// Each call has a line of its own. In a common one a call could wait for a request that is behind those of the calls
/// that wait for it.
struct AskLine<Key: Hashable, Ask> {
    /// Requests of one call under way.
    static var underWayMax: Int { 32 }
    /// Requests of one call that wait.
    static var waitingMax: Int { 10_000 }

    enum Decision {
        case send
        case wait
        case refuse
    }

    private var lines: [Key: (underWay: Int, waiting: [Ask])] = [:]

    /// A request of a call.
    mutating func add(_ ask: Ask, of key: Key) -> Decision {
        var line = lines[key] ?? (0, [])
        lines[key] = nil
        defer { lines[key] = line }
        if line.underWay < Self.underWayMax {
            line.underWay += 1
            return .send
        }
        guard line.waiting.count < Self.waitingMax else { return .refuse }
        line.waiting.append(ask)
        return .wait
    }

    /// A request of a call is answered: the next one, which is to be sent.
    mutating func answered(of key: Key) -> Ask? {
        guard var line = lines.removeValue(forKey: key) else { return nil }
        let next = line.waiting.isEmpty ? nil : line.waiting.removeFirst()
        if next == nil { line.underWay -= 1 }
        if line.underWay > 0 { lines[key] = line }
        return next
    }

    /// The calls are gone.
    mutating func forget(where isGone: (Key) -> Bool) { lines = lines.filter { !isGone($0.key) } }
}
