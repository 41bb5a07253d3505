import SuiteClient
import Synchronization

/// The suite's memory over time. The peak is the PSS at the start plus the growth of RSS: reading PSS takes too long
/// for an interval of 100 ms, and shared pages hardly change.
final class MemoryGauge: Sendable {
    private let dataDirectory: String
    private let state: Mutex<(processes: SuiteProcesses, peakResidentBytes: Int)>
    let start: [String: Int]
    private let startResidentBytes: Int
    private let startReplicas: [String: Int32]

    init(dataDirectory: String) throws {
        self.dataDirectory = dataDirectory
        let processes = SuiteProcesses(dataDirectory: dataDirectory)
        guard !processes.all.isEmpty else { throw AttackError("No process of the suite in \(dataDirectory) is seen.") }
        (start, startResidentBytes) = (processes.proportionalBytesByReplica, processes.residentBytes)
        startReplicas = processes.replicas
        state = Mutex((processes, startResidentBytes))
    }

    /// Samples until the task is cancelled.
    func watch() async {
        for sample in 0... {
            if sample % 20 == 0 {
                // New processes appear when one has ended, and for pictures.
                let processes = SuiteProcesses(dataDirectory: dataDirectory)
                state.withLock { $0.processes = processes }
            }
            state.withLock { $0.peakResidentBytes = max($0.peakResidentBytes, $0.processes.residentBytes) }
            do { try await Task.sleep(for: .milliseconds(100)) } catch { return }
        }
    }

    var peakBytes: Int { start.values.reduce(0, +) + state.withLock { $0.peakResidentBytes } - startResidentBytes }

    /// The current memory by replica, and the replicas whose process is not the original one.
    func end() -> (bytes: [String: Int], ended: [String]) {
        let processes = SuiteProcesses(dataDirectory: dataDirectory)
        let ended = startReplicas.filter { processes.replicas[$0.key] != $0.value }.keys.sorted()
        return (processes.proportionalBytesByReplica, ended)
    }
}
