import CoreMetrics
import Synchronization

/// The backend of swift-metrics in this process: the counters that code declares, `Counter(label: "satchel_mails")`.
///
/// A label is the name of a `Metric`, and dimensions become its labels. Counting takes one atomic addition. The gateway
/// counts times, and gauges are read when a report is made, so recorders, meters and timers do nothing.
public final class EventCounters: MetricsFactory {
    /// The counters of this process.
    public static let shared = EventCounters()

    private struct Key: Hashable {
        let label: String
        let dimensions: [String: String]
    }

    private final class EventCounter: CounterHandler {
        private let count = Atomic<Int64>(0)
        var value: Int64 { count.load(ordering: .relaxed) }

        func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }
        func reset() { count.store(0, ordering: .relaxed) }
    }

    private let counters = Mutex<[Key: EventCounter]>([:])

    /// Far more than the code declares: a mistaken dimension must not fill the memory.
    private static let countersMax = 1000

    private init() {}

    /// Makes `shared` the backend of swift-metrics. To be called once per process, before the first event.
    public static func setUp() { MetricsSystem.bootstrap(shared) }

    /// The current values.
    public var figures: [Figure] {
        counters.withLock { $0 }.compactMap { key, counter in
            Metric.named(key.label).map { Figure($0, Double(counter.value), key.dimensions) }
        }
    }

    /// The counter of a label with these dimensions.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let key = Key(label: label, dimensions: Dictionary(dimensions) { first, _ in first })
        let counter: EventCounter? = counters.withLock { counters in
            if let known = counters[key] { return known }
            guard counters.count < Self.countersMax else { return nil }
            let made = EventCounter()
            counters[key] = made
            return made
        }
        guard let counter else { return NOOPMetricsHandler.instance }
        return counter
    }

    /// A recorder that does nothing.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler { NOOPMetricsHandler.instance }

    /// A timer that does nothing.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        NOOPMetricsHandler.instance
    }

    /// Does nothing: counters live as long as their process.
    public func destroyCounter(_ handler: any CounterHandler) {}
    /// Does nothing.
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Does nothing.
    public func destroyTimer(_ handler: any TimerHandler) {}
}

extension Metric {
    /// Counts an event. For frequent events keep a `Counter`.
    /// - Parameter labels: names and values; their values are few.
    public func count(_ labels: (String, String)...) { Counter(label: name, dimensions: labels).increment() }
}
