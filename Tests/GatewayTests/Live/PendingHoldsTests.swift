import GatewayService
import Synchronization
import Testing

/// The gateway confirms a forget order when every hold in progress at that time is confirmed.
@Suite struct PendingHoldsTests {
    private final class Order: Sendable {
        private let names = Mutex<[String]>([])
        var all: [String] { names.withLock { $0 } }
        func note(_ name: String) -> @Sendable () -> Void { { self.names.withLock { $0.append(name) } } }
    }

    @Test func waitingWithoutHoldsIsDoneAtOnce() {
        var holds = PendingHolds()
        let isDone = holds.wait {}
        #expect(isDone)
    }

    /// When an order for the same sessions is repeated, the gateway has nothing new to hold. It must not confirm the
    /// repetition before the first holds are confirmed.
    @Test func aRepetitionWaitsForTheHoldsOfTheFirst() {
        let order = Order()
        var holds = PendingHolds()
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
