/// The holds that services have not confirmed, and who waits for them. Pure.
package struct LiveHolds {
    package typealias Done = @Sendable () -> Void

    private var underWay: Set<UInt64> = []
    private var waiting: [(holds: Set<UInt64>, done: Done)] = []
    private var last: UInt64 = 0

    package init() {}

    /// A hold is sent.
    package mutating func begin() -> UInt64 {
        last += 1
        underWay.insert(last)
        return last
    }

    /// Waits for all that are under way now.
    /// - Returns: whether there are none: then nobody waits.
    package mutating func wait(_ done: @escaping Done) -> Bool {
        guard !underWay.isEmpty else { return true }
        waiting.append((underWay, done))
        return false
    }

    /// A hold is confirmed, or has failed.
    /// - Returns: those who have waited for it and nothing else.
    package mutating func end(_ hold: UInt64) -> [Done] {
        underWay.remove(hold)
        for index in waiting.indices { waiting[index].holds.remove(hold) }
        let done = waiting.filter(\.holds.isEmpty).map(\.done)
        waiting.removeAll(where: \.holds.isEmpty)
        return done
    }
}
