import Histogram

/// Request times in an HdrHistogram, from 1 µs to two minutes; longer times count as two minutes.
package struct Times: Sendable {
    private var histogram: Histogram<UInt32>

    private static let secondsMax = 120.0

    /// - Parameter digits: significant decimal digits; two take 10 KB, three take 80 KB.
    package init(digits: SignificantDigits = .three) {
        histogram = Histogram(
            highestTrackableValue: UInt64(Self.secondsMax * 1e6), numberOfSignificantValueDigits: digits)
    }

    /// Adds a time; a negative one counts as 0.
    package mutating func add(seconds: Double) {
        histogram.record(UInt64(min(max(seconds, 0), Self.secondsMax) * 1e6))
    }

    /// The number of times.
    package var count: Int { Int(histogram.totalCount) }

    /// The percentile in milliseconds; 0 when there are no times.
    package func milliseconds(at percentile: Double) -> Double {
        Double(histogram.valueAtPercentile(percentile)) / 1000
    }

    /// The longest time, in milliseconds.
    package var longest: Double { Double(histogram.max) / 1000 }
}
