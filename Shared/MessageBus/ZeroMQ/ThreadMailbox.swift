import CZeroMQ
import Glibc
import Synchronization

/// Passes work from any thread or task to the one thread that owns one or more sockets.
///
/// The owner sleeps in `poll` on `wakeDescriptor`. A post writes to it only while the owner sleeps, so that under load
/// one wake-up serves a whole batch.
package final class ThreadMailbox<Item: Sendable>: Sendable {
    private struct State {
        var items: [Item] = []
        var ownerSleeps = false
        var isClosed = false
    }

    /// Readable when there is work for a sleeping owner.
    package let wakeDescriptor: Int32
    private let state = Mutex(State())

    /// - Throws: `ThreadMailboxError` when the process has no descriptor left.
    package init() throws {
        wakeDescriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard wakeDescriptor >= 0 else { throw ThreadMailboxError.noDescriptor(errno) }
    }

    deinit { Glibc.close(wakeDescriptor) }

    /// Posts `item`; false when the owner has stopped.
    /// - Parameter wakes: false if `wakeForWork` follows; otherwise the item waits for the next post, or until the
    ///   owner wakes by itself.
    @discardableResult
    package func post(_ item: Item, wakes: Bool = true) -> Bool {
        post(wakes: wakes) { $0.append(item) }
    }

    /// Posts all items, contiguously and with one wake-up. Posts none and returns false when the owner has stopped.
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

    /// Wakes the owner if it sleeps although there is work.
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
        // A full counter (EAGAIN) means that a wake-up is already pending.
        _ = write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Takes all posted items. Owner only.
    package func drain(into items: inout [Item]) {
        if !items.isEmpty { items.removeAll(keepingCapacity: true) }
        state.withLock { swap(&items, &$0.items) }
    }

    /// Marks the owner as about to sleep; false when there is work. Owner only.
    package func prepareToSleep() -> Bool {
        state.withLock { state in
            guard state.items.isEmpty else { return false }
            state.ownerSleeps = true
            return true
        }
    }

    /// Marks the owner as awake and clears the wake-ups. Owner only.
    package func awake() {
        state.withLock { $0.ownerSleeps = false }
        var count: UInt64 = 0
        _ = read(wakeDescriptor, &count, MemoryLayout<UInt64>.size)
    }

    /// Refuses further posts and returns the remaining items. Owner only.
    package func close() -> [Item] {
        state.withLock { state in
            state.isClosed = true
            defer { state.items = [] }
            return state.items
        }
    }
}

/// A failure to create a mailbox, with the error number of `eventfd`.
package enum ThreadMailboxError: Error {
    case noDescriptor(Int32)
}
