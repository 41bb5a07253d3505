import MessageBus
import Messages
import ObjectStore

/// The account that a request of the bus is on, and what it may still cost.
extension ServiceRequest {
    /// The client who waits for the answer.
    var client: WorkClient {
        let holder = envelope.principal.shareholder
        return holder == 0 ? .shop : .client(holder)
    }

    /// What it may want to change, in objects: one for each document, and one for each 4 KiB of them.
    var weight: Int { documents.reduce(max(1, documents.count)) { $0 + $1.count >> 12 } }

    /// The budget that came with the request; one that only counts when none did.
    func makeBudget() -> RequestBudget {
        RequestBudget(microseconds: envelope.budget > 0 ? envelope.budget : nil)
    }
}

extension RequestBudget: WorkMeter {}
