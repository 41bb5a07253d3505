import GatewayService
import Synchronization
import Testing

/// A forgetting is done when every hold is confirmed that was under way by then.
@Suite struct LiveHoldsTests {
    private final class Order: Sendable {
        private let names = Mutex<[String]>([])
        var all: [String] { names.withLock { $0 } }
        func note(_ name: String) -> @Sendable () -> Void { { self.names.withLock { $0.append(name) } } }
    }

    @Test func nobodyWaitsForNothing() {
        var holds = LiveHolds()
        let isDone = holds.wait {}
        #expect(isDone)
    }

    /// Told of the same sessions once more, a gateway has nothing to hold that it does not hold already: it must not
    /// say that it is done before that is.
    @Test func aRepetitionWaitsForTheHoldsOfTheFirst() {
        let order = Order()
        var holds = LiveHolds()
        let (first, second) = (holds.begin(), holds.begin())
        let isDone = holds.wait(order.note("first"))
        #expect(!isDone)
        for done in holds.end(first) { done() }
        let isRepetitionDone = holds.wait(order.note("repetition"))
        #expect(!isRepetitionDone)
        let third = holds.begin()
        #expect(order.all.isEmpty)
        for done in holds.end(second) { done() }
        #expect(order.all == ["first", "repetition"])
        let last = holds.end(third)
        #expect(last.isEmpty)
    }
}
