import Histogram

/// Times of requests in an HdrHistogram: 1 µs to two minutes; a longer one counts as two minutes.
package struct Times: Sendable {
    private var histogram: Histogram<UInt32>

    private static let secondsMax = 120.0

    /// - Parameter digits: decimal digits to which a time is kept; two take 10 KB, three take 80 KB.
    package init(digits: SignificantDigits = .three) {
        histogram = Histogram(
            highestTrackableValue: UInt64(Self.secondsMax * 1e6), numberOfSignificantValueDigits: digits)
    }

    /// Adds a time; a negative one counts as none.
    package mutating func add(seconds: Double) {
        histogram.record(UInt64(min(max(seconds, 0), Self.secondsMax) * 1e6))
    }

    /// How many there are.
    package var count: Int { Int(histogram.totalCount) }

    /// The time in milliseconds that so many of 100 do not exceed; 0 when there is none.
    package func milliseconds(at percentile: Double) -> Double {
        Double(histogram.valueAtPercentile(percentile)) / 1000
    }

    /// The longest, in milliseconds.
    package var longest: Double { Double(histogram.max) / 1000 }
}
