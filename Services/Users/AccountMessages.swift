import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// What the service tells others, through its outbox. Class rules are made before there is an outbox and get this instead.
package final class AccountMessages: Sendable {
    private let outbox = Mutex<Outbox?>(nil)

    package init() {}

    /// Called once, while the service is built.
    func connect(_ outbox: Outbox) { self.outbox.withLock { $0 = outbox } }

    func add<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, key: String, in transaction: StoreTransaction
    ) throws {
        // Without an outbox the message would be lost, and what causes it must not happen.
        guard let outbox = outbox.withLock(\.self) else { throw ParseError.internalError }
        try outbox.add(call, message, key: key, in: transaction)
    }

    func waitUntilDelivered(key: String, within limit: Duration) async {
        await outbox.withLock(\.self)?.waitUntilDelivered(key: key, within: limit)
    }
}
