import Load
import Testing

/// The search for the maximum load, on simulated shops with known limits.
@Suite struct LimitSearchTests {
    private struct Search {
        var found: Double?
        var trials: [Double] = []
    }

    private func search(
        from start: Double, most: Double = 1_000_000, precision: Double = 0.05,
        isKept: (_ rate: Double, _ trial: Int) -> Bool
    ) -> Search {
        var machine = LimitSearch(from: start, most: most, precision: precision), search = Search()
        while search.trials.count < 200 {
            switch machine.action {
            case .found(let rate):
                search.found = rate
                return search
            case .trial(let rate):
                search.trials.append(rate)
                machine.note(isKept: isKept(rate, search.trials.count))
            }
        }
        Issue.record("The search does not end: \(search.trials)")
        return search
    }

    @Test(arguments: [37.0, 50, 51, 730, 12_345])
    func theLimitIsFoundWithinThePrecision(limit: Double) throws {
        let search = self.search(from: 50) { rate, _ in rate <= limit }
        let found = try #require(search.found)
        #expect(found <= limit)
        #expect(found >= limit / 1.06)
        #expect(search.trials.count < 32, "\(search.trials)")
    }

    @Test func aPauseOfTheMachineDoesNotEndTheSearch() throws {
        // Every third trial fails once, whatever the rate.
        let search = self.search(from: 50) { rate, trial in rate <= 700 && trial % 3 != 0 }
        let found = try #require(search.found)
        #expect(found <= 700)
        #expect(found >= 660)
    }

    @Test func aShopThatNeverKeepsThePromiseHasNoLimit() {
        let search = self.search(from: 50) { _, _ in false }
        #expect(search.found == nil)
        #expect(search.trials.last ?? 0 >= 0.5)
    }

    @Test func theHighestRateAllowedIsNotExceeded() {
        let search = self.search(from: 50, most: 300) { _, _ in true }
        #expect(search.found == 300)
        #expect(search.trials == [50, 100, 200, 300])
    }
}
