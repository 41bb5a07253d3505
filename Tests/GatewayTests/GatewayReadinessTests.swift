import GatewayService
import MessageBus
import Testing

/// The state that a gateway reports to the balancer.
@Suite struct GatewayReadinessTests {
    private func health(hasWriter: Bool) -> SuiteHealth {
        var state = Broker.ServiceState()
        state.replicas = ["one"]
        state.hasWriter = hasWriter
        return SuiteHealth(["catalog": state, "users": state], hasCode: false)
    }

    @Test func aGatewayIsReadyOnceItHasServedAndUntilItStops() {
        let standing = GatewayReadiness(name: "gateway-2")
        let none = SuiteHealth([:], hasCode: false)
        #expect(standing.status(none) == .starting)
        #expect(standing.status(health(hasWriter: false)) == .starting)
        #expect(standing.status(health(hasWriter: true)) == .ok)
        // A missing writer affects all gateways. If all became unready, no gateway could hold requests until the next
        // writer.
        #expect(standing.status(health(hasWriter: false)) == .ok)
        standing.stop()
        #expect(standing.status(health(hasWriter: true)) == .stopping)
    }

    @Test func oneThatStopsBeforeItServedIsNotReadyEither() {
        let standing = GatewayReadiness(name: "gateway-1")
        standing.stop()
        #expect(standing.status(health(hasWriter: true)) == .stopping)
    }
}
