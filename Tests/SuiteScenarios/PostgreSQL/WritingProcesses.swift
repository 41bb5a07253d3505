import ParseProtocol
import Synchronization
import TestSupport

/// Polls for the server processes that change a service's data until it is stopped.
final class WritingProcesses: Sendable {
    private final class Processes: Sendable { let ids = Mutex<Set<Int64>>([]) }

    private let processes: Processes
    private let look: Task<Void, any Error>

    init(_ suite: Suite, _ service: String) {
        let processes = Processes()
        self.processes = processes
        look = Task {
            while true {
                try Task.checkCancellation()
                // The next look follows one that fails.
                let rows = try? await suite.rows(
                    service,
                    """
                    SELECT pid FROM pg_stat_activity \
                    WHERE application_name = 'satchel-satchel_\(service)' AND backend_xid IS NOT NULL
                    """)
                processes.ids.withLock { $0.formUnion(rows?.compactMap { $0.at(0)?.intValue } ?? []) }
            }
        }
    }

    var seen: Int { processes.ids.withLock { $0.count } }

    func stop() async throws {
        look.cancel()
        _ = try? await look.value
    }
}
