import GatewayService
import Testing

/// The order in which WebSocket messages are decoded. Id T7h of docs/internals/hardening.md.
@Suite struct LiveInboxTests {
    private static let large = [UInt8](repeating: 32, count: LiveInbox.quickBytes + 1)

    @Test func messagesBehindALargeOneWaitForIt() {
        var inbox = LiveInbox()
        for text in [[1], Self.large, [2]] { inbox.append(text) }
        func next() -> (Int, Bool)? { inbox.next().map { ($0.text.count, $0.isLarge) } }
        #expect(next() ?? (0, true) == (1, false))
        #expect(next() ?? (0, false) == (Self.large.count, true))
        #expect(inbox.isBusy)
        #expect(next() == nil)
        inbox.decoded()
        #expect(next() ?? (0, true) == (1, false))
        #expect(next() == nil)
        #expect(!inbox.isBusy)
    }
}
