/// The holds that services have not confirmed, with the completions that wait for them. No I/O.
package struct PendingHolds {
    package typealias Done = @Sendable () -> Void

    private var underWay: Set<UInt64> = []
    private var waiting: [(holds: Set<UInt64>, done: Done)] = []
    private var last: UInt64 = 0

    package init() {}

    /// Records that a hold was sent.
    package mutating func begin() -> UInt64 {
        last += 1
        underWay.insert(last)
        return last
    }

    /// Waits for all holds that are in flight now.
    /// - Returns: true when there are none; then `done` is not stored.
    package mutating func wait(_ done: @escaping Done) -> Bool {
        guard !underWay.isEmpty else { return true }
        waiting.append((underWay, done))
        return false
    }

    /// Records that a hold was confirmed or has failed.
    /// - Returns: the completions that no longer wait for any hold.
    package mutating func end(_ hold: UInt64) -> [Done] {
        underWay.remove(hold)
        for index in waiting.indices { waiting[index].holds.remove(hold) }
        let done = waiting.filter(\.holds.isEmpty).map(\.done)
        waiting.removeAll(where: \.holds.isEmpty)
        return done
    }
}
