import Logging
import Synchronization

/// Reports `Quotas.alarm` in the log and as a warning, which `/health`, `/security` and the dashboard show.
final class QuotaWatch: Sendable {
    private static let pause = Duration.seconds(2)

    private let host: ServiceHost
    private let lastReported = Mutex("")

    init(host: ServiceHost) { self.host = host }

    /// Runs in each process that writes, because each one counts separately.
    var work: BackgroundWork {
        BackgroundWork(
            "quotas", every: Self.pause, problem: "The quotas could not be watched.", logger: host.logger
        ) { [self] in
            look()
            return .idle
        }
    }

    private func look() {
        let alarm = host.quotas.alarm
        let shouldReport = lastReported.withLock { lastReported in
            defer { lastReported = alarm }
            return lastReported != alarm
        }
        guard shouldReport else { return }
        host.warnings.set(alarm, of: "quotas")
        if alarm.isEmpty {
            host.logger.notice("Clients may add more again.")
        } else {
            host.logger.warning("A global quota is nearly used up.", metadata: ["quota.alarm": "\(alarm)"])
        }
    }
}
