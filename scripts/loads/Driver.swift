import Synchronization

/// Sends requests when they are due, whatever became of those before them (an open loop): a shop that answers slowly is
/// asked no less.
final class Driver: Sendable {
    private let shop: Shop
    private let pool: Mutex<Pool<Shopper>>
    private let origin = ContinuousClock.now
    let record = Record()

    /// - Parameter shoppersMax: shoppers, and so connections, at most.
    init(_ shop: Shop, shoppersMax: Int) {
        self.shop = shop
        pool = Mutex(Pool(most: shoppersMax))
    }

    /// Seconds since the run's beginning.
    var now: Double { (ContinuousClock.now - origin) / .seconds(1) }

    /// Shoppers, requests that wait for one, and requests for which one had to hurry.
    var crowd: (shoppers: Int, waiting: Int, hurried: Int) {
        pool.withLock { ($0.count, $0.waitingCount, $0.hurried) }
    }

    /// Runs a phase to the end of its last request.
    /// - Returns: when it began, in seconds since the run's beginning, and its figures.
    func run(_ phase: Phase) async -> (begin: Double, figures: Figures) {
        let index = record.beginPhase(), begin = now
        await withDiscardingTaskGroup { group in
            for number in 0..<phase.count {
                let due = Due(phase: index, start: begin + phase.start(of: number))
                if due.start > now { await pause(until: due.start) }
                let time = now
                record.due(at: due.start, lateness: time - due.start)
                guard let shopper = whoMakes(due, now: time) else { continue }
                group.addTask { await self.serve(due, by: shopper) }
            }
            await pause(until: begin + phase.seconds)
        }
        return (begin, record.figures(ofPhase: index))
    }

    private func whoMakes(_ due: Due, now: Double) -> Shopper? {
        let decision = pool.withLock { $0.due(due, now: now) }
        return switch decision {
        case .someone(let shopper): shopper
        case .newcomer(let number): Shopper(shop, number: number)
        case .nobody: nil
        }
    }

    /// Makes the request, and those that have waited for a shopper to become free.
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
