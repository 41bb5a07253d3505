import ParseProtocol
import Synchronization

/// One object before or after a change: its fields and its stored text.
package struct StoredImage: Sendable {
    let fields: [String: JSON]
    let text: [UInt8]
}

/// A committed change of an object, for the subscribers to its class.
package struct StoredChange: Sendable {
    /// The class as the change saw it, with its fields and permissions at that time.
    let info: ClassInfo
    /// The generation of `info`: while it is the same, the class is unchanged.
    let generation: Int64
    package let objectId: String
    /// Nil for a created object.
    package let before: StoredImage?
    /// Nil for a deleted object.
    package let after: StoredImage?

    package var className: String { info.name }

    /// The approximate memory use: decoded values take several times the size of their text.
    package var bytes: Int { 256 + 4 * ((before?.text.count ?? 0) + (after?.text.count ?? 0)) }
}

/// The classes with subscribers, and the listener for their changes. Without such classes, a write only reads one flag.
package final class ChangeWatch: Sendable {
    private struct State {
        var classes: Set<String> = []
        var listener: (@Sendable ([StoredChange]) -> Void)?
        var lost: (@Sendable () -> Void)?
    }

    private let isWatching = Atomic<Bool>(false)
    private let isLogged = Atomic<Bool>(false)
    private let state = Mutex(State())

    init() {}

    /// - Parameters:
    ///   - listener: called on the writer's thread with the changes of each commit, in their order, after the commit
    ///     and before its jobs are completed. It must only enqueue them.
    ///   - lost: called there when a server may have committed changes that the listener does not get.
    package func listen(
        _ listener: @escaping @Sendable ([StoredChange]) -> Void, lost: @escaping @Sendable () -> Void = {}
    ) {
        state.withLock { state in
            state.listener = listener
            state.lost = lost
        }
    }

    /// Sets the watched classes. A write under way may have read the old set. Changes are reported from the first write
    /// that begins after this call.
    package func watch(_ classes: Set<String>) {
        state.withLock { $0.classes = classes }
        isWatching.store(!classes.isEmpty, ordering: .sequentiallyConsistent)
    }

    /// Reports changes through the database (`StoreTransaction.takeLoggedChanges`), because other processes also write.
    /// Called before the first write.
    package func keepLog() { isLogged.store(true, ordering: .sequentiallyConsistent) }

    var keepsLog: Bool { isLogged.load(ordering: .relaxed) }

    func wants(_ className: String) -> Bool {
        guard isWatching.load(ordering: .acquiring) else { return false }
        return state.withLock { $0.classes.contains(className) }
    }

    func tell(_ changes: [StoredChange]) {
        guard !changes.isEmpty else { return }
        state.withLock { $0.listener }?(changes)
    }

    func lose() { state.withLock { $0.lost }?() }
}
