import MessageBus
import Messages
import ObjectStore
import ParseProtocol

extension ServiceRequest {
    /// What work for the request counts for.
    public var share: WorkShare { WorkShare(client: client, meter: budget, weight: weight) }

    /// Whether it belongs to a client's write with an `Idempotency-Key`, which may run again within a day.
    var hasClientKey: Bool { envelope.idempotencyKey.hasPrefix(BusRequest.clientKeyPrefix) }

    /// The client that sent the request.
    var client: WorkClient {
        let holder = envelope.principal.fairnessKey
        return holder == 0 ? .shop : .client(holder, at: ClientNetwork(envelope.principal.network))
    }

    /// Estimated number of changed objects: one per document plus one per 4 KiB of them.
    private var weight: Int { documents.reduce(max(1, documents.count)) { $0 + $1.count >> 12 } }
}

extension RequestBudget: WorkMeter {}

extension BusRequest {
    /// A read or a write of `message` on behalf of another request.
    /// - Parameter origin: the call counts for its budget and has its id and trace; nil for the service's own work.
    public init<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, for origin: ServiceRequest?, timeout: Duration = .seconds(10)
    ) throws {
        try self.init(call, message, timeout: timeout)
        budget = origin?.budget
        traceId = origin?.envelope.traceID ?? ""
        trace = origin?.trace.context
    }
}
