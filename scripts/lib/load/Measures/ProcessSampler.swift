import Foundation
import SuiteClient
import Synchronization

/// The resource use of a process at one moment.
struct ProcessSample: Sendable {
    /// Since the start of the run.
    let second: Double
    /// The replica, such as `catalog-1`; `load` for this program.
    let name: String
    /// Processors used since the previous sample.
    let processors: Double
    /// PSS, in bytes.
    let memoryBytes: Int
}

/// Samples the suite's processes and this one, once per second.
final class ProcessSampler: Sendable {
    /// This program's name among the replicas.
    static let ownName = "load"

    private let dataDirectory: String?
    private let samples = Mutex<[ProcessSample]>([])
    /// Seconds between searches for new and ended processes.
    private static let refreshRounds = 5

    /// - Parameter dataDirectory: of a suite on this machine; nil to sample only this program.
    init(dataDirectory: String?) { self.dataDirectory = dataDirectory }

    var all: [ProcessSample] { samples.withLock { $0 } }

    /// Samples until the task is cancelled.
    /// - Parameter now: seconds since the start of the run.
    func watch(_ now: @Sendable () -> Double) async {
        var processes = found(), spent: [pid_t: (at: Double, seconds: Double)] = [:]
        for round in 0... {
            if round % Self.refreshRounds == 0 { processes = found() }
            for (name, pid) in processes {
                let time = now()
                guard let seconds = SuiteProcesses.processorSeconds(of: pid) else { continue }
                if let last = spent[pid], time > last.at {
                    let sample = ProcessSample(
                        second: time, name: name, processors: (seconds - last.seconds) / (time - last.at),
                        memoryBytes: SuiteProcesses.proportionalBytes(of: pid))
                    samples.withLock { $0.append(sample) }
                }
                spent[pid] = (time, seconds)
            }
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }

    private func found() -> [(name: String, pid: pid_t)] {
        let suite = dataDirectory.map { SuiteProcesses(dataDirectory: $0).replicas } ?? [:]
        var found: [(name: String, pid: pid_t)] = [(Self.ownName, ProcessInfo.processInfo.processIdentifier)]
        for (name, pid) in suite.sorted(by: { $0.key < $1.key }) { found.append((name, pid)) }
        return found
    }
}
