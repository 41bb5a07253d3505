import GatewayService
import Testing

/// Id T2z of docs/internals/hardening.md.
@Suite struct LiveUnsubscriptionsTests {
    @Test func eachServiceHasOneMessageUnderWay() {
        var all = LiveUnsubscriptions()
        #expect(all.add([1], of: "catalog") == [1])
        #expect(all.add([2], of: "catalog") == nil)
        #expect(all.add([3, 4], of: "catalog") == nil)
        #expect(all.add([5], of: "users") == [5])
        #expect(all.answered("catalog") == [2, 3, 4])
        #expect(all.answered("catalog") == nil)
        #expect(all.add([6], of: "catalog") == [6])
        #expect(all.answered("users") == nil)
    }
}
