import Foundation
import Logging
import Outbound
import ParseProtocol

/// The settings of traces.
public struct TraceSettings: Sendable {
    /// The collector's address, without a slash at the end.
    let url: String
    /// The share of the clients' requests whose spans are recorded, 0 to 1.
    public let share: Double

    /// Nil without a collector.
    /// - Throws: `StartupProblem`.
    package init?(_ settings: Settings) throws(StartupProblem) {
        guard let share = Double(settings.text("satchel.traces.share", default: "0.01")), (0...1).contains(share) else {
            throw settings.wrong("satchel.traces.share", "must be a number from 0 to 1.")
        }
        self.share = share
        guard let address = settings["satchel.traces.url"] else { return nil }
        guard let url = URLComponents(string: address), url.scheme == "http" || url.scheme == "https",
            url.host?.isEmpty == false, url.user == nil, url.query == nil, url.fragment == nil
        else {
            // Without the value: it may hold a password.
            throw StartupProblem("SATCHEL_TRACES_URL is not an http address such as http://collector.example:4318.")
        }
        self.url = address.hasSuffix("/") ? String(address.dropLast()) : address
    }

    /// Whether the spans of a new trace are recorded.
    public var samples: Bool { share > 0 && Double.random(in: 0..<1) < share }
}

/// Sends the spans of this process to a collector, once a second (OTLP over HTTP in JSON, `POST /v1/traces`). Requests
/// never wait for it: spans that the collector does not take are dropped.
package final class SpanExporter: Sendable {
    /// Spans in a request to the collector.
    private static let spansMax = 512
    package static let timeout = Duration.seconds(10)
    /// At the end of the process.
    package static let lastTimeout = Duration.seconds(1)

    private let spans: SpanQueue
    private let settings: TraceSettings
    private let resource: [String: JSON]
    private let client: OutboundClient
    private let logger: Logger

    /// - Parameter resource: the attributes of the process, such as `service.name`.
    package init(_ spans: SpanQueue, _ settings: TraceSettings, of resource: [String: JSON], logger: Logger) {
        self.spans = spans
        self.settings = settings
        self.resource = resource
        self.logger = logger
        client = OutboundClient()
    }

    /// Exports until the process ends.
    func start() {
        Task.detached(priority: .background) { [self] in
            var told = 0
            while true {
                try? await Task.sleep(for: .seconds(1))
                await export()
                let dropped = spans.dropped
                if dropped > told {
                    logger.warning("Spans were dropped.", metadata: ["traces.dropped": "\(dropped - told)"])
                    told = dropped
                }
            }
        }
    }

    /// Sends the spans that wait.
    /// - Parameter timeout: of each request to the collector.
    package func export(timeout: Duration = SpanExporter.timeout) async {
        while true {
            let batch = spans.take(atMost: Self.spansMax)
            guard !batch.isEmpty else { return }
            let request = OutboundRequest(
                .post, settings.url + "/v1/traces", headers: [("Content-Type", "application/json")],
                body: TraceSpan.export(batch, of: resource).serialized, timeout: timeout)
            let status = (try? await client.send(request))?.status ?? 0
            guard (200...299).contains(status) else { return spans.drop(batch.count) }
        }
    }
}

extension ProcessStart {
    /// Exports the spans of this process, if the operator wants it. To be called once per process.
    /// - Parameter replica: the name of the process, such as `catalog-1`.
    /// - Returns: exports the last spans when the process ends; nil without a collector.
    package func exportSpans(of replica: String, _ logger: Logger) -> SpanExporter? {
        guard let traces else { return nil }
        let spans = SpanQueue()
        Tracing.record(into: spans)
        let resource: [String: JSON] = [
            "service.name": .string(String(replica.prefix { $0 != "-" })), "service.namespace": "satchel",
            "service.instance.id": .string(replica), "service.version": .string(satchelRelease),
        ]
        let exporter = SpanExporter(spans, traces, of: resource, logger: logger)
        exporter.start()
        return exporter
    }
}
