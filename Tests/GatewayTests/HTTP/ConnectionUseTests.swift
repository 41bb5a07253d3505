import GatewayService
import NIOCore
import Testing

/// When a connection is closed because it is idle, or because the gateway stops.
@Suite struct ConnectionUseTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let idleMax = TimeAmount.seconds(75)

    private func at(_ seconds: Int64) -> NIODeadline { start + .seconds(seconds) }

    @Test func anUnusedConnectionIsClosed() {
        let use = ConnectionUse(idleMax: idleMax, now: start)
        #expect(use.end == at(75))
        #expect(use.checked(now: at(74)) == .check(at: at(75)))
        #expect(use.checked(now: at(75)) == .close)
    }

    @Test func anAnswerMayTakeAsLongAsItTakes() {
        var use = ConnectionUse(idleMax: idleMax, now: start)
        use.headArrived(now: at(10))
        use.bodyArrived(now: at(60))
        #expect(use.checked(now: at(75)) == .check(at: at(135)), "The body has yet to come.")
        use.endArrived(now: at(70))
        #expect(use.checked(now: at(500)) == .goesOn)
        #expect(use.answered(now: at(600)) == .check(at: at(675)))
        #expect(use.checked(now: at(675)) == .close)
    }

    @Test func aBodyThatDoesNotComeIsNotWaitedFor() {
        var use = ConnectionUse(idleMax: idleMax, now: start)
        use.headArrived(now: at(1))
        #expect(use.checked(now: at(76)) == .close)
    }

    @Test func theEndComesBehindAllAnswers() {
        var idle = ConnectionUse(idleMax: idleMax, now: start)
        #expect(idle.ends() == .close)
        var busy = ConnectionUse(idleMax: idleMax, now: start)
        for _ in 0..<2 {
            busy.headArrived(now: at(1))
            busy.endArrived(now: at(1))
        }
        #expect(busy.ends() == .goesOn)
        #expect(busy.answered(now: at(2)) == .goesOn)
        #expect(busy.answered(now: at(3)) == .close)
    }

    /// Bytes that are not HTTP get an answer without having been a request.
    @Test func anAnswerToNoRequestIsNotCounted() {
        var use = ConnectionUse(idleMax: idleMax, now: start)
        #expect(use.answered(now: at(1)) == .check(at: at(76)))
        use.headArrived(now: at(2))
        use.endArrived(now: at(2))
        #expect(use.checked(now: at(500)) == .goesOn)
    }
}
