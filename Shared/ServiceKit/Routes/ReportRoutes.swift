import MessageBus
import ObjectStore
import ParseProtocol
import ProcessKit

extension ServiceRoutes {
    /// Installs the process report for operators. Each replica reports only about itself.
    mutating func installReport() {
        let (host, configuration) = (host, host.configuration)
        let report = ProcessReport(replica: configuration.replica, settings: configuration.settings)
        readingFunction(ProcessReport.function) { [parkedKinds] _, request, reader in
            try request.requireAdmin()
            let waiting = try reader.rows("SELECT count(*) AS count FROM outbox").first?.int("count") ?? 0
            let figures = try host.figures(reader)
            let parked = try parkedKinds.parkedCounts(in: reader)
            return {
                var answer = report.json
                answer["figures"] = .array((answer["figures"]?.arrayValue ?? []) + figures.map(\.json))
                // Messages to other services that are not delivered yet.
                answer["outbox"] = .int(waiting)
                answer["parked"] = .object(parked)
                return try .result(answer)
            }
        }
    }
}
