import Foundation
import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// Which waiting writes share a commit, without threads or a clock. Id T2g of docs/internals/hardening.md.
@Suite final class WriteQueueTests {
    private struct Save: QueuedWrite, Equatable {
        var client: WorkClient
        var weight = 1
        var number = 0
    }

    private typealias Queue = WriteQueue<Save>

    private var queue = Queue()
    private let second: UInt64 = 1_000_000_000
    /// The weight that a commit accepts while the cost of saves is not measured yet.
    private let roomy = 600

    private func enter(_ client: Int, weight: Int = 1, number: Int = 0) throws {
        try queue.enter(Save(client: .client(client), weight: weight, number: number))
    }

    /// Records writer time for the client while others wait, so that it counts.
    private func use(_ nanoseconds: UInt64, by client: Int, at now: UInt64) {
        // The weight is proportional to the time, so the cost per object does not change.
        queue.recordUse(nanoseconds, for: .client(client), weight: Int(nanoseconds / 50_000), now: now)
    }

    @Test func whatFitsIsTakenAsItCame() throws {
        for number in 0..<Queue.groupMax { try enter(number % 3, number: number) }
        #expect(queue.nextGroup(now: 0).map(\.number) == Array(0..<Queue.groupMax))
        #expect(queue.isEmpty)
        #expect(queue.nextGroup(now: 0).isEmpty)
    }

    @Test func accountsOfOneNetworkAreOneInTheOrder() throws {
        func enter(_ client: Int, at network: String, number: Int = 0) throws {
            try queue.enter(Save(client: .client(client, at: ClientNetwork(network)), weight: 60, number: number))
        }
        for number in 0..<64 { try enter(number, at: "cb007107", number: number) }
        for number in 100..<104 { try enter(1, at: "c6336407", number: number) }
        let group = queue.nextGroup(now: 0).map(\.number)
        #expect(group.count < 20)
        #expect(group.count { $0 >= 100 } == 4, "As much as 64 accounts of the other network: \(group)")
    }

    @Test func accountsOfOneNetworkHaveItsPlaces() throws {
        func enter(_ client: Int, at network: String) throws {
            try queue.enter(Save(client: .client(client, at: ClientNetwork(network))))
        }
        for number in 0..<Queue.networkPlacesMax { try enter(number, at: "cb007107") }
        #expect(throws: WriteRefusal.clientHasTooMany) { try enter(9999, at: "cb007107") }
        try enter(1, at: "c6336407")
        while !queue.isEmpty { _ = queue.nextGroup(now: 0) }
        try enter(9999, at: "cb007107")
    }

    @Test func whatIsTakenOutLeavesRoom() throws {
        for number in 0..<20 { try enter(1, weight: 200, number: number) }
        #expect(throws: WriteRefusal.clientHasTooMany) { try self.enter(1, weight: 200) }
        #expect(queue.removeAll().map(\.number) == Array(0..<20))
        #expect(queue.isEmpty)
        try enter(1, weight: 200)
        #expect(queue.nextGroup(now: 0).count == 1)
    }

    @Test func aClientsWritesKeepTheirOrder() throws {
        for number in 0..<150 { try enter(1, weight: number % 7 + 1, number: number) }
        var numbers: [Int] = []
        while !queue.isEmpty { numbers += queue.nextGroup(now: 0).map(\.number) }
        #expect(numbers == Array(0..<150))
    }

    @Test func oneSavePassesThoseWhoFloodTheWriter() throws {
        for client in 1...30 { use(second / 2, by: client, at: second) }
        for round in 0..<6 {
            for client in 1...30 { try enter(client, weight: 50, number: round) }
        }
        try enter(99)
        let group = queue.nextGroup(now: second)
        #expect(group.contains(Save(client: .client(99))))
        #expect(group.reduce(0) { $0 + $1.weight } <= roomy, "A commit is no longer than others can wait for it.")
        #expect(Set(group.map(\.client)).count == group.count, "Each client has its turn.")
    }

    @Test func aBatchCountsByItsWork() throws {
        for number in 0..<12 {
            try enter(1, weight: 200, number: number)
            try enter(2, weight: 10, number: number)
        }
        let group = queue.nextGroup(now: 0)
        #expect(group.count { $0.client == .client(2) } == 12)
        #expect(group.count { $0.client == .client(1) } == 2)
        #expect(group.map(\.number) == group.map(\.number).sorted(), "In the order in which they came.")
    }

    @Test func whatALongWriteTookCounts() throws {
        // One object, but a field that rewrites thousands of rows.
        queue.recordUse(second, for: .client(1), weight: 1, now: 0)
        for number in 0..<150 {
            try enter(1, number: number)
            try enter(2, number: number)
        }
        let group = queue.nextGroup(now: 0)
        #expect(group.allSatisfy { $0.client == .client(2) })
        #expect(!group.isEmpty)
    }

    @Test func aCommitHoldsFewerWritesWhereEachTakesLong() throws {
        for _ in 0..<300 { queue.recordUse(5_000_000, for: .shop, weight: 1, now: 0) }
        for client in 0..<50 { try enter(client) }
        #expect((5...7).contains(queue.nextGroup(now: 0).count))
    }

    @Test func aWriteThatIsTooLongForACommitIsTakenAlone() throws {
        try enter(1, weight: 5000, number: 1)
        try enter(2, weight: 5000, number: 2)
        #expect(queue.nextGroup(now: 0).map(\.number) == [1])
        #expect(queue.nextGroup(now: 0).map(\.number) == [2])
        #expect(queue.isEmpty)
    }

    @Test func theShopAndItsClientsHaveHalfEachWhereBothWait() throws {
        for number in 0..<200 { try enter(number % 50) }
        for _ in 0..<200 { try queue.enter(Save(client: .shop)) }
        let group = queue.nextGroup(now: 0)
        #expect(group.count == Queue.groupMax)
        #expect(group.count { $0.client == .shop } == Queue.groupMax / 2)
        // A long write on one side does not delay the other side.
        queue = Queue()
        try queue.enter(Save(client: .shop, weight: 5000))
        try enter(1, weight: 5000)
        for _ in 0..<10 { try enter(2) }
        #expect(Set(queue.nextGroup(now: 0).map(\.client)) == [.shop, .client(2)])
    }

    /// In each round, new clients without recorded use arrive with a small write.
    @Test func newcomersKeepNoBatchWaitingForEver() throws {
        try enter(0, weight: 200, number: -1)
        var rounds = 0
        var newcomer = 1
        while rounds < 100 {
            while queue.count < 2 * Queue.groupMax {
                try enter(newcomer)
                newcomer += 1
            }
            if queue.nextGroup(now: 0).contains(where: { $0.number == -1 }) { break }
            rounds += 1
        }
        #expect((1..<20).contains(rounds), "After \(rounds) commits.")
    }

    @Test func oneClientCannotHoldAllPlaces() throws {
        for _ in 0..<Queue.clientPlacesMax { try enter(1) }
        #expect(throws: WriteRefusal.clientHasTooMany) { try self.enter(1) }
        try enter(2)
        try queue.enter(Save(client: .shop))
    }

    @Test func largeBatchesTakeManyPlaces() throws {
        try enter(1, weight: Queue.clientWeightMax * 2)
        #expect(throws: WriteRefusal.clientHasTooMany) { try self.enter(1) }
        try enter(2, weight: 200)
        while queue.count < 21 { try enter(2, weight: 200) }
        #expect(throws: WriteRefusal.clientHasTooMany) {
            for _ in 0..<5 { try self.enter(2, weight: 200) }
        }
    }

    @Test func allTogetherAreBoundedAndTheShopHasRoom() throws {
        for number in 0..<Queue.placesMax / 2 { try enter(number) }
        #expect(throws: WriteRefusal.full) { try self.enter(-1) }
        for _ in 0..<Queue.placesMax / 2 { try queue.enter(Save(client: .shop)) }
        #expect(throws: WriteRefusal.full) { try self.queue.enter(Save(client: .shop)) }
    }

    private final class Unlimited: WorkMeter {
        var left: Int64 { 1 << 40 }
        func use(_ microseconds: Int64) {}
    }

    private final class Refusals: Sendable {
        let errors = Mutex<[ParseError]>([])
    }

    /// In a store: a client gets error 155 with a retry time, and others continue.
    @Test func tooManyWaitingWritesAreRefused() async throws {
        let test = try await TestStore()
        let gate = DispatchSemaphore(value: 0)
        let (held, holding) = AsyncStream<Void>.makeStream()
        test.store.submit(
            { _ in
                holding.finish()
                gate.wait()
            }, completion: { _ in })
        for await _ in held {}
        let results = Results()
        let refusals = Refusals()
        func submit(_ client: Int, _ completion: @escaping @Sendable (Result<Void, any Error>) -> Void) {
            let share = WorkShare(client: .client(client), meter: Unlimited())
            test.store.submit(for: share, { _ in }, completion: completion)
        }
        for _ in 0..<Queue.clientPlacesMax { submit(1) { results.add($0) } }
        #expect(results.count == 0)
        submit(1) { result in
            if case .failure(let error as ParseError) = result { refusals.errors.withLock { $0.append(error) } }
        }
        let refusal = refusals.errors.withLock { $0.first }
        #expect(refusal?.code == .requestLimitExceeded)
        #expect(refusal?.retryAfterSeconds == 1)
        submit(2) { results.add($0) }
        gate.signal()
        await results.wait(for: Queue.clientPlacesMax + 1)
        #expect(results.failures == 0)
    }
}
