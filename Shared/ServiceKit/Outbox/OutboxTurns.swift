/// Decides to which services the outbox delivers, without I/O: one delivery at a time to each, and another one after it
/// when something was added meanwhile.
package struct OutboxTurns {
    /// Services that are delivered to, and whether something was added for them since the delivery looked.
    private var busy: [String: Bool] = [:]
    /// Others that something was added for.
    private var waiting: Set<String> = []

    package init() {}

    /// A message to the service was committed.
    package mutating func added(for destination: String) {
        if busy[destination] == nil { waiting.insert(destination) } else { busy[destination] = true }
    }

    /// The services that a delivery begins to now: those that something was added for, and those of `due` that none is
    /// under way to.
    package mutating func begin(due: [String]) -> [String] {
        let begun = waiting.union(due.filter { busy[$0] == nil })
        waiting = []
        for destination in begun { busy[destination] = false }
        return begun.sorted()
    }

    /// A delivery is about to look what there is.
    package mutating func looks(for destination: String) { busy[destination] = false }

    /// A delivery has nothing left.
    /// - Returns: false when something was added since it looked, so that it has to look again.
    package mutating func ends(for destination: String) -> Bool {
        guard busy[destination] != true else { return false }
        busy[destination] = nil
        return true
    }

    /// A delivery failed: what is left is found with what is due.
    package mutating func failed(for destination: String) { busy[destination] = nil }
}
