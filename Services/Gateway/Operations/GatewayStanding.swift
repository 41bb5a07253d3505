import Logging
import ParseProtocol
import ProcessKit
import Synchronization

/// Whether a balancer should send customers to this gateway and not to another one.
///
/// What all gateways lack alike, such as a writer that is being started again, is no reason: each of them waits for it
/// on behalf of its requests, and a balancer without gateways would refuse them.
final class GatewayStanding: Sendable {
    /// Name of this process, such as `gateway-2`.
    let name: String
    private let hasServed = Atomic<Bool>(false)
    private let stops = Atomic<Bool>(false)

    init(name: String) { self.name = name }

    /// Whether it is about to stop and takes connections still.
    var isStopping: Bool { stops.load(ordering: .relaxed) }

    /// - Parameter health: of the suite as this gateway sees it.
    func answer(_ health: SuiteHealth) -> ParseResponse {
        if health.isServing { hasServed.store(true, ordering: .relaxed) }
        let isReady = hasServed.load(ordering: .relaxed)
        let status = isStopping ? "stopping" : isReady ? "ok" : "starting"
        var response = ParseResponse(
            status: status == "ok" ? 200 : 503, ["status": .string(status), "gateway": .string(name)])
        if status != "ok" { response.retryAfterSeconds = 1 }
        return response
    }

    fileprivate func stop() { stops.store(true, ordering: .relaxed) }
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
