import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// Writes to the audit log, which `users` stores. A note is an outbox row in the transaction of the change, so that
/// both are committed or neither is.
public struct AuditTrail: Sendable {
    private let outbox: Outbox

    init(outbox: Outbox) { self.outbox = outbox }

    /// Adds a note of a change by an operator or the master key. Ignores changes by customers.
    public func note(_ note: AuditNote, by request: ServiceRequest, in transaction: StoreTransaction) throws {
        guard let origin = AuditOrigin(request) else { return }
        try add([note], by: origin, in: transaction)
    }

    /// Adds a note of a change that an operator made by a mailed link, without a session.
    public func note(
        _ note: AuditNote, byOperator userId: String, _ request: ServiceRequest, in transaction: StoreTransaction
    ) throws {
        let author = Principal.with {
            $0.userID = userId
            $0.roles = [adminsRole]
            $0.network = request.envelope.principal.network
        }
        guard let origin = AuditOrigin(author, request.envelope.traceID) else { return }
        try add([note], by: origin, in: transaction)
    }

    func add(_ notes: [AuditNote], by origin: AuditOrigin, in transaction: StoreTransaction) throws {
        guard let changes = origin.changes(notes, at: transaction.now) else { return }
        try outbox.add(UsersCalls.audit, changes, key: AuditOrigin.key(), in: transaction)
    }
}

extension ServiceHost {
    /// Writes to the audit log.
    public var audit: AuditTrail { AuditTrail(outbox: outbox) }
}
