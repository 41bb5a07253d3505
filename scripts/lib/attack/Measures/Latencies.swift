/// The durations of requests of one kind, and their percentiles.
package struct Latencies: Sendable {
    private var milliseconds: [Double] = []

    package init() {}

    /// A waiting shopper sends no other requests, so a stall would count as one slow request among thousands of fast
    /// ones. As in HdrHistogram, a long duration is therefore counted again for each request that would have been sent
    /// meanwhile, one per `interval` (coordinated omission).
    package mutating func add(_ time: Duration, interval: Duration) {
        var time = time
        repeat {
            milliseconds.append(time / .milliseconds(1))
            time -= interval
        } while time >= interval
    }

    package var count: Int { milliseconds.count }

    package struct Summary: Sendable {
        package var p50 = 0.0
        package var p95 = 0.0
        package var p99 = 0.0
        package var max = 0.0
    }

    /// In milliseconds; zeros when there are no requests.
    package var summary: Summary {
        guard let max = milliseconds.max() else { return Summary() }
        let sorted = milliseconds.sorted()
        func rank(_ share: Double) -> Double { sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))] }
        return Summary(p50: rank(0.5), p95: rank(0.95), p99: rank(0.99), max: max)
    }
}
