import MessageBus

/// The request that calls of services are made for: its id in the logs and the limits that its calls share. Each
/// request carries one (`ParseRequest.call`). Work that belongs to no request has its own, without limits.
struct CallContext: Sendable {
    /// The id of the client's request in the logs of all services.
    var trace = RequestIds.next()
    /// The processor time of the request; nil for no limit.
    var budget: RequestBudget?
    /// The request's part of the memory for large answers; nil when its answers are not counted.
    var hold: ByteHold?
    /// The deadline of every call; nil when each call has its own timeout.
    var deadline: BusClock.Milliseconds?
}
