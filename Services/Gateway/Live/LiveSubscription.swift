import Messages
import NIOCore
import ParseProtocol
import Synchronization

/// One subscription of one connection.
package final class LiveSubscription: Sendable {
    package let requestId: Int64
    let className: String
    /// The service that owns the class.
    let service: String
    /// The principal by the client's keys and address.
    let admitted: Principal
    /// Includes the session token, if there is one.
    let credentials: Credentials
    let address: SocketAddress?
    let sink: any LiveSink

    init(
        requestId: Int64, query: SubscribedQuery, admitted: Principal, credentials: Credentials,
        from address: SocketAddress?,
        sink: any LiveSink
    ) {
        self.requestId = requestId
        decision = Mutex(Decision(query: query))
        className = query.className
        service = ServiceDirectory.service(ofClass: query.className)
        self.admitted = admitted
        self.credentials = credentials
        self.address = address
        self.sink = sink
    }

    /// A subscription of a client of which only the session is given.
    package convenience init(requestId: Int64, query: SubscribedQuery, sessionToken: String?, sink: any LiveSink) {
        var credentials = Credentials()
        credentials.sessionToken = sessionToken
        self.init(
            requestId: requestId, query: query, admitted: Principal(), credentials: credentials, from: nil, sink: sink)
    }

    private struct Decision {
        var query: SubscribedQuery
        var isMade = false
        var isOfCode = false
    }

    private let decision: Mutex<Decision>

    /// The query: the client's, until cloud code has changed it.
    package var query: SubscribedQuery { decision.withLock { $0.query } }

    /// Whether the query is final: there is no trigger, or it has run. The trigger runs once, even when the client's
    /// rights change later.
    var isDecided: Bool { decision.withLock { $0.isMade } }

    /// Whether `beforeSubscribe` has decided on the query.
    var hasRunSubscribeTrigger: Bool { decision.withLock { $0.isOfCode } }

    /// Sets the final query. Its class is the client's.
    /// - Parameter byCode: whether `beforeSubscribe` has decided.
    package func decide(_ query: SubscribedQuery, byCode: Bool) {
        decision.withLock { $0 = Decision(query: query, isMade: true, isOfCode: byCode) }
    }

    private let over = Atomic<Bool>(false)

    /// Whether the subscription has ended.
    var isOver: Bool { over.load(ordering: .acquiring) }

    func end() { over.store(true, ordering: .sequentiallyConsistent) }

    private let isLoggedOut = Atomic<Bool>(false)

    /// Records that the client has logged out of the session.
    package func logOut() { isLoggedOut.store(true, ordering: .releasing) }

    /// The message that ends a subscription after an error.
    func end(by error: ParseError) -> LiveMessage { end(by: LiveProblem(error, requestId: requestId)) }

    /// The message that ends a subscription. After a logout the client expects the end of its session, and Node would
    /// end a process for an unhandled error.
    func end(by problem: LiveProblem) -> LiveMessage {
        problem.code == ParseError.Code.invalidSessionToken.rawValue && isLoggedOut.load(ordering: .acquiring)
            ? .loggedOut : .ended(problem)
    }
}

/// The messages of a subscription, in order.
package enum LiveMessage: Sendable {
    /// The subscription has begun.
    /// - Parameter missed: the service no longer has the events after the client's cursor.
    case subscribed(LiveCursor, missed: Bool)
    case event(LiveDelivery)
    /// Cloud code refused an event; the client gets this error in its place. The subscription continues.
    case refused(LiveProblem, LiveCursor)
    /// The subscription has ended.
    case ended(LiveProblem)
    /// The subscription has ended, because the client has logged out of its session.
    case loggedOut
}

/// A client's connection, which receives events.
package protocol LiveSink: AnyObject, Sendable {
    /// Takes messages in the order of their delivery. It must only hand them over.
    func deliver(_ messages: SubscriptionRegistry.Deliveries.SubSequence)
    /// Called when the gateway stops.
    func stop()
}
