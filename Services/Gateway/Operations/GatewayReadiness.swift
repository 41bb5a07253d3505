import Logging
import ParseProtocol
import ProcessKit
import Synchronization

/// Reports to a load balancer whether this gateway should get requests.
///
/// A fault that all gateways share, such as a restarting writer, does not count: each gateway waits for it on behalf of
/// its requests, while a balancer without gateways would refuse them.
package final class GatewayReadiness: Sendable {
    package enum Status: String {
        case ok
        /// The gateway has not had all essential services yet.
        case starting
        /// The gateway is about to stop and still accepts connections.
        case stopping
    }

    /// Name of this process, such as `gateway-2`.
    package let name: String
    private let hasServed = Atomic<Bool>(false)
    private let stops = Atomic<Bool>(false)

    package init(name: String) { self.name = name }

    /// - Parameter health: the suite's health as this gateway sees it now.
    package func status(_ health: SuiteHealth) -> Status {
        if health.isServing { hasServed.store(true, ordering: .relaxed) }
        if stops.load(ordering: .relaxed) { return .stopping }
        return hasServed.load(ordering: .relaxed) ? .ok : .starting
    }

    /// Marks the gateway as about to stop.
    package func stop() { stops.store(true, ordering: .relaxed) }
}

extension ParseResponse {
    /// The response to a balancer.
    init(_ status: GatewayReadiness.Status, of gateway: GatewayReadiness) {
        self.init(
            status: status == .ok ? 200 : 503,
            ["status": .string(status.rawValue), "gateway": .string(gateway.name)])
        if status != .ok { retryAfterSeconds = 1 }
    }
}

/// The first phase of the gateway's shutdown: it reports that it stops, and serves until the balancer has noticed.
struct GatewayDrain: ProcessPart {
    let readiness: GatewayReadiness
    /// `SATCHEL_DRAIN_MILLISECONDS`
    let duration: Duration
    let logger: Logger

    func run(until end: ProcessEnd) async throws {
        await end.wait()
        guard duration > .zero else { return }
        readiness.stop()
        logger.notice("Stops after the drain time.")
        // A separate task, because this one may be cancelled during the pause.
        await Task { try? await Task.sleep(for: duration) }.value
    }
}
