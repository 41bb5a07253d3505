import MessageBus
import ParseProtocol
import Synchronization

/// What `ServiceClient` applies to every call to a service that it makes for one request: the id in the logs and the
/// limits on processor time, memory for replies and time. Each request carries one (`ParseRequest.call`). Work that
/// belongs to no request has its own, without limits.
struct CallContext: Sendable {
    /// The id of the client's request in the logs of all services.
    var trace = RequestIds.next()
    /// The request's span; nil without a trace.
    var span: RequestSpan?
    /// How long the request waited; nil when slow requests are not logged.
    var times: RequestTimes?
    /// The processor time of the request; nil for no limit.
    var budget: RequestBudget?
    /// The request's share of the memory for large replies and responses; nil when they are not counted.
    var hold: ByteHold?
    /// The deadline of every call; nil when each call has its own timeout.
    var deadline: BusClock.Milliseconds?
    /// The idempotency keys of the calls that change something; nil when each gets a new one.
    var keys: WriteKeys?
}

extension CallContext {
    /// For logs, and for spans that belong to the request.
    var requestTrace: RequestTrace { RequestTrace(requestId: trace, context: span?.context) }
}

/// The span of a client's request in its trace.
///
/// A class: a request without a trace then stores one nil reference.
package final class RequestSpan: Sendable {
    package let context: TraceContext
    /// The client's own span; nil when the client named none.
    package let parent: TraceContext?

    init(context: TraceContext, parent: TraceContext?) {
        self.context = context
        self.parent = parent
    }

    /// - Parameters:
    ///   - header: the client's `traceparent`.
    ///   - samples: decides whether a new trace is recorded, by the gateway's sampling ratio; nil when this process
    ///     exports no spans. The client's span is then passed on as it is.
    ///   - honoursSampledFlag: whether the client's sampled flag decides: only with the master key, because spans cost
    ///     storage. For all other clients the ratio decides, whatever ids and flags they send.
    /// - Returns: nil without a trace.
    package init?(header: String?, samples: (() -> Bool)?, honoursSampledFlag: () -> Bool) {
        guard header != nil || samples != nil else { return nil }
        let named = header.flatMap { TraceContext($0) }
        let decided = named.flatMap { honoursSampledFlag() ? $0.isSampled : nil }
        if let samples {
            let isSampled = decided ?? samples()
            context = named?.child(isSampled: isSampled) ?? TraceContext(isSampled: isSampled)
            parent = named
        } else {
            guard let named else { return nil }
            context = named.sampled(decided ?? false)
            parent = nil
        }
    }
}

/// How long a request waited for the body of its client, and for services.
final class RequestTimes: Sendable {
    private let start = ContinuousClock.now
    private let body = Mutex(Duration.zero)
    private let services = Mutex((time: Duration.zero, calls: 0))

    /// The body is complete.
    func bodyEnded() { body.withLock { $0 = ContinuousClock.now - start } }

    /// A call to a service ended.
    func waited(since start: ContinuousClock.Instant) {
        services.withLock {
            $0.time += ContinuousClock.now - start
            $0.calls += 1
        }
    }

    /// The time since the request began: for a small request since its body arrived, for any other since its head.
    func time(at now: ContinuousClock.Instant) -> Duration { now - start }
    var bodyTime: Duration { body.withLock { $0 } }
    /// The sum of all calls, of which some may have run at the same time.
    var serviceTime: (time: Duration, calls: Int) { services.withLock { $0 } }
}
