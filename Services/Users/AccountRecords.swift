import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// The service's store, for what class rules decide before the transaction of a change. Rules are made before there is a store and get
/// this instead.
package final class AccountRecords: Sendable {
    private let store = Mutex<ClassStore?>(nil)

    package init() {}

    /// Called once, while the service is built.
    func connect(_ store: ClassStore) { self.store.withLock { $0 = store } }

    func read<T: Sendable>(_ body: @escaping @Sendable (StoreReader) throws -> T) async throws -> T {
        try await connected().read(body)
    }

    func write<T: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> T) async throws -> T {
        try await connected().write(body)
    }

    /// Applies the class-level permissions before anything else is looked at.
    /// - Throws: 119, or 101 when a sign-in would help.
    func authorize(_ change: ProposedChange) async throws {
        guard !change.caller.isMaster else { return }
        let (className, caller) = (change.className, change.caller)
        let action: ClassPermissions.Action =
            switch change.verb {
            case .create: .create
            case .update: .update
            case .delete: .delete
            }
        try await read { try $0.authorize(action, className, caller: caller) }
    }

    private func connected() throws -> ClassStore {
        guard let store = store.withLock(\.self) else { throw ParseError.internalError }
        return store
    }
}
