import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// The way of changes into the audit log, which `users` keeps. A note is a row of the outbox, written in the
/// transaction of the change: neither is there without the other.
public struct AuditTrail: Sendable {
    private let outbox: Outbox

    init(outbox: Outbox) { self.outbox = outbox }

    /// Notes a change of an operator or of the master key; of anybody else nothing.
    public func note(_ note: AuditNote, by request: ServiceRequest, in transaction: StoreTransaction) throws {
        guard let origin = AuditOrigin(request) else { return }
        try add([note], by: origin, in: transaction)
    }

    func add(_ notes: [AuditNote], by origin: AuditOrigin, in transaction: StoreTransaction) throws {
        guard let changes = origin.changes(notes, at: transaction.now) else { return }
        try outbox.add(UsersCalls.audit, changes, key: AuditOrigin.key(), in: transaction)
    }
}

extension ServiceHost {
    /// The way into the audit log.
    public var audit: AuditTrail { AuditTrail(outbox: outbox) }
}
