import ParseProtocol
import ServiceKit
import Synchronization

/// The way from rules, which exist before the service runs, to the running service.
package final class HostLink: Sendable {
    private struct Running {
        let host: ServiceHost
        let currency: Currency
    }

    private let running = Mutex<Running?>(nil)

    package init() {}

    func connect(_ host: ServiceHost, currency: Currency) {
        running.withLock { $0 = Running(host: host, currency: currency) }
    }

    /// - Throws: `ParseError` 2 before the service is built.
    var host: ServiceHost {
        get throws { try connected.host }
    }

    /// The shop's currency as an order has it.
    /// - Throws: `ParseError` 2 before the service is built.
    var currency: String {
        get throws { try connected.currency.code }
    }

    private var connected: Running {
        get throws {
            guard let running = running.withLock({ $0 }) else {
                throw ParseError(.serviceUnavailable, "The bag is starting.")
            }
            return running
        }
    }
}
