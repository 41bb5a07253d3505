import Load
import Testing

/// The choice of products and brands.
@Suite struct ZipfTests {
    @Test(arguments: [0.0, 0.7, 1, 1.5])
    func ranksAreChosenAsOftenAsTheLawSays(exponent: Double) {
        let zipf = Zipf(count: 1000, exponent: exponent), draws = 200_000
        var random = SystemRandomNumberGenerator()
        var counts = Array(repeating: 0, count: 1000)
        for _ in 0..<draws { counts[zipf.rank(using: &random)] += 1 }
        for rank in [0, 1, 2, 9, 99, 999] {
            let expected = zipf.share(of: rank) * Double(draws)
            // Six standard deviations: a false failure occurs once in hundreds of millions of runs.
            #expect(abs(Double(counts[rank]) - expected) < 6 * expected.squareRoot() + 6, "rank \(rank)")
        }
    }

    @Test func sharesFollowTheExponent() {
        let zipf = Zipf(count: 100, exponent: 1)
        #expect(abs(zipf.share(of: 0) / zipf.share(of: 1) - 2) < 1e-9)
        #expect(abs(zipf.share(of: 0) / zipf.share(of: 9) - 10) < 1e-9)
        #expect(abs((0..<100).reduce(0) { $0 + zipf.share(of: $1) } - 1) < 1e-9)
    }

    @Test func theOnlyThingIsChosen() {
        var random = SystemRandomNumberGenerator()
        #expect(Zipf(count: 1, exponent: 1).rank(using: &random) == 0)
    }
}
