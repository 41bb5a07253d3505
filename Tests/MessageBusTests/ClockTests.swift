import Glibc
import MessageBus
import Messages
import Testing

/// Time on the bus: setting a clock ends neither a request nor a lane.
@Suite struct ClockTests {
    private func request(_ fill: (inout Envelope) -> Void) throws -> BusMessage {
        var envelope = BusRequest(kind: "catalog.echo.v1", body: [], timeout: .seconds(10)).envelope
        fill(&envelope)
        return try BusMessage(frames: [try envelope.serializedBytes(), []])
    }

    /// The bus does not use the host's wall clock, which the operator or NTP may set.
    @Test func theWallClockIsNotTheBusClock() {
        var wall = timespec()
        clock_gettime(CLOCK_REALTIME, &wall)
        var monotonic = timespec()
        clock_gettime(CLOCK_MONOTONIC, &monotonic)
        #expect(abs(BusClock.now - Int64(monotonic.tv_sec) * 1000) < 5000)
        #expect(abs(BusClock.now - Int64(wall.tv_sec) * 1000) > 86_400_000)
    }

    @Test func onOneHostADeadlineIsThatOfTheSender() throws {
        let deadline = BusClock.now + 1234
        let received = try request {
            $0.deadline = deadline
            $0.remaining = 99_999
        }
        #expect(received.envelope.deadline == deadline)
    }

    /// A clock step of 7 s in either direction, or any other difference: only the remaining time counts.
    @Test(arguments: [-7000, 7000, -86_400_000_000, 1_700_000_000_000] as [Int64])
    func aSenderWhoseClockIsOffIsWaitedForAllTheSame(step: Int64) throws {
        let earliest = BusClock.now + 5000
        let received = try request {
            $0.clock = 4711
            $0.deadline = BusClock.now + 5000 + step
            $0.remaining = 5000
        }
        #expect((earliest...BusClock.now + 5000).contains(received.envelope.deadline))
        #expect(received.envelope.clock == BusClock.name)
    }

    @Test func whatRemainsIsBounded() throws {
        for (remaining, expected) in [(Int64.min, 0), (-1, 0), (Int64.max, 86_400_000)] as [(Int64, Int64)] {
            let earliest = BusClock.now + expected
            let received = try request {
                $0.clock = 0
                $0.remaining = remaining
            }
            #expect((earliest...BusClock.now + expected).contains(received.envelope.deadline))
        }
    }

    @Test func aForwardedRequestSaysWhatIsLeft() {
        var dispatcher = Dispatcher<String>()
        var actions: [Dispatcher<String>.Action] = []
        let hello = Hello.with { $0.service = "catalog" }
        let envelope = Envelope.with {
            $0.form = .request
            $0.kind = ObjectCalls(of: "catalog").find.kind
            $0.deadline = 10_000
        }
        dispatcher.request(BusMessage(envelope: envelope), from: "a", now: 1000, &actions)
        dispatcher.hello([1], hello, now: 4000, &actions)
        guard case .send(_, let message) = actions.first else { return #expect(Bool(false), "Nothing was sent.") }
        #expect(message.envelope.remaining == 6000)
    }
}
