import Foundation

/// Zipf's law: of `count` items, the item of rank r is chosen in proportion to 1/r to the power of `exponent`. A few
/// products and brands get most of the views.
package struct Zipf: Sendable {
    private let cumulative: [Double]

    /// A table of 8 bytes per item, so that a choice is one random number and a binary search.
    /// - Parameters:
    ///   - count: 1 or more.
    ///   - exponent: 0 for equal frequencies, 1 for Zipf's original law; 0 or more.
    package init(count: Int, exponent: Double) {
        precondition(count > 0 && exponent >= 0, "There is nothing to choose from.")
        var sum = 0.0, sums: [Double] = []
        sums.reserveCapacity(count)
        for rank in 1...count {
            sum += pow(Double(rank), -exponent)
            sums.append(sum)
        }
        cumulative = sums.map { $0 / sum }
    }

    /// The share of all choices that a rank gets; 0 is the first rank.
    package func share(of rank: Int) -> Double {
        cumulative[rank] - (rank > 0 ? cumulative[rank - 1] : 0)
    }

    /// Chooses a rank; 0 is the most frequent.
    package func rank(using random: inout some RandomNumberGenerator) -> Int {
        let wanted = Double.random(in: 0..<1, using: &random)
        var low = 0, high = cumulative.count - 1
        while low < high {
            let middle = (low + high) / 2
            if cumulative[middle] > wanted { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
