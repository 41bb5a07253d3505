import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// The client and the budget of a bus request.
extension ServiceRequest {
    /// The client that sent the request.
    var client: WorkClient {
        let holder = envelope.principal.fairnessKey
        return holder == 0 ? .shop : .client(holder, at: ClientNetwork(envelope.principal.network))
    }

    /// Estimated number of changed objects: one per document plus one per 4 KiB of them.
    var weight: Int { documents.reduce(max(1, documents.count)) { $0 + $1.count >> 12 } }

    /// The budget sent with the request; without one, a budget that only measures.
    func makeBudget() -> RequestBudget {
        RequestBudget(microseconds: envelope.budget > 0 ? envelope.budget : nil)
    }
}

extension RequestBudget: WorkMeter {}
