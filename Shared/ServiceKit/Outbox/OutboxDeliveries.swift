/// Decides to which services the outbox delivers: one delivery at a time per service, followed by another one when
/// messages were added meanwhile. Has no I/O.
package struct OutboxDeliveries {
    /// Services with a running delivery, and whether messages were added since it last read the table.
    private var busy: [String: Bool] = [:]
    /// Other services with new messages.
    private var waiting: Set<String> = []

    package init() {}

    /// A message to the service was committed.
    package mutating func added(for destination: String) {
        if busy[destination] == nil { waiting.insert(destination) } else { busy[destination] = true }
    }

    /// The services to which a delivery starts now: those with new messages, and those in `due` without a running
    /// delivery.
    package mutating func begin(due: [String]) -> [String] {
        let begun = waiting.union(due.filter { busy[$0] == nil })
        waiting = []
        for destination in begun { busy[destination] = false }
        return begun.sorted()
    }

    /// A delivery is about to read the table.
    package mutating func looks(for destination: String) { busy[destination] = false }

    /// A delivery found no more messages.
    /// - Returns: false when messages were added since it read the table, so that it must read again.
    package mutating func ends(for destination: String) -> Bool {
        guard busy[destination] != true else { return false }
        busy[destination] = nil
        return true
    }

    /// A delivery failed; the next check finds the remaining messages.
    package mutating func failed(for destination: String) { busy[destination] = nil }
}
