import GatewayService
import Testing

/// When the gateway accepts connections, depending on the free file descriptors. Id T7f of docs/internals/hardening.md.
@Suite struct AcceptLimitTests {
    @Test func theLastDescriptorsAreKept() {
        var limit = AcceptLimit()
        #expect(limit.checked(lowestFree: 10, of: 1024, now: 0) == .none)
        #expect(limit.checked(lowestFree: 895, of: 1024, now: 1) == .none)
        #expect(
            limit.checked(lowestFree: 896, of: 1024, now: 2) == .pause(shouldReport: true),
            "An eighth of 1,024 is kept."
        )
        #expect(limit.checked(lowestFree: 900, of: 1024, now: 3) == .none, "The pause goes on.")
        #expect(limit.checked(lowestFree: nil, of: 1024, now: 4) == .none)
        #expect(limit.checked(lowestFree: 895, of: 1024, now: 5) == .resume)
        #expect(limit.checked(lowestFree: 895, of: 1024, now: 6) == .none)
    }

    @Test(arguments: [(100, 67, 68), (4096, 3839, 3840), (1 << 20, (1 << 20) - 257, (1 << 20) - 256)])
    func between32And256AreKept(_ max: Int, _ open: Int, _ closed: Int) {
        var limit = AcceptLimit()
        #expect(limit.checked(lowestFree: open, of: max, now: 0) == .none)
        #expect(limit.checked(lowestFree: closed, of: max, now: 0) == .pause(shouldReport: true))
    }

    @Test func aFailedAcceptPausesAndIsLoggedOnceAMinute() {
        var limit = AcceptLimit()
        #expect(limit.failed(now: 0) == .pause(shouldReport: true))
        #expect(limit.failed(now: 1) == .none)
        #expect(limit.checked(lowestFree: 10, of: 1024, now: 2) == .resume)
        #expect(limit.failed(now: 60) == .pause(shouldReport: false), "Connections come and go at the limit.")
        #expect(limit.checked(lowestFree: 10, of: 1024, now: 61) == .resume)
        #expect(limit.failed(now: 122) == .pause(shouldReport: true))
    }
}
