import SwiftProtobuf

/// A call between processes: the kind that names it on the bus, its request message and its reply message.
///
/// Each call is declared once, in this folder, with its sender and receiver. No other code contains a kind. Protos
/// document the documents that travel with the messages.
public struct Call<Request: Message, Reply: Message>: Sendable, Hashable {
    /// The kind in the envelope, explicit and versioned: `catalog.reserve.v1`. It never changes, because processes of
    /// two releases communicate while the suite is updated.
    public let kind: String
    /// Whether a write by this call may go to any writing replica of the receiver, instead of only to the leader. Such
    /// a write depends only on the database, and leaves nothing in process memory that other replicas need
    /// (docs/internals/sql.md).
    public let spreads: Bool

    /// Outside this folder only tests create calls, with kinds that no service has.
    package init(_ kind: String, spreads: Bool = false) {
        self.kind = kind
        self.spreads = spreads
    }
}

/// A call without its types, for lists of calls.
public protocol DeclaredCall: Sendable {
    /// The call's name on the bus, such as `catalog.find.v1`.
    var kind: String { get }
    /// Whether a write by it may go to any writing replica (`Call.spreads`).
    var spreads: Bool { get }
}

extension Call: DeclaredCall {}

extension DeclaredCall {
    /// The receiving service, the kind's first component.
    public var service: String { String(kind.prefix { $0 != "." }) }
}

/// All calls of the suite. Tests check that kinds are unique and that each call has a sender and a receiver.
public enum Calls {
    /// Every declared call, grouped by the file that declares it.
    public static let all: [any DeclaredCall] = {
        let areas: [[any DeclaredCall]] = [
            AnalyticsCalls.all, BagCalls.all, CatalogCalls.all, CloudCalls.all, CrashCalls.all, DeliveryCalls.all,
            FileCalls.all, HookCalls.all, JobCalls.all, MailCalls.all, NotificationCalls.all, ObjectCalls.all,
            PaymentsCalls.all, PushCalls.all, UsersCalls.all, WebCalls.all,
        ]
        return areas.flatMap { $0 }
    }()

    /// The kinds of the calls that spread.
    public static let spreadingKinds: Set<String> = Set(all.filter(\.spreads).map(\.kind))

    /// The services in which several replicas may write, because some of their calls spread.
    public static let spreadingServices: Set<String> = Set(all.filter(\.spreads).map(\.service))
}
