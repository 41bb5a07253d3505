import GatewayService
import Testing

/// Buffers the body of a small request until it is complete.
@Suite struct HeldBodyTests {
    @Test func aBodyIsWholeWhenAllOfItIsThere() {
        var body = HeldBody(count: 5)
        #expect(body.add([1, 2]) == .more)
        #expect(body.ended() == .mismatch, "Some of it is missing.")
        #expect(body.add([3, 4, 5]) == .more)
        #expect(body.bytes == [1, 2, 3, 4, 5])
        #expect(body.ended() == .whole)
    }

    @Test func whatWasNotAnnouncedIsUnfit() {
        var body = HeldBody(count: 2)
        #expect(body.add([1, 2, 3]) == .mismatch)
        #expect(body.add([1, 2]) == .more)
        #expect(body.add([3]) == .mismatch)
        #expect(body.bytes == [1, 2], "What came before can go on.")
    }

    @Test func aRequestWithoutABodyIsWholeAtOnce() {
        var body = HeldBody(count: 0)
        #expect(body.ended() == .whole)
        #expect(body.add([1]) == .mismatch)
    }
}
