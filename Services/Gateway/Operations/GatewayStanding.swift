import Logging
import ParseProtocol
import ProcessKit
import Synchronization

/// The word to a balancer whether it should send customers to this gateway and not to another one.
///
/// What all gateways lack alike, such as a writer that is being started again, is no reason: each of them waits for it
/// on behalf of its requests, and a balancer without gateways would refuse them.
package final class GatewayStanding: Sendable {
    package enum Status: String {
        case ok
        /// It has not had all that it needs yet.
        case starting
        /// It is about to stop and takes connections still.
        case stopping
    }

    /// Name of this process, such as `gateway-2`.
    package let name: String
    private let hasServed = Atomic<Bool>(false)
    private let stops = Atomic<Bool>(false)

    package init(name: String) { self.name = name }

    /// - Parameter health: of the suite as this gateway sees it now.
    package func status(_ health: SuiteHealth) -> Status {
        if health.isServing { hasServed.store(true, ordering: .relaxed) }
        if stops.load(ordering: .relaxed) { return .stopping }
        return hasServed.load(ordering: .relaxed) ? .ok : .starting
    }

    /// From now on it is about to stop.
    package func stop() { stops.store(true, ordering: .relaxed) }
}

extension ParseResponse {
    /// The answer to a balancer.
    init(_ status: GatewayStanding.Status, of gateway: GatewayStanding) {
        self.init(
            status: status == .ok ? 200 : 503,
            ["status": .string(status.rawValue), "gateway": .string(gateway.name)])
        if status != .ok { retryAfterSeconds = 1 }
    }
}

/// The first part of a gateway's end: it says that it stops and serves on, until a balancer has seen it.
struct GatewayDrain: ProcessPart {
    let standing: GatewayStanding
    /// `SATCHEL_DRAIN_MILLISECONDS`
    let duration: Duration
    let logger: Logger

    func run(until end: ProcessEnd) async throws {
        await end.wait()
        guard duration > .zero else { return }
        standing.stop()
        logger.notice("Stops when the balancer has seen it.")
        // A task of its own, in which the pause lasts although this one may be cancelled.
        await Task { try? await Task.sleep(for: duration) }.value
    }
}
