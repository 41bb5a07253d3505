import Attack
import Testing

/// The statistics that decide whether an attack succeeded.
@Suite struct StatisticTests {
    @Test func aStandstillIsNotOneSlowRequestAmongThousands() {
        var latencies = Latencies()
        for _ in 0..<900 { latencies.add(.milliseconds(2), interval: .milliseconds(200)) }
        latencies.add(.seconds(10), interval: .milliseconds(200))
        #expect(latencies.count == 950)
        #expect(latencies.summary.p50 == 2)
        #expect(latencies.summary.p99 > 5000)
        #expect(latencies.summary.max == 10_000)
        #expect(Latencies().summary.p99 == 0)
    }

    @Test func timesThatTellHitsFromMissesAreFar() {
        let misses = (0..<200).map { Double($0 % 50) }
        let apart = RankStatistic(hits: misses.map { $0 + 100 }, misses: misses)
        #expect(apart.area == 1)
        #expect(!apart.nearlySure.contains(0.5))
        let same = RankStatistic(hits: misses, misses: misses)
        #expect(same.area == 0.5)
        #expect(same.likely.contains(0.5))
        #expect(same.likely.upperBound < 0.57)
        let faster = RankStatistic(hits: misses.map { $0 - 10 }, misses: misses)
        #expect(faster.likely.upperBound < 0.5, "a hit that is answered sooner tells as much")
    }

    @Test func guessingRightSometimesIsChance() {
        #expect(chance(ofAtLeast: 0, in: 8, each: 0.1) == 1)
        #expect(abs(chance(ofAtLeast: 1, in: 2, each: 0.5) - 0.75) < 1e-9)
        #expect(chance(ofAtLeast: 5, in: 8, each: 1.0 / 16) < 0.001)
        #expect(chance(ofAtLeast: 1, in: 8, each: 1.0 / 16) > 0.3)
    }
}
