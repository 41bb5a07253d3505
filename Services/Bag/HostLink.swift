import ParseProtocol
import ServiceKit
import Synchronization

/// The way from rules, which exist before the service runs, to the running service.
package final class HostLink: Sendable {
    private let host = Mutex<ServiceHost?>(nil)

    package init() {}

    func connect(_ host: ServiceHost) { self.host.withLock { $0 = host } }

    /// - Throws: `ParseError` 2 before the service is built.
    var running: ServiceHost {
        get throws {
            guard let host = host.withLock({ $0 }) else { throw ParseError(.serviceUnavailable, "The bag is starting.") }
            return host
        }
    }
}
