import Foundation

/// How well durations separate hits from misses: the probability that a hit took longer than a miss (the area under the
/// ROC curve). 0.5 reveals nothing; 1 and 0 reveal everything.
package struct RankStatistic {
    package let area: Double
    /// Its standard error (Hanley and McNeil 1982).
    let error: Double

    /// - Precondition: both arrays are not empty.
    package init(hits: [Double], misses: [Double]) {
        let sorted = misses.sorted()
        // For each hit, the number of misses below it plus half of the equal ones.
        let wins = hits.reduce(0.0) { sum, hit in
            let below = Self.firstIndex(in: sorted) { $0 >= hit }
            let upTo = Self.firstIndex(in: sorted) { $0 > hit }
            return sum + Double(below) + Double(upTo - below) / 2
        }
        let (m, n) = (Double(hits.count), Double(misses.count))
        area = wins / (m * n)
        let a = area, q1 = a / (2 - a), q2 = 2 * a * a / (1 + a)
        error = ((a * (1 - a) + (m - 1) * (q1 - a * a) + (n - 1) * (q2 - a * a)) / (m * n)).squareRoot()
    }

    /// The confidence intervals of the area, for 95 % and 99.9 %.
    package var likely: ClosedRange<Double> { interval(1.96) }
    package var nearlySure: ClosedRange<Double> { interval(3.29) }

    private func interval(_ deviations: Double) -> ClosedRange<Double> {
        max(0, area - deviations * error)...min(1, area + deviations * error)
    }

    private static func firstIndex(in sorted: [Double], where isThere: (Double) -> Bool) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if isThere(sorted[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension [Double] {
    var median: Double { isEmpty ? 0 : sorted()[count / 2] }
}

/// The probability of `successes` or more in `trials` by guessing.
package func chance(ofAtLeast successes: Int, in trials: Int, each probability: Double) -> Double {
    var sum = 0.0
    for k in successes...max(successes, trials) where k <= trials {
        let combinations = lgamma(Double(trials + 1)) - lgamma(Double(k + 1)) - lgamma(Double(trials - k + 1))
        sum += exp(combinations + Double(k) * log(probability) + Double(trials - k) * log(1 - probability))
    }
    return min(1, sum)
}
