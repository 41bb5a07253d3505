import ObjectStore
import Testing

/// The outcomes of overtaken jobs, decided without a database.
@Suite struct JobBatchTests {
    private func piece(_ count: Int) -> JobBatch<Int> { JobBatch(jobs: Array(0..<count)) }

    @Test func severalAreTriedTogetherAndThenInHalves() throws {
        var next = [piece(5)]
        for _ in 1..<JobBatch<Int>.triesTogether {
            next = try #require(next[0].next(isLate: false, splits: false))
            #expect(next.map(\.jobs.count) == [5])
        }
        next = try #require(next[0].next(isLate: false, splits: false))
        #expect(next.map(\.jobs) == [[0, 1], [2, 3, 4]])
        #expect(next.map(\.repetitions) == [0, 0])
    }

    @Test func whenTheTimeIsOverEachIsTriedAlone() throws {
        let next = try #require(piece(4).next(isLate: true, splits: false))
        #expect(next.map(\.jobs) == [[0], [1], [2], [3]])
    }

    @Test func whatWasNotSeenSplitsAtOnce() throws {
        let next = try #require(piece(3).next(isLate: false, splits: true))
        #expect(next.map(\.jobs) == [[0], [1], [2]])
        #expect(next.map(\.seesLatestCommits) == [false, false, false])
    }

    @Test func oneIsTriedUntilTheTimeIsOverAndSomeTimesInAnyCase() throws {
        var one = piece(1)
        for _ in 1...100 { one = try #require(one.next(isLate: false, splits: false)?.first) }
        #expect(one.next(isLate: true, splits: false) == nil)
        one = piece(1)
        for _ in 1..<JobBatch<Int>.triesAloneMin { one = try #require(one.next(isLate: true, splits: false)?.first) }
        #expect(one.next(isLate: true, splits: false) == nil)
    }

    @Test func pausesGrowUpToABound() throws {
        var one = piece(1)
        var pauses: [Double] = []
        for _ in 1...8 {
            pauses.append(one.pauseMax)
            one = try #require(one.next(isLate: false, splits: false)?.first)
        }
        #expect(pauses == [0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.064, 0.064])
    }
}
