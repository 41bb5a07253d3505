import ParseProtocol
import Synchronization
import Testing

/// Jobs of several networks that share a few places.
@Suite struct NetworkGateTests {
    private final class Counter: Sendable {
        private let counts = Mutex((now: 0, most: 0))
        func begin() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
        func end() { counts.withLock { $0.now -= 1 } }
        var most: Int { counts.withLock { $0.most } }
        var now: Int { counts.withLock { $0.now } }
    }

    private let networks = (1...5).map { ClientNetwork("0a0\($0)0001") }

    private static func gate(places: Int, waiting: Int) -> NetworkGate {
        NetworkGate(
            NetworkTurns.Limits(
                places: places, placesPerNetwork: places, waiting: waiting, waitingPerNetwork: waiting, few: 8))
    }

    @Test func fewRunAtOnceAndTheOthersWait() async {
        let gate = Self.gate(places: 2, waiting: 100)
        let counter = Counter()
        let done = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<50 {
                let network = networks[number % networks.count]
                group.addTask {
                    let done = await gate.run(for: network) {
                        counter.begin()
                        await Task.yield()
                        counter.end()
                        return true
                    }
                    return done ?? false
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(done == 50)
        #expect(counter.most <= 2)
        #expect(counter.now == 0)
    }

    @Test func tooManyAreRefusedAndAFailureFreesItsPlace() async throws {
        let gate = Self.gate(places: 1, waiting: 0)
        let network = networks[0]
        let inner = await gate.run(for: network) { await gate.run(for: network) { 7 } == nil }
        #expect(inner == true)
        await #expect(throws: ParseError.self) {
            _ = try await gate.run(for: network) { () async throws -> Int in throw ParseError.objectNotFound }
        }
        let last = await gate.run(for: network) { 7 }
        #expect(last == 7)
    }
}
