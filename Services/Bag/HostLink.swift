import ParseProtocol
import ServiceKit
import Synchronization

/// The way from rules, which exist before the service runs, to the running service.
package final class HostLink: Sendable {
    private let connected = Mutex<ServiceHost?>(nil)
    private let chosen = Mutex<Currency?>(nil)

    package init() {}

    /// Sets the shop's currency, once its configuration is read.
    package func use(_ currency: Currency) { chosen.withLock { $0 = currency } }

    func connect(_ host: ServiceHost) { connected.withLock { $0 = host } }

    /// - Throws: `ParseError` 2 before the service is built.
    var host: ServiceHost {
        get throws { try Self.there(connected.withLock(\.self)) }
    }

    /// The shop's currency as an order has it.
    /// - Throws: `ParseError` 2 before the service is built.
    var currency: String {
        get throws { try Self.there(chosen.withLock(\.self)).code }
    }

    private static func there<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw ParseError(.serviceUnavailable, "The bag is starting.") }
        return value
    }
}
