import HTTPTypes
import Messages

/// The work that metrics and traces add to a read, alone: for `scripts/bench metrics`.
package enum MeteringCost {
    /// Counts reads of an object by id, each with a look for a trace in the headers.
    /// - Parameter callsService: whether catalog answers the read, else the cache.
    /// - Returns: nanoseconds per read.
    package static func nanoseconds(reads: Int, callsService: Bool) -> Double {
        let times = RouteTimes(), calls = ServiceTimes()
        let route = RouteTable.mounted.route(.get, ["classes", "Product", "abcdefghij"])
        let headers: HTTPFields = [
            .userAgent: "bench", .accept: "*/*", .acceptEncoding: "gzip",
            .contentType: "application/json", headerName("X-Parse-Application-Id"): "satchel",
        ]
        let kind = ObjectCalls(of: "catalog").get.kind
        let begin = ContinuousClock.now
        var start = begin, traces = 0
        for _ in 0..<reads {
            if headers.contains(HTTPFront.traceParentName) { traces += 1 }
            if callsService { calls.record(.done, at: calls.slot(of: kind), since: start) }
            let now = ContinuousClock.now
            times.record(200, .get, route, isPage: false, since: start, trace: "0123456789abcdef", now: now)
            start = now
        }
        // The compiler keeps the look, because its result is used.
        precondition(traces == 0)
        let nanoseconds = (ContinuousClock.now - begin) / .nanoseconds(1)
        return nanoseconds / Double(reads)
    }
}
