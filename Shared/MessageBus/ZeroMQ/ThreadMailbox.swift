import CZeroMQ
import Glibc
import Synchronization

/// Work that any thread or task hands to the one thread that owns a socket or several.
///
/// The owner sleeps in `zmq_poll` or `poll` on `wakeDescriptor`; a post writes to it only when the owner really sleeps,
/// so that under load a wake-up serves a whole batch.
package final class ThreadMailbox<Item: Sendable>: Sendable {
    private struct State {
        var items: [Item] = []
        var ownerSleeps = false
        var isClosed = false
    }

    /// Readable when there is work for an owner that sleeps.
    package let wakeDescriptor: Int32
    private let state = Mutex(State())

    /// - Throws: `ThreadMailboxError` when the process has no descriptor left.
    package init() throws {
        wakeDescriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard wakeDescriptor >= 0 else { throw ThreadMailboxError.noDescriptor(errno) }
    }

    deinit { Glibc.close(wakeDescriptor) }

    /// Hands `item` over; false when the owner has stopped.
    /// - Parameter wakes: false when `wakeForWork` follows; else the item waits for the next one, or until the owner
    ///   looks by itself.
    @discardableResult
    package func post(_ item: Item, wakes: Bool = true) -> Bool {
        post(wakes: wakes) { $0.append(item) }
    }

    /// Hands all of some items over or, when the owner has stopped, none and says false. Nothing of others comes
    /// between them; the owner is woken once.
    @discardableResult
    package func post(contentsOf items: [Item]) -> Bool {
        post(wakes: !items.isEmpty) { $0 += items }
    }

    private func post(wakes: Bool, _ append: (inout [Item]) -> Void) -> Bool {
        let (accepted, mustWake) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            append(&state.items)
            guard wakes else { return (true, false) }
            defer { state.ownerSleeps = false }
            return (true, state.ownerSleeps)
        }
        if mustWake { wake() }
        return accepted
    }

    /// Wakes the owner when it sleeps although there is something for it.
    func wakeForWork() {
        let mustWake = state.withLock { state in
            guard state.ownerSleeps, !state.items.isEmpty else { return false }
            state.ownerSleeps = false
            return true
        }
        if mustWake { wake() }
    }

    private func wake() {
        var one: UInt64 = 1
        // A full counter (EAGAIN) means that a wake-up is pending already.
        _ = write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Takes everything that waits. Owner only.
    package func drain(into items: inout [Item]) {
        items.removeAll(keepingCapacity: true)
        state.withLock { swap(&items, &$0.items) }
    }

    /// Says that the owner is about to sleep; false when there is work after all. Owner only.
    package func prepareToSleep() -> Bool {
        state.withLock { state in
            guard state.items.isEmpty else { return false }
            state.ownerSleeps = true
            return true
        }
    }

    /// Says that the owner is awake and clears the wake-ups. Owner only.
    package func awake() {
        state.withLock { $0.ownerSleeps = false }
        var count: UInt64 = 0
        _ = read(wakeDescriptor, &count, MemoryLayout<UInt64>.size)
    }

    /// Refuses further posts and returns what was left. Owner only.
    package func close() -> [Item] {
        state.withLock { state in
            state.isClosed = true
            defer { state.items = [] }
            return state.items
        }
    }
}

/// The reason why there is no mailbox: the error number of `eventfd`.
package enum ThreadMailboxError: Error {
    case noDescriptor(Int32)
}
