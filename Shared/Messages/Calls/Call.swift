import SwiftProtobuf

/// A question that one process asks another: the kind that names it on the bus, the message that asks and the one that
/// answers.
///
/// Each is declared once, in this folder, with who sends it and who answers it; nothing else in the suite writes a kind
/// down. What travels as documents beside the messages is said in Protos.
public struct Call<Request: Message, Reply: Message>: Sendable, Hashable {
    /// As it stands in the envelope, explicit and versioned: `catalog.reserve.v1`. Processes of two releases talk to
    /// each other while the suite is updated, so that it never changes.
    public let kind: String
    /// Whether a change by it goes to any replica of the receiver that writes, where several do, rather than to the one
    /// that leads. Then it depends on nothing but the database, and leaves nothing in the memory of the process that
    /// the others would need (docs/sql.md).
    public let spreads: Bool

    /// Outside this folder only tests make calls, with kinds that no service has.
    package init(_ kind: String, spreads: Bool = false) {
        self.kind = kind
        self.spreads = spreads
    }
}

/// A call without its types, for lists of them.
public protocol DeclaredCall: Sendable {
    /// The call's name on the bus, such as `catalog.find.v1`.
    var kind: String { get }
    /// Whether a change by it goes to any replica that writes (`Call.spreads`).
    var spreads: Bool { get }
}

extension Call: DeclaredCall {}

extension DeclaredCall {
    /// The service that answers, the kind's first component.
    public var service: String { String(kind.prefix { $0 != "." }) }
}

/// All calls of the suite. Tests hold that no two have the same kind and that each has a sender and a receiver.
public enum Calls {
    /// Every declared call, grouped by the file that declares it.
    public static let all: [any DeclaredCall] = {
        let areas: [[any DeclaredCall]] = [
            AnalyticsCalls.all, BagCalls.all, CatalogCalls.all, CloudCalls.all, CrashCalls.all, DeliveryCalls.all,
            FileCalls.all, HookCalls.all, JobCalls.all, MailCalls.all, NewsCalls.all, ObjectCalls.all,
            PaymentsCalls.all, PushCalls.all, UsersCalls.all,
        ]
        return areas.flatMap { $0 }
    }()

    /// The kinds of the calls that spread.
    public static let spreadingKinds: Set<String> = Set(all.filter(\.spreads).map(\.kind))

    /// The services of which several replicas may write, because some of their calls spread.
    public static let spreadingServices: Set<String> = Set(all.filter(\.spreads).map(\.service))
}
