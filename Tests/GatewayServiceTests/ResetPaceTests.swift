import GatewayService
import Testing

/// When a request for a new password is answered where cloud code has a say in it.
@Suite struct ResetPaceTests {
    @Test(arguments: [(0, 500), (1, 499), (480, 20), (500, 500), (700, 300), (1_999, 1)])
    func answersAreSentAtWholeSteps(_ elapsed: Int, _ pause: Int) {
        #expect(ResetPace.pause(after: .milliseconds(elapsed)) == .milliseconds(pause))
    }
}
