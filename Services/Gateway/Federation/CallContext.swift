import MessageBus

/// What `ServiceClient` applies to every call to a service that it makes for one request: the id in the logs and the
/// limits on processor time, answer memory and time. Each request carries one (`ParseRequest.call`). Work that belongs
/// to no request has its own, without limits.
struct CallContext: Sendable {
    /// The id of the client's request in the logs of all services.
    var trace = RequestIds.next()
    /// The processor time of the request; nil for no limit.
    var budget: RequestBudget?
    /// The request's part of the memory for large answers; nil when its answers are not counted.
    var hold: ByteHold?
    /// The deadline of every call; nil when each call has its own timeout.
    var deadline: BusClock.Milliseconds?
    /// The idempotency keys of the calls that change something; nil when each gets a new one.
    var keys: WriteKeys?
}
