import Testing
import UsersService

/// The order in which passwords are hashed. Jobs are numbers; nothing is hashed here.
@Suite struct UsersHashingQueueTests {
    private typealias Queue = HashingQueue<Int>

    private func outcome(_ admission: Queue.Admission) -> String {
        switch admission {
        case .run(let job): "run \(job)"
        case .wait: "wait"
        case .refuse: "refuse"
        case .waitAndEvict(let job): "instead of \(job)"
        }
    }

    private let ann = HashingClient("network:ann")
    private let ben = HashingClient("network:ben")

    @Test func fewHashAtOnceAndABoundedNumberWaits() {
        var queue = Queue(runningMax: 2, waitingMax: 9, perClientMax: 1)
        #expect(outcome(queue.submitted(1, by: ann, at: 0)) == "run 1")
        #expect(outcome(queue.submitted(2, by: ann, at: 0)) == "run 2")
        #expect(outcome(queue.submitted(3, by: ann, at: 0)) == "wait")
        #expect(outcome(queue.submitted(4, by: ann, at: 0)) == "refuse")
        #expect(outcome(queue.submitted(5, by: ben, at: 0)) == "wait", "A client's line is its own.")
        #expect(queue.ended(isKnown: false, at: 0) == 5, "Who had none comes before who had two.")
        #expect(queue.ended(isKnown: false, at: 0) == 3)
        #expect(queue.ended(isKnown: false, at: 0) == nil)
        #expect(outcome(queue.submitted(6, by: ann, at: 0)) == "run 6")
        #expect(queue.ended(isKnown: false, at: 0) == nil)
        #expect(queue.ended(isKnown: false, at: 0) == nil)
        #expect(outcome(queue.submitted(7, by: ann, at: 0)) == "run 7")
    }

    /// 40 clients with full queues have each been served once: a new client is next.
    @Test func aNewcomerWaitsForOneHashAtMost() {
        var queue = Queue(runningMax: 1, waitingMax: 2000, perClientMax: 32)
        for round in 0..<32 {
            for attacker in 0..<40 { _ = queue.submitted(round, by: HashingClient("a\(attacker)"), at: 0) }
        }
        for _ in 0..<40 { #expect(queue.ended(isKnown: false, at: 1) != nil) }
        #expect(outcome(queue.submitted(999, by: ann, at: 2)) == "wait")
        #expect(queue.ended(isKnown: false, at: 2) == 999)
        // After being served once, it is one client among 41.
        #expect(outcome(queue.submitted(998, by: ann, at: 2)) == "wait")
        #expect((0..<41).contains { _ in queue.ended(isKnown: false, at: 2) == 998 })
    }

    @Test func aNewAddressOfABusyNetworkIsNoNewcomer() {
        var queue = Queue(runningMax: 1, waitingMax: 2000, perClientMax: 32)
        for near in 10..<50 { _ = queue.submitted(near, by: HashingClient(network: "20010db8000a00\(near)"), at: 0) }
        for _ in 0..<20 { #expect(queue.ended(isKnown: false, at: 0) != nil) }
        #expect(outcome(queue.submitted(999, by: HashingClient(network: "c6336407"), at: 0)) == "wait")
        _ = queue.submitted(60, by: HashingClient(network: "20010db8000a0060"), at: 0)
        #expect(queue.ended(isKnown: false, at: 0) == 999)
    }

    @Test func theLatestNewClientGoesFirst() {
        var queue = Queue(runningMax: 1, waitingMax: 99, perClientMax: 9)
        _ = queue.submitted(0, by: HashingClient("other"), at: 0)
        for newcomer in 1...6 { _ = queue.submitted(newcomer, by: HashingClient("n\(newcomer)"), at: 0) }
        #expect((0..<6).map { _ in queue.ended(isKnown: false, at: 0) } == [6, 5, 1, 2, 3, 4])
    }

    @Test func waitingHashesTimeOut() {
        var queue = Queue(runningMax: 1, waitingMax: 3, perClientMax: 9)
        _ = queue.submitted(0, by: HashingClient("other"), at: 0)
        _ = queue.submitted(1, by: ann, at: 1)
        _ = queue.submitted(2, by: ann, at: 2)
        _ = queue.submitted(3, by: ben, at: 2)
        #expect(queue.overdue(since: 1) == [])
        #expect(queue.overdue(since: 2) == [1])
        #expect(outcome(queue.submitted(4, by: ann, at: 3)) == "wait", "There is room again.")
        #expect(queue.overdue(since: 3).sorted() == [2, 3])
        #expect(queue.ended(isKnown: false, at: 4) == 4)
        #expect(queue.ended(isKnown: false, at: 4) == nil)
    }

    @Test func clientsTakeTurns() {
        var queue = Queue(runningMax: 1, waitingMax: 99, perClientMax: 9)
        _ = queue.submitted(0, by: HashingClient("other"), at: 0)
        for job in 1...3 { _ = queue.submitted(job, by: ann, at: 0) }
        for job in 11...13 { _ = queue.submitted(job, by: ben, at: 0) }
        #expect((0..<6).map { _ in queue.ended(isKnown: false, at: 1) } == [1, 11, 2, 12, 3, 13])
    }

    @Test func whatAClientHadIsForgottenByHalves() {
        var queue = Queue(runningMax: 1, waitingMax: 99, perClientMax: 9)
        for job in 1...4 { _ = queue.submitted(job, by: ann, at: 0) }
        for _ in 0..<4 { _ = queue.ended(isKnown: false, at: 0) }
        _ = queue.submitted(5, by: HashingClient("other"), at: 400)
        _ = queue.submitted(6, by: ann, at: 400)
        _ = queue.submitted(7, by: ben, at: 400)
        #expect(queue.ended(isKnown: false, at: 400) == 6, "Nothing is left of it, and it came first.")
    }

    @Test func knownDevicesGoFirstInThreeOfFourTurns() {
        var queue = Queue(runningMax: 1, waitingMax: 99, perClientMax: 9)
        let phone = HashingClient("device:ann", isKnown: true)
        _ = queue.submitted(0, by: HashingClient("other"), at: 0)
        for job in 1...4 { _ = queue.submitted(job, by: ben, at: 0) }
        for job in 11...16 { _ = queue.submitted(job, by: phone, at: 0) }
        // The first job ends, then the jobs of this list.
        let known = [false, true, true, true, false, true, true, true]
        #expect(known.map { queue.ended(isKnown: $0, at: 0) } == [11, 12, 13, 1, 14, 15, 16, 2])
    }

    @Test func aFullQueueMakesRoomAtTheCostOfTheLongestLine() {
        var queue = Queue(runningMax: 1, waitingMax: 4, perClientMax: 4)
        for job in 0...4 { _ = queue.submitted(job, by: ann, at: 0) }
        #expect(outcome(queue.submitted(10, by: ben, at: 0)) == "instead of 4")
        #expect(outcome(queue.submitted(11, by: ben, at: 0)) == "instead of 3")
        #expect(outcome(queue.submitted(12, by: ben, at: 0)) == "refuse", "It has as many as the other.")
        let phone = HashingClient("device:ann", isKnown: true)
        #expect(outcome(queue.submitted(20, by: phone, at: 0)).hasPrefix("instead of"))
        #expect(queue.ended(isKnown: false, at: 0) == 20)
    }

    /// A flood from unknown clients occupies the thread, and a known device does not wait for it. Id T4d of
    /// docs/internals/hardening.md.
    @Test func aKnownDeviceFindsAFreePlace() {
        var queue = Queue(runningMax: 1, knownExtra: 1, waitingMax: 99, perClientMax: 9)
        let phone = HashingClient("device:ann", isKnown: true)
        #expect(outcome(queue.submitted(1, by: ben, at: 0)) == "run 1")
        for job in 2...4 { #expect(outcome(queue.submitted(job, by: ben, at: 0)) == "wait") }
        #expect(outcome(queue.submitted(11, by: phone, at: 0)) == "run 11")
        #expect(outcome(queue.submitted(12, by: phone, at: 0)) == "wait", "There is one such place.")
        #expect(queue.ended(isKnown: true, at: 0) == 12)
        #expect(queue.ended(isKnown: true, at: 0) == nil, "Strangers do not take it.")
        #expect(queue.ended(isKnown: false, at: 0) == 2)
        #expect(outcome(queue.submitted(13, by: phone, at: 0)) == "run 13")
        #expect(queue.ended(isKnown: false, at: 0) == 3)
        #expect(queue.ended(isKnown: true, at: 0) == nil)
        #expect(queue.ended(isKnown: false, at: 0) == 4)
        #expect(queue.ended(isKnown: false, at: 0) == nil)
        #expect(outcome(queue.submitted(5, by: ben, at: 0)) == "run 5", "All places are free again.")
    }

    /// An endless series of known devices leaves unknown clients their share.
    @Test func knownDevicesDoNotShutStrangersOut() {
        var queue = Queue(runningMax: 1, knownExtra: 1, waitingMax: 99, perClientMax: 9)
        let phones = (0..<3).map { HashingClient("device:\($0)", isKnown: true) }
        for (job, phone) in phones.enumerated() { _ = queue.submitted(job, by: phone, at: 0) }
        for (job, phone) in phones.enumerated() {
            _ = queue.submitted(10 + job, by: phone, at: 0)
            _ = queue.submitted(20 + job, by: phone, at: 0)
        }
        #expect(outcome(queue.submitted(99, by: ben, at: 0)) == "wait")
        #expect((0..<4).compactMap { _ in queue.ended(isKnown: true, at: 0) }.contains(99))
    }
}
