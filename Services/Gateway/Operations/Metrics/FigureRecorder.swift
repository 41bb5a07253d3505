import Logging
import Messages
import ParseProtocol
import ProcessKit
import Synchronization

/// Sends this gateway's view of the suite to analytics each minute, for the history of the operations page. A minute
/// that analytics cannot store is missing there.
final class FigureRecorder: ProcessPart {
    private let operations: OperationsController
    private let hub: LiveHub
    private let times: RouteTimes
    private let gateway: String
    private let every: Duration
    private let logger: Logger
    private let last = Mutex<SuiteSample?>(nil)
    private let hasKept = Atomic(false)

    /// After the start, and until analytics has stored the first row.
    private static let first = Duration.seconds(2)

    /// - Parameter gateway: the name of this gateway's place, which a restart keeps.
    init(
        operations: OperationsController, hub: LiveHub, times: RouteTimes, gateway: String, every: Duration,
        logger: Logger
    ) {
        self.operations = operations
        self.hub = hub
        self.times = times
        self.gateway = gateway
        self.every = every
        self.logger = logger
    }

    func run(until end: ProcessEnd) async throws {
        while await !end.arrives(within: hasKept.load(ordering: .relaxed) ? every : min(Self.first, every)) {
            await end.cancels { await self.keep() }
        }
    }

    private func keep() async {
        let sample = SuiteSample(
            await operations.figures(in: CallContext()), times.parts, liveConnections: hub.connectionCount)
        guard !Task.isCancelled else { return }
        let before = last.withLock { last in
            defer { last = sample.completed(from: last) }
            return last
        }
        do {
            try await operations.keep(sample.row(since: before), of: gateway)
            hasKept.store(true, ordering: .relaxed)
        } catch {
            logger.info("Analytics could not store the figures of a minute.", metadata: ["error": "\(error.message)"])
        }
    }
}

/// The figures of the suite at one moment. Counts run from the start of their process.
package struct SuiteSample: Sendable {
    /// Events of one process.
    package struct Events: Sendable {
        let figure: SuiteFigure
        let count: Int64

        package init(figure: SuiteFigure, count: Int64) {
            self.figure = figure
            self.count = count
        }
    }

    /// Requests by the bucket of their time; empty before the first one.
    package var buckets: [UInt64] = []
    /// Requests by the class of their status.
    package var requests: [SuiteFigure: UInt64] = [:]
    /// By process, and for each by outcome. A process that reports none has an empty entry.
    package var events: [String: [String: Events]] = [:]
    /// What is at this moment.
    package var levels: [SuiteFigure: Int64] = [:]

    package init() {}

    init(_ suite: SuiteFigures, _ parts: [RouteTimes.Part], liveConnections: Int) {
        var all = ResponseTimes.Row()
        for part in parts {
            all.add(part.row)
            switch part.status {
            case "4xx": requests[.refused, default: 0] += part.row.count
            case "5xx": requests[.failed, default: 0] += part.row.count
            default: break
            }
        }
        buckets = all.buckets
        levels[.live] = Int64(liveConnections)
        levels[.waiting] = Int64(suite.waiting.values.reduce(0, +))
        for report in suite.reports {
            let isGateway = report["service"] == "gateway"
            let process = report["replica"]?.stringValue ?? ""
            events[process] = events[process] ?? [:]
            for figure in (report["figures"]?.arrayValue ?? []).compactMap(Figure.init) {
                add(figure, of: process, isGateway: isGateway)
            }
        }
    }

    private static let eventMetrics: [Metric: SuiteFigure] = [
        .mails: .mailsFailed, .pushes: .pushesFailed, .payments: .paymentsFailed,
    ]
    private static let successes: Set<String> = ["sent", "succeeded"]

    private mutating func add(_ figure: Figure, of process: String, isGateway: Bool) {
        let value = Int64(exactly: figure.value.rounded()) ?? 0
        switch figure.metric {
        case .residentMemory: levels[isGateway ? .memory : .servicesMemory, default: 0] += value
        case .outboxMessages where figure.labels["state"] == "waiting": levels[.outbox, default: 0] += value
        case .outboxAge: levels[.outboxAge] = max(levels[.outboxAge] ?? 0, value)
        default:
            guard let event = Self.eventMetrics[figure.metric], let outcome = figure.labels["outcome"],
                !Self.successes.contains(outcome)
            else { return }
            let key = "\(figure.metric.name) \(outcome) \(figure.labels["kind"] ?? "")"
            events[process, default: [:]][key] = Events(figure: event, count: value)
        }
    }

    /// The sample with the events of processes whose report is missing, from an earlier sample.
    package func completed(from before: SuiteSample?) -> SuiteSample {
        var sample = self
        sample.events.merge(before?.events ?? [:]) { own, _ in own }
        return sample
    }

    /// The figures of the time since an earlier sample. A count that became smaller is that of a process that started
    /// again, so all of it is new. The events of a process that no earlier sample has may be of any time, so they do
    /// not count.
    /// - Parameter before: nil for the first sample, whose events may be of any time.
    package func row(since before: SuiteSample?) -> FigureRow {
        var values = levels
        for (figure, count) in requests {
            values[figure] = Self.increase(count, since: before?.requests[figure])
        }
        if let before {
            for (process, events) in events {
                guard let known = before.events[process] else { continue }
                for (key, event) in events {
                    values[event.figure, default: 0] += Self.increase(event.count, since: known[key]?.count)
                }
            }
        }
        var times: [Int: Int64] = [:]
        for (bucket, count) in buckets.enumerated() {
            let old = before.flatMap { $0.buckets.indices.contains(bucket) ? $0.buckets[bucket] : nil }
            times[bucket] = Self.increase(count, since: old)
        }
        return FigureRow(times: times, values: values)
    }

    private static func increase(_ count: some BinaryInteger, since before: (some BinaryInteger)?) -> Int64 {
        let (count, before) = (Int64(clamping: count), before.map { Int64(clamping: $0) } ?? 0)
        return before <= count ? count - before : count
    }
}
