import Logging
import MessageBus
import ObjectStore
import ParseProtocol

/// Logs queries that take long, with their shape and plan and without values.
struct SlowQueries: Sendable {
    /// Nil logs none.
    let limit: Duration?
    let logger: Logger

    /// Runs a query, and logs it when it was slow or ran out of time.
    func watching<Found>(
        _ query: Query, _ caller: Caller, _ request: ServiceRequest, _ reader: StoreReader, _ body: () throws -> Found
    ) throws -> Found {
        guard let limit else { return try body() }
        let start = SystemClock.monotonic
        func note() {
            let time = Duration.nanoseconds(Int64(SystemClock.monotonic - start))
            guard time >= limit else { return }
            let plan = try? reader.planWithoutValues(query, caller: caller)
            logger.notice(
                "A query was slow.",
                metadata: [
                    "request.id": "\(request.envelope.traceID)", "query.class": "\(query.className)",
                    "query.milliseconds": "\(time.milliseconds)", "query.shape": "\(query.outline.serializedText)",
                    "query.plan": "\(plan ?? "unknown")",
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
