import Load
import Testing

/// Which shopper sends a due request, and how the statistics show a stall of the shop.
@Suite struct PoolTests {
    @Test func readyShoppersGoBeforeNewOnes() {
        var pool = Pool<String>(most: 2)
        guard case .newcomer(0) = pool.due(Due(phase: 0, start: 0), now: 0) else { return fail() }
        #expect(pool.free("first", thinksUntil: 5) == nil)
        guard case .newcomer(1) = pool.due(Due(phase: 0, start: 1), now: 1) else { return fail() }
        #expect(pool.free("second", thinksUntil: 3) == nil)
        guard case .someone("second") = pool.due(Due(phase: 0, start: 4), now: 4) else { return fail() }
        #expect(pool.hurried == 0)
        guard case .someone("first") = pool.due(Due(phase: 0, start: 4.5), now: 4.5) else { return fail() }
        #expect(pool.hurried == 1, "there are no more shoppers, so one thinks less")
    }

    @Test func aDueRequestWithoutAShopperKeepsItsStartTime() {
        var pool = Pool<Int>(most: 1)
        guard case .newcomer = pool.due(Due(phase: 0, start: 1), now: 1) else { return fail() }
        guard case .nobody = pool.due(Due(phase: 0, start: 2), now: 2) else { return fail() }
        guard case .nobody = pool.due(Due(phase: 0, start: 3), now: 3) else { return fail() }
        #expect(pool.waitingCount == 2)
        #expect(pool.free(0, thinksUntil: 10) == Due(phase: 0, start: 2))
        #expect(pool.free(0, thinksUntil: 10) == Due(phase: 0, start: 3))
        #expect(pool.free(0, thinksUntil: 10) == nil)
    }

    private func fail() { Issue.record("Somebody else makes the request.") }

    /// A shop that answers in a millisecond but stalls for the sixth second, and ten shoppers.
    @Test func aStandstillIsSeenByAllWhoWouldHaveAskedMeanwhile() {
        let phase = Phase("steady", from: 100, seconds: 10)
        var shop = Standstill()
        for number in 0..<phase.count { shop.ask(Due(phase: 0, start: phase.start(of: number))) }
        shop.finish()
        let figures = shop.tally.figures
        #expect(figures.requests == 1000)
        #expect(figures.p50 < 2)
        #expect(figures.p99 > 850, "100 requests were due in the standstill, though ten were sent: \(figures.p99)")
        #expect(figures.longest > 950)
    }
}

/// A simulated shop and its shoppers.
private struct Standstill {
    private struct Exchange {
        let due: Due
        let person: Int
        let end: Double
    }

    private var pool = Pool<Int>(most: 10)
    private var underWay: [Exchange] = []
    private(set) var tally = Tally()

    mutating func ask(_ due: Due) {
        finish(until: due.start)
        switch pool.due(due, now: due.start) {
        case .newcomer(let person), .someone(let person): send(due, by: person, at: due.start)
        case .nobody: break
        }
    }

    mutating func finish() { finish(until: .infinity) }

    private mutating func finish(until time: Double) {
        while let next = underWay.enumerated().min(by: { $0.element.end < $1.element.end }), next.element.end <= time {
            let exchange = underWay.remove(at: next.offset)
            tally.add(.answered, after: exchange.end - exchange.due.start)
            if let next = pool.free(exchange.person, thinksUntil: exchange.end) {
                send(next, by: exchange.person, at: exchange.end)
            }
        }
    }

    private mutating func send(_ due: Due, by person: Int, at time: Double) {
        let begin = (5..<6).contains(time) ? 6 : time
        underWay.append(Exchange(due: due, person: person, end: begin + 0.001))
    }
}
