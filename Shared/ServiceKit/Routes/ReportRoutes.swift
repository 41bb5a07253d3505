import MessageBus
import ObjectStore
import ParseProtocol
import ProcessKit

extension ServiceRoutes {
    /// What every service tells operators about itself. The replica that is asked speaks for itself alone.
    mutating func installReport() {
        let configuration = host.configuration
        let report = ProcessReport(replica: configuration.replica, settings: configuration.settings)
        readingFunction(ProcessReport.function) { _, request, reader in
            try request.requireAdmin()
            let waiting = try reader.rows("SELECT count(*) AS count FROM outbox").first?.int("count") ?? 0
            return {
                var answer = report.json
                // Messages to other services that were not taken yet.
                answer["outbox"] = .int(waiting)
                return try .result(answer)
            }
        }
    }
}
