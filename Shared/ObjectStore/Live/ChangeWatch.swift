import ParseProtocol
import Synchronization

/// One object as it was before or is after a change: its fields, and the text that is stored.
package struct StoredImage: Sendable {
    let fields: [String: JSON]
    let text: [UInt8]
}

/// A change of an object that was committed, for those who watch its class.
package struct StoredChange: Sendable {
    /// The class as it was known to the change: its fields and its permissions at that moment.
    let info: ClassInfo
    /// The generation of `info`: as long as it is the same, so is the class.
    let generation: Int64
    package let objectId: String
    /// Nil for an object that was created.
    package let before: StoredImage?
    /// Nil for an object that was deleted.
    package let after: StoredImage?

    package var className: String { info.name }

    /// The memory that it holds, roughly: decoded values take some times their text.
    package var bytes: Int { 256 + 4 * ((before?.text.count ?? 0) + (after?.text.count ?? 0)) }
}

/// The classes whose changes somebody wants to hear of, and who is told. While there are none, a write costs one look
/// at a number.
package final class ChangeWatch: Sendable {
    private struct State {
        var classes: Set<String> = []
        var listener: (@Sendable ([StoredChange]) -> Void)?
    }

    private let isWatching = Atomic<Bool>(false)
    private let isLogged = Atomic<Bool>(false)
    private let state = Mutex(State())

    init() {}

    /// - Parameter listener: told of the changes of each commit, in their order, on the writer's thread, after the
    ///   commit and before its callers are answered. It must only hand over.
    package func listen(_ listener: @escaping @Sendable ([StoredChange]) -> Void) {
        state.withLock { $0.listener = listener }
    }

    /// Names the classes. A write that is under way may have looked before: what follows a write that began later is
    /// told.
    package func watch(_ classes: Set<String>) {
        state.withLock { $0.classes = classes }
        isWatching.store(!classes.isEmpty, ordering: .sequentiallyConsistent)
    }

    /// Changes are told in the database (`StoreTransaction.takeLoggedChanges`), since other processes write as well.
    /// Said before anything is written.
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
}
