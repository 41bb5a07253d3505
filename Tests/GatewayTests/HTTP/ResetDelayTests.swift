import GatewayService
import Testing

/// When a password reset request is answered if cloud code takes part in the decision.
@Suite struct ResetDelayTests {
    @Test(arguments: [(0, 500), (1, 499), (480, 20), (500, 500), (700, 300), (1_999, 1)])
    func answersAreSentAtWholeSteps(_ elapsed: Int, _ pause: Int) {
        #expect(ResetDelay.pause(after: .milliseconds(elapsed)) == .milliseconds(pause))
    }
}
