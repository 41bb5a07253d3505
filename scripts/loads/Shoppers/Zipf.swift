import Foundation

/// Zipf's law: of `count` things, the one of rank r is chosen as often as 1/r to the power of `exponent`. A few
/// products and brands are looked at by most, and most by few.
package struct Zipf: Sendable {
    private let cumulative: [Double]

    /// A table of 8 bytes for each thing, so that a choice is one random number and a binary search.
    /// - Parameters:
    ///   - count: 1 or more.
    ///   - exponent: 0 for all alike, 1 for Zipf's own law; 0 or more.
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

    /// The share of the things that are chosen which a rank has, from 0 for the first.
    package func share(of rank: Int) -> Double {
        cumulative[rank] - (rank > 0 ? cumulative[rank - 1] : 0)
    }

    /// A rank, from 0 for the one that is chosen most.
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
