import ObjectStore
import ParseProtocol
import Testing

/// The order in which waiting reads run, without threads or a clock. Id T2x of docs/internals/hardening.md.
@Suite final class ReadQueueTests {
    private var queue = ReadQueue()
    private let second: UInt64 = 1_000_000_000

    private func enter(_ client: Int, isCostly: Bool = true) throws -> ReadQueue.Ticket {
        try queue.enter(.client(client), isCostly: isCostly, now: 0).ticket
    }

    @Test func amongEqualsTheFirstIsFirst() throws {
        let tickets = try (1...3).map { try enter($0) }
        #expect(tickets.map { _ in queue.next(for: .short, now: 0)?.ticket } == tickets)
        #expect(queue.next(for: .short, now: 0) == nil)
    }

    @Test func theLatestNewReaderGoesNext() throws {
        for client in 1...40 { _ = try enter(client) }
        let newcomer = try (0..<2).map { _ in try enter(99) }
        #expect(queue.next(for: .short, now: 0)?.ticket == newcomer[0])
        queue.ended(newcomer[0], used: 5_000_000, now: 0)
        // This small amount does not count.
        #expect(queue.next(for: .short, now: 0)?.ticket == newcomer[1])
    }

    @Test func theClientWithTheLeastRecentUseGoesFirst() throws {
        let greedy = try enter(1)
        _ = queue.next(for: .short, now: 0)
        queue.ended(greedy, used: second, now: 0)
        let again = try (0..<20).map { _ in try enter(1) }
        let other = try enter(2)
        #expect(queue.next(for: .short, now: 1)?.ticket == other)
        #expect(queue.next(for: .short, now: 1)?.ticket == again[0])
    }

    @Test func whatWasUsedIsForgotten() throws {
        for (client, used, at) in [(1, 8 * second, 0), (2, second, 60 * second)] as [(Int, UInt64, UInt64)] {
            let ticket = try enter(client)
            _ = queue.next(for: .short, now: at)
            queue.ended(ticket, used: used, now: at)
        }
        _ = try enter(2)
        let first = try enter(1)
        #expect(queue.next(for: .short, now: 60 * second)?.ticket == first)
    }

    @Test func aClientWhoseReadRunsWaitsForThoseWithoutOne() throws {
        let running = try enter(1)
        #expect(queue.next(for: .short, now: 0)?.ticket == running)
        _ = try enter(1)
        let other = try enter(2)
        #expect(queue.next(for: .short, now: 0)?.ticket == other)
    }

    @Test func aLongReadHoldsUpNoShortOne() throws {
        let long = try enter(1)
        _ = queue.next(for: .short, now: 0)
        queue.ended(long, used: 50_000_000, now: 0, isLong: true)
        #expect(queue.next(for: .short, now: 0) == nil)
        let short = try enter(1)
        #expect(queue.next(for: .short, now: 0)?.ticket == short)
        let next = queue.next(for: .long, now: 0)
        #expect(next?.ticket == long)
        #expect(next?.kind == .long)
        queue.ended(long, used: second, now: second)
        queue.ended(short, used: 1, now: second)
        #expect(queue.isIdle)
    }

    @Test func theReaderOfLongOnesHelpsWhenItHasNothingElse() throws {
        let short = try enter(1)
        let next = queue.next(for: .long, now: 0)
        #expect(next?.ticket == short)
        #expect(next?.kind == .short)
    }

    @Test func oneClientCannotFillTheQueue() throws {
        for _ in 0..<ReadQueue.costlyPerClientMax { _ = try enter(1) }
        #expect(throws: ReadQueue.Refusal.clientHasTooMany) { try self.enter(1) }
        _ = try enter(2)
        // Reads not known to be costly have their own limits.
        _ = try enter(1, isCostly: false)
        // The shop itself is exempt from the limit per client.
        for _ in 0...ReadQueue.costlyPerClientMax { _ = try queue.enter(.shop, isCostly: true, now: 0) }
    }

    private func enter(_ client: Int, at network: String) throws -> ReadQueue.Ticket {
        try queue.enter(.client(client, at: ClientNetwork(network)), isCostly: true, now: 0).ticket
    }

    @Test func accountsOfOneNetworkCannotFillTheQueue() throws {
        for client in 0..<ReadQueue.costlyPerNetworkMax { _ = try enter(client % 8, at: "cb007107") }
        #expect(throws: ReadQueue.Refusal.clientHasTooMany) { try self.enter(9, at: "cb007107") }
        for client in 0..<40 { _ = try enter(client, at: "cb0071\(client + 10)") }
        #expect(throws: ReadQueue.Refusal.clientHasTooMany, "Three quarters are for one wide network.") {
            try self.enter(9, at: "cb007199")
        }
        let honest = try enter(1, at: "c6336407")
        #expect(queue.next(for: .short, now: 0)?.ticket == honest)
    }

    @Test func withinANetworkTheClientThatUsedLeastIsFirst() throws {
        let first = try enter(1, at: "cb007107")
        _ = queue.next(for: .short, now: 0)
        queue.ended(first, used: second, now: 0)
        _ = try enter(1, at: "cb007107")
        let other = try enter(2, at: "cb007107")
        let another = try enter(3, at: "c6336407")
        #expect(queue.next(for: .short, now: 0)?.ticket == another, "A network that used nothing.")
        #expect(queue.next(for: .short, now: 0)?.ticket == other)
    }

    @Test func allTogetherAreBounded() throws {
        for client in 0..<ReadQueue.costlyMax { _ = try enter(client) }
        #expect(throws: ReadQueue.Refusal.full) { try self.enter(-1) }
        for _ in 0..<ReadQueue.costlyMax { _ = try queue.enter(.shop, isCostly: true, now: 0) }
        #expect(throws: ReadQueue.Refusal.full) { try self.queue.enter(.shop, isCostly: true, now: 0) }
    }

    @Test func whoUsedLittleTakesThePlaceOfWhoUsedMost() throws {
        for (client, used) in [(1, second), (2, 3 * second), (3, 2 * second)] {
            let ticket = try enter(client)
            #expect(queue.next(for: .short, now: 0)?.ticket == ticket)
            queue.ended(ticket, used: used, now: 0)
        }
        let first = try enter(1)
        let heaviest = try enter(2)
        for client in 4...ReadQueue.costlyMax + 1 { _ = try enter(client) }
        #expect(try queue.enter(.client(1000), isCostly: true, now: 0).displaced == heaviest)
        #expect(throws: ReadQueue.Refusal.full, "Everyone who waits used less.") { try self.enter(3) }
        // The operator's limit is not reached, so no client loses its place.
        #expect(try queue.enter(.shop, isCostly: true, now: 0).displaced == nil)
        #expect(try queue.enter(.client(1001), isCostly: true, now: 0).displaced == first)
        #expect(queue.waitingCount == ReadQueue.costlyMax + 1)
    }

    /// A hundred clients send reads of 50 ms back to back, and one client reads occasionally: it never waits for more
    /// than the running reads.
    @Test func anHonestReadPassesAHundredAttackers() throws {
        var now: UInt64 = 0
        for client in 1...90 { _ = try enter(client) }
        for _ in 0..<200 {
            let next = queue.next(for: .short, now: now)
            let running = try #require(next)
            now += 50_000_000
            queue.ended(running.ticket, used: 50_000_000, now: now)
            // The same client sends its next read at once.
            for client in 1...90 { _ = try? enter(client) }
        }
        for _ in 0..<20 {
            let honest = try enter(1000, isCostly: false)
            #expect(queue.next(for: .short, now: now)?.ticket == honest)
            now += 2_000_000
            queue.ended(honest, used: 2_000_000, now: now)
        }
    }
}
