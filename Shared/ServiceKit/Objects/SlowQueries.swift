import Logging
import MessageBus
import ObjectStore
import ParseProtocol
import Synchronization

/// Logs queries that take long, with their shape and plan and without values.
final class SlowQueries: Sendable {
    private let limit: Duration?
    private let logger: Logger
    private let lines = Mutex(SlowQueryLines())

    /// - Parameter limit: nil logs none.
    init(limit: Duration?, logger: Logger) {
        self.limit = limit
        self.logger = logger
    }

    /// Runs a query, and logs it when it was slow or ran out of time.
    func watching<Found>(
        _ query: Query, _ caller: Caller, _ request: ServiceRequest, _ reader: StoreReader, _ body: () throws -> Found
    ) throws -> Found {
        guard let limit else { return try body() }
        let start = SystemClock.monotonic
        func note() {
            let time = Duration.nanoseconds(Int64(SystemClock.monotonic - start))
            guard time >= limit else { return }
            let shape = SlowQueryLines.text(query.outline.serializedText)
            let now = SystemClock.monotonic
            let network = request.envelope.principal.network
            let skipped = lines.withLock { $0.admit("\(query.className) \(shape)", from: network, at: now) }
            guard let skipped else { return }
            let plan = try? reader.planWithoutValues(query, caller: caller)
            logger.notice(
                "A query was slow.",
                metadata: [
                    "request.id": "\(request.envelope.traceID)", "query.class": "\(query.className)",
                    "query.milliseconds": "\(time.milliseconds)", "query.shape": "\(shape)",
                    "query.plan": "\(plan.map(SlowQueryLines.text) ?? "unknown")", "query.skipped": "\(skipped)",
                ])
        }
        do {
            let found = try body()
            note()
            return found
        } catch let error as ParseError where error.code == .timeout {
            note()
            throw error
        }
    }
}

/// Decides which slow queries are logged: in each span one line per shape, and few shapes. Clients choose the shapes,
/// so a network gets at most half of them: its lines must not push others out of the log.
package struct SlowQueryLines {
    private static let nanoseconds: UInt64 = 10_000_000_000
    private static let shapesMax = 10
    private static let shapesOfNetworkMax = 5
    private static let textMax = 2048

    private var start: UInt64 = 0
    private var shapes: Set<String> = []
    /// The numbers of shapes by network.
    private var taken: [String: Int] = [:]
    private var skipped = 0

    package init() {}

    /// - Parameter network: `Principal.network`; empty for the shop's own queries.
    /// - Returns: the number of queries since the last line that were not logged; nil when this one is not logged.
    package mutating func admit(_ shape: String, from network: String, at now: UInt64) -> Int? {
        if now >= start + Self.nanoseconds { (start, shapes, taken) = (now, [], [:]) }
        let places = network.isEmpty ? Self.shapesMax : Self.shapesOfNetworkMax
        guard shapes.count < Self.shapesMax, taken[network, default: 0] < places, shapes.insert(shape).inserted else {
            skipped += 1
            return nil
        }
        taken[network, default: 0] += 1
        defer { skipped = 0 }
        return skipped
    }

    /// A shape or a plan with a limited length.
    package static func text(_ text: String) -> String {
        text.utf8.count <= textMax ? text : "\(text.prefix(textMax))…"
    }
}
