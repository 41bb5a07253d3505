import Synchronization

/// Sends requests at their scheduled times, independent of earlier answers (an open loop): a slow shop gets no fewer
/// requests.
final class Driver: Sendable {
    private let shop: Shop
    private let pool: Mutex<Pool<Shopper>>
    private let origin = ContinuousClock.now
    let record = Record()

    /// - Parameter shoppersMax: maximum shoppers, and so connections.
    init(_ shop: Shop, shoppersMax: Int) {
        self.shop = shop
        pool = Mutex(Pool(most: shoppersMax))
    }

    /// Seconds since the start of the run.
    var now: Double { (ContinuousClock.now - origin) / .seconds(1) }

    /// The number of shoppers, of requests that wait for a shopper, and of requests that cut a thinking time short
    /// (`Pool.hurried`).
    var crowd: (shoppers: Int, waiting: Int, hurried: Int) {
        pool.withLock { ($0.count, $0.waitingCount, $0.hurried) }
    }

    /// Runs a phase until its last request ends.
    /// - Returns: its start, in seconds since the start of the run, and its figures.
    func run(_ phase: Phase) async -> (begin: Double, figures: Figures) {
        let index = record.beginPhase(), begin = now
        await withDiscardingTaskGroup { group in
            for number in 0..<phase.count {
                let due = Due(phase: index, start: begin + phase.start(of: number))
                if due.start > now { await pause(until: due.start) }
                let time = now
                record.due(at: due.start, lateness: time - due.start)
                guard let shopper = shopperFor(due, now: time) else { continue }
                group.addTask { await self.serve(due, by: shopper) }
            }
            await pause(until: begin + phase.seconds)
        }
        return (begin, record.figures(ofPhase: index))
    }

    private func shopperFor(_ due: Due, now: Double) -> Shopper? {
        let decision = pool.withLock { $0.due(due, now: now) }
        return switch decision {
        case .someone(let shopper): shopper
        case .newcomer(let number): Shopper(shop, number: number)
        case .nobody: nil
        }
    }

    /// Sends the request, then the requests that wait for a free shopper.
    private func serve(_ due: Due, by shopper: Shopper) async {
        var shopper = shopper, next: Due? = due
        while let due = next {
            var thought = 0.0
            if Duration.seconds(now - due.start) < shop.timeout {
                let (step, outcome, look) = await shopper.act()
                record.note(step, outcome, of: due, end: now)
                thought = look
            } else {
                record.note(nil, .failed("not sent in time"), of: due, end: now)
            }
            let free = shopper, until = now + thought
            next = pool.withLock { $0.free(free, thinksUntil: until) }
        }
    }

    private func pause(until time: Double) async {
        try? await Task.sleep(until: origin + .seconds(time), tolerance: .zero, clock: .continuous)
    }
}
