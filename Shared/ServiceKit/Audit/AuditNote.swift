import Foundation
import MessageBus
import Messages
import ParseProtocol

/// A change for the audit log: what was done to what, and what is different.
public struct AuditNote: Sendable {
    /// `create`, `update`, `delete`, `import`, the name of a cloud function, or what a route does: `schema`, `config`.
    public let action: String
    /// The class; empty where none is meant.
    public let className: String
    /// The object's id, or another name of what was changed; empty when there are several.
    public let objectId: String
    /// What was there; nil when nothing was, or it says nothing.
    public let before: JSON?
    /// What is there; nil when nothing is, or it says nothing.
    public let after: JSON?
    /// Names of members whose values are left out.
    public let hidden: Set<String>

    /// A note of a change. `before` and `after` may be whole: what is the same in both is left out.
    public init(
        _ action: String, _ className: String = "", _ objectId: String = "", before: JSON? = nil, after: JSON? = nil,
        hiding hidden: Set<String> = []
    ) {
        self.action = action
        self.className = className
        self.objectId = objectId
        self.before = before
        self.after = after
        self.hidden = hidden
    }

    /// The change as it travels; nil when nothing is different.
    var change: AuditChange? {
        let difference = AuditDifference(before, after, hiding: hidden)
        // A note without both is of something that happened, such as a push that was sent.
        if before != nil, after != nil, difference.isEmpty { return nil }
        return AuditChange.with {
            $0.action = action
            $0.className = className
            $0.objectID = objectId
            $0.before = difference.before.map { Data($0.serialized) } ?? Data()
            $0.after = difference.after.map { Data($0.serialized) } ?? Data()
        }
    }
}

/// On whose behalf a change is made, as the audit log has it: an operator or the master key. Customers' changes are
/// none of its business, and neither is what Satchel does by itself.
public struct AuditOrigin: Sendable, Equatable {
    let userId: String
    let address: String
    let requestId: String

    /// Nil for a customer and for Satchel itself, for which no client waits.
    public init?(_ request: ServiceRequest) { self.init(request.envelope.principal, request.envelope.traceID) }

    package init?(_ principal: Principal, _ requestId: String) {
        guard principal.master ? !principal.network.isEmpty : principal.runs(OperatorArea.allCases) else { return nil }
        userId = principal.master ? "" : principal.userID
        address = Self.address(principal.network)
        self.requestId = requestId
    }

    /// An address as people write it, of the digits of `Principal.network`: all of IPv4, of IPv6 the customer's
    /// network.
    private static func address(_ network: String) -> String {
        guard let number = UInt64(network, radix: 16) else { return network }
        switch network.utf8.count {
        case 8: return (0..<4).map { String((number >> UInt64(24 - 8 * $0)) & 0xff) }.joined(separator: ".")
        case 16:
            let parts = (0..<4).map { String((number >> UInt64(48 - 16 * $0)) & 0xffff, radix: 16) }
            return parts.joined(separator: ":") + "::/64"
        default: return network
        }
    }

    /// Whether the master key asked.
    var isMasterKey: Bool { userId.isEmpty }

    /// The message for `users`; nil when no note has anything to say.
    public func changes(_ notes: [AuditNote], at time: Timestamp) -> AuditChanges? {
        let changes = notes.compactMap(\.change)
        guard !changes.isEmpty else { return nil }
        return AuditChanges.with {
            $0.at = time.milliseconds
            $0.userID = userId
            $0.address = address
            $0.requestID = requestId
            $0.changes = changes
        }
    }

    /// A key for the outbox: what happened has no other name.
    public static func key() -> String { "audit:\(Names.random(20))" }
}
