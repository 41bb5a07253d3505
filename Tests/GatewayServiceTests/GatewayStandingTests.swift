import GatewayService
import MessageBus
import Testing

/// What a gateway tells the balancer of itself.
@Suite struct GatewayStandingTests {
    private func health(hasWriter: Bool) -> SuiteHealth {
        var state = Broker.ServiceState()
        state.replicas = ["one"]
        state.hasWriter = hasWriter
        return SuiteHealth(["catalog": state, "users": state], hasCode: false)
    }

    @Test func aGatewayIsReadyOnceItHasServedAndUntilItStops() {
        let standing = GatewayStanding(name: "gateway-2")
        let none = SuiteHealth([:], hasCode: false)
        #expect(standing.status(none) == .starting)
        #expect(standing.status(health(hasWriter: false)) == .starting)
        #expect(standing.status(health(hasWriter: true)) == .ok)
        // What all gateways lack alike: without any of them nobody would wait for the next writer.
        #expect(standing.status(health(hasWriter: false)) == .ok)
        standing.stop()
        #expect(standing.status(health(hasWriter: true)) == .stopping)
    }

    @Test func oneThatStopsBeforeItServedIsNotReadyEither() {
        let standing = GatewayStanding(name: "gateway-1")
        standing.stop()
        #expect(standing.status(health(hasWriter: true)) == .stopping)
    }
}
