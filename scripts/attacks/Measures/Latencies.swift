/// Times of requests of one kind, and what is said about them.
package struct Latencies: Sendable {
    private var milliseconds: [Double] = []

    package init() {}

    /// A shopper who waits asks for nothing meanwhile, so that a standstill would be one slow request among thousands
    /// of quick ones. As HdrHistogram does it, a long time counts again for each request that would have been made
    /// while it lasted, one in `interval`.
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

    /// In milliseconds; zeros when there are none.
    package var summary: Summary {
        guard let max = milliseconds.max() else { return Summary() }
        let sorted = milliseconds.sorted()
        func rank(_ share: Double) -> Double { sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))] }
        return Summary(p50: rank(0.5), p95: rank(0.95), p99: rank(0.99), max: max)
    }
}
