import ParseProtocol

/// The gateway's response times by route, verb and class of the status.
final class RouteTimes: Sendable {
    /// The counts of a route's responses of one class.
    struct Part: Sendable {
        let method: String
        /// The path of the route, as OpenAPI has it: `/classes/{className}`.
        let route: String
        /// `2xx`.
        let status: String
        let row: ResponseTimes.Row
    }

    private static let methods: [ParseRequest.Method] = [.get, .post, .put, .delete]
    private static let classes = 5
    /// What has no route: pages and their files, and paths that lead nowhere.
    private static let others = ["pages", "none"]

    private let names: [(method: String, route: String)]
    private let slots: [ObjectIdentifier: Int]
    private let times: ResponseTimes

    init(_ routes: [Route] = RouteTable.mounted.routes + RouteTable.outside.routes) {
        let others = Self.others.flatMap { name in Self.methods.map { (method: $0.rawValue, route: name) } }
        names = others + routes.map { (method: $0.method.rawValue, route: $0.path) }
        slots = Dictionary(
            routes.enumerated().map { (ObjectIdentifier($1), others.count + $0) },
            uniquingKeysWith: { first, _ in first })
        times = ResponseTimes(rows: names.count * Self.classes)
    }

    /// - Parameters:
    ///   - route: nil for a request without one.
    ///   - isPage: whether it is for a page or a file of one.
    ///   - trace: the id of the request.
    func record(
        _ status: Int, _ method: ParseRequest.Method, _ route: Route?, isPage: Bool,
        since start: ContinuousClock.Instant, trace: String, now: ContinuousClock.Instant = .now
    ) {
        let other = (isPage ? 0 : Self.methods.count) + (Self.methods.firstIndex(of: method) ?? 0)
        let slot = route.flatMap { slots[ObjectIdentifier($0)] } ?? other
        times.record(
            slot * Self.classes + min(max(status / 100, 1), Self.classes) - 1, since: start, trace: trace, now: now)
    }

    /// The counts that are not zero.
    var parts: [Part] {
        times.rows.enumerated().compactMap { index, row in
            guard !row.buckets.isEmpty else { return nil }
            let (method, route) = names[index / Self.classes]
            return Part(method: method, route: route, status: "\(index % Self.classes + 1)xx", row: row)
        }
    }

    /// The sum of all routes.
    var json: JSON {
        let parts = parts
        return ResponseTimes.json(
            parts.map(\.row), refused: parts.filter { $0.status == "4xx" }.map(\.row),
            failed: parts.filter { $0.status == "5xx" }.map(\.row))
    }
}
