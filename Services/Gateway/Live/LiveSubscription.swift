import Messages
import NIOCore
import Synchronization

/// One subscription of one connection.
package final class LiveSubscription: Sendable {
    package let requestId: Int64
    let className: String
    /// The service that owns the class.
    let service: String
    /// The client as its keys and its address make it known.
    let admitted: Principal
    /// With the token of the session, if there is one.
    let credentials: Credentials
    let address: SocketAddress?
    let sink: any LiveSink

    init(
        requestId: Int64, wish: LiveWish, admitted: Principal, credentials: Credentials, from address: SocketAddress?,
        sink: any LiveSink
    ) {
        self.requestId = requestId
        decision = Mutex(Decision(wish: wish))
        className = wish.className
        service = ServiceDirectory.service(ofClass: wish.className)
        self.admitted = admitted
        self.credentials = credentials
        self.address = address
        self.sink = sink
    }

    /// One of a client of which only its session is known.
    package convenience init(requestId: Int64, wish: LiveWish, sessionToken: String?, sink: any LiveSink) {
        var credentials = Credentials()
        credentials.sessionToken = sessionToken
        self.init(
            requestId: requestId, wish: wish, admitted: Principal(), credentials: credentials, from: nil, sink: sink)
    }

    private struct Decision {
        var wish: LiveWish
        var isMade = false
        var isOfCode = false
    }

    private let decision: Mutex<Decision>

    /// The query: as the client wrote it, until cloud code has changed it.
    package var wish: LiveWish { decision.withLock { $0.wish } }

    /// Whether the query is the one that counts: there is no trigger, or it has had its say. It has it once, whatever
    /// becomes of the client's rights later.
    var isDecided: Bool { decision.withLock { $0.isMade } }

    /// Whether `beforeSubscribe` has had its say.
    var isDecidedByCode: Bool { decision.withLock { $0.isOfCode } }

    /// Says which query counts. Its class is the client's.
    /// - Parameter byCode: whether `beforeSubscribe` says so.
    package func decide(_ wish: LiveWish, byCode: Bool) {
        decision.withLock { $0 = Decision(wish: wish, isMade: true, isOfCode: byCode) }
    }

    private let over = Atomic<Bool>(false)

    /// Whether nobody wants it any more.
    var isOver: Bool { over.load(ordering: .acquiring) }

    func end() { over.store(true, ordering: .sequentiallyConsistent) }
}

/// The news of a subscription, in their order.
package enum LiveMessage: Sendable {
    /// It has begun.
    /// - Parameter missed: what came after the client's cursor is not known any more.
    case subscribed(LiveCursor, missed: Bool)
    case event(LiveDelivery)
    /// Cloud code refused an event, which the client is told in its place. The subscription goes on.
    case refused(LiveProblem, LiveCursor)
    /// It is over.
    case ended(LiveProblem)
}

/// A client's connection, to which events go.
package protocol LiveSink: AnyObject, Sendable {
    /// Takes messages in the order in which they shall arrive. It must only hand over.
    func deliver(_ messages: LiveRegister.Told.SubSequence)
    /// The gateway stops.
    func stop()
}
