import ObjectStore
import ParseProtocol
import ServiceKit

extension ClassStore {
    /// Checks the class-level permissions of a change before any data is read.
    /// - Throws: `.operationForbidden` (119), or `.objectNotFound` (101) when a sign-in would help.
    func authorize(_ change: ProposedChange) async throws {
        guard !change.caller.isMaster else { return }
        let (className, caller) = (change.className, change.caller)
        let action: ClassPermissions.Action =
            switch change.verb {
            case .create: .create
            case .update: .update
            case .delete: .delete
            }
        try await read(for: change.request?.share) { try $0.authorize(action, className, caller: caller) }
    }
}
