import SuiteClient
import Synchronization

/// The suite's memory over time. Its peak is the PSS at the start and what RSS grew by since: PSS itself takes too
/// long to ask for every 100 ms, and pages that are shared hardly change.
final class MemoryGauge: Sendable {
    private let dataDirectory: String
    private let state: Mutex<(processes: SuiteProcesses, peakResidentBytes: Int)>
    let startBytes: Int
    private let startResidentBytes: Int
    private let startReplicas: [String: Int32]

    init(dataDirectory: String) throws {
        self.dataDirectory = dataDirectory
        let processes = SuiteProcesses(dataDirectory: dataDirectory)
        guard !processes.all.isEmpty else { throw AttackError("No process of the suite in \(dataDirectory) is seen.") }
        (startBytes, startResidentBytes) = (processes.proportionalBytes, processes.residentBytes)
        startReplicas = processes.replicas
        state = Mutex((processes, startResidentBytes))
    }

    /// Samples until the task is cancelled.
    func watch() async {
        for sample in 0... {
            if sample % 20 == 0 {
                // New processes come when one ended, and for pictures.
                let processes = SuiteProcesses(dataDirectory: dataDirectory)
                state.withLock { $0.processes = processes }
            }
            state.withLock { $0.peakResidentBytes = max($0.peakResidentBytes, $0.processes.residentBytes) }
            do { try await Task.sleep(for: .milliseconds(100)) } catch { return }
        }
    }

    var peakBytes: Int { startBytes + state.withLock { $0.peakResidentBytes } - startResidentBytes }

    /// The memory now, and the replicas whose process is not the one from the start.
    func end() -> (bytes: Int, ended: [String]) {
        let processes = SuiteProcesses(dataDirectory: dataDirectory)
        let ended = startReplicas.filter { processes.replicas[$0.key] != $0.value }.keys.sorted()
        return (processes.proportionalBytes, ended)
    }
}
