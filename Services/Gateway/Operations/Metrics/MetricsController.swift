import Books
import HTTPTypes
import ParseProtocol
import ProcessKit

/// `GET /metrics` for monitoring systems: the numbers of `/operations/metrics`, with those of the gateway's own parts.
struct MetricsController: Sendable {
    let access: MetricsAccess
    let operations: OperationsController
    let system: SystemController
    let hub: LiveHub
    let gate: ConnectionGate

    func page(_ request: ParseRequest, _ times: RouteTimes) async -> ParseResponse {
        if let refusal = access.refusal(request) { return refusal }
        let form = MetricsPage.Form(accept: request.headers[.accept])
        var page = MetricsPage(form)
        page.add(.build, 1, [(name: "version", value: satchelRelease)])
        for part in times.parts {
            page.add(
                .requestDuration, part.row,
                [
                    (name: "method", value: part.method), (name: "route", value: part.route),
                    (name: "status", value: part.status),
                ])
        }
        page.add(.connections, Double(gate.count))
        page.add(.liveConnections, Double(hub.connectionCount))
        page.add(.liveSubscriptions, Double(hub.subscriptionCount))
        add(system.cache?.counts, of: "reads", to: &page)
        add(system.files?.counts, of: "files", to: &page)
        if let report = operations.bookReport {
            page.add(.booksProblems, Double(report.findings.count), [(name: "kind", value: "wrong")])
            page.add(.booksProblems, Double(report.missing.count), [(name: "kind", value: "unchecked")])
            page.add(.booksTime, Double(report.at.milliseconds) / 1000)
        }
        add(await operations.figures(in: request.call), to: &page)
        var response = ParseResponse(body: Array(page.text.utf8))
        response.headers = [.contentType: form.contentType, .cacheControl: "no-store"]
        return response
    }

    private func add(_ counts: JSON?, of cache: String, to page: inout MetricsPage) {
        guard let counts else { return }
        func number(_ name: String) -> Double { counts[name]?.doubleValue ?? 0 }
        for result in ["hits", "misses", "invalidations"] {
            page.add(.cacheReads, number(result), [(name: "cache", value: cache), (name: "result", value: result)])
        }
        page.add(.cacheEntries, number("entries"), [(name: "cache", value: cache)])
        page.add(.cacheBytes, number("bytes"), [(name: "cache", value: cache)])
    }

    private func add(_ figures: SuiteFigures, to page: inout MetricsPage) {
        for (name, service) in figures.health.services.sorted(by: { $0.key < $1.key }) {
            let labels = [(name: "service", value: name)]
            let works = service.state == .ok || service.state == .degraded
            page.add(.serviceUp, works ? 1 : 0, labels)
            page.add(.serviceReplicas, Double(service.seen.replicas.count), labels)
            page.add(.busLanes, Double(figures.lanes[name] ?? 0), labels)
            page.add(.busWaiting, Double(figures.waiting[name] ?? 0), labels)
            page.add(.busUnanswered, Double(figures.unanswered[name] ?? 0), labels)
        }
        for (replica, count) in figures.sent.sorted(by: { $0.key < $1.key }) {
            page.add(.busRequests, Double(count), [(name: "process", value: replica)])
        }
        for part in figures.calls {
            page.add(
                .callDuration, part.row,
                [
                    (name: "service", value: part.service), (name: "kind", value: part.kind),
                    (name: "outcome", value: "\(part.outcome)"),
                ])
        }
        for report in figures.reports {
            let process: MetricsPage.Labels = [
                (name: "service", value: report["service"]?.stringValue ?? ""),
                (name: "process", value: report["replica"]?.stringValue ?? ""),
            ]
            for figure in (report["figures"]?.arrayValue ?? []).compactMap(Figure.init) {
                let labels = figure.labels.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
                page.add(figure.metric, figure.value, process + labels)
            }
        }
    }
}

/// The metrics of the gateway.
extension Metric {
    fileprivate static let build = Metric("satchel_build_info", .gauge, "The release of the gateway; always 1.")
    fileprivate static let requestDuration = Metric(
        "satchel_http_request_duration_seconds", .histogram,
        "Time from the head of a request to its answer. The route is none for an unknown path.")
    fileprivate static let connections = Metric("satchel_http_connections", .gauge, "Open HTTP connections.")
    fileprivate static let liveConnections = Metric(
        "satchel_live_connections", .gauge, "Open WebSockets and event streams of live queries.")
    fileprivate static let liveSubscriptions = Metric("satchel_live_subscriptions", .gauge, "Live queries.")
    fileprivate static let cacheReads = Metric(
        "satchel_cache_reads", .counter, "Reads that a cache answered or missed; an invalidation is a changed entry.")
    fileprivate static let cacheEntries = Metric("satchel_cache_entries", .gauge, "Entries of a cache.")
    fileprivate static let cacheBytes = Metric("satchel_cache_bytes", .gauge, "Memory of a cache's entries.")
    fileprivate static let booksProblems = Metric(
        "satchel_books_problems", .gauge, "Wrong rows and unchecked services of the last check of the books.")
    fileprivate static let booksTime = Metric(
        "satchel_books_check_time_seconds", .gauge, "When that check began, in Unix time.")
    fileprivate static let serviceUp = Metric(
        "satchel_service_up", .gauge, "Whether the service works: it has a writer and reports no failure.")
    fileprivate static let serviceReplicas = Metric("satchel_service_replicas", .gauge, "Connected processes.")
    fileprivate static let busLanes = Metric("satchel_bus_lanes", .gauge, "Connected lanes of a service.")
    fileprivate static let busWaiting = Metric(
        "satchel_bus_waiting_requests", .gauge, "Requests that wait for a lane of a service.")
    fileprivate static let busUnanswered = Metric(
        "satchel_bus_unanswered_requests", .gauge, "Requests that lanes of a service work on.")
    fileprivate static let busRequests = Metric(
        "satchel_bus_requests", .counter, "Requests sent to a process since it connected.")
    fileprivate static let callDuration = Metric(
        "satchel_service_call_duration_seconds", .histogram, "Time of the gateway's calls, with the wait for a lane.")
}
