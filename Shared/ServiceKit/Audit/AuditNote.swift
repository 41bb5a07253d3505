import Foundation
import MessageBus
import Messages
import ParseProtocol

/// A change for the audit log: the action, its target and the difference.
public struct AuditNote: Sendable {
    /// `create`, `update`, `delete`, `import`, the name of a cloud function, or the subject of a route: `schema`,
    /// `config`.
    public let action: String
    /// The class; empty if the change concerns no class.
    public let className: String
    /// The object's id, or another name of the target; empty when there are several.
    public let objectId: String
    /// The state before the change; nil if there was none or it is irrelevant.
    public let before: JSON?
    /// The state after the change; nil if there is none or it is irrelevant.
    public let after: JSON?
    /// Names of members whose values are left out.
    public let hidden: Set<String>

    /// A note of a change. `before` and `after` may be complete states: equal members are left out.
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

    /// The change as a message; nil when both states are equal.
    var change: AuditChange? {
        let difference = AuditDifference(before, after, hiding: hidden)
        // A note without both states records an event, such as a push that was sent.
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

/// The author of a change in the audit log: an operator or the master key. Changes by customers and by Satchel itself
/// are not logged.
public struct AuditOrigin: Sendable, Equatable {
    let userId: String
    let address: String
    let requestId: String

    /// Nil for a customer and for Satchel's own background work.
    public init?(_ request: ServiceRequest) { self.init(request.envelope.principal, request.envelope.traceID) }

    package init?(_ principal: Principal, _ requestId: String) {
        guard principal.master ? !principal.network.isEmpty : principal.runs(OperatorArea.allCases) else { return nil }
        userId = principal.master ? "" : principal.userID
        address = Self.address(principal.network)
        self.requestId = requestId
    }

    /// The usual notation of an address from the hexadecimal digits of `Principal.network`: a full IPv4 address, or the
    /// /64 network of an IPv6 client.
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

    /// Whether the change was made with the master key.
    var isMasterKey: Bool { userId.isEmpty }

    /// The message for `users`; nil when no note contains a change.
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

    /// A random key for the outbox row: an audit note has no natural key.
    public static func key() -> String { "audit:\(Names.random(20))" }
}
