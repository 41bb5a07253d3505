import Foundation

/// The process manager of the scripts (supervisord), if it started this process.
package struct ProcessManager: Sendable {
    private let pid: pid_t?

    /// Created while this process starts.
    package init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        pid = environment["SUPERVISOR_ENABLED"] == nil ? nil : getppid()
    }

    /// Whether the process manager ended before this process: then nothing restarts a service that ends.
    package var isGone: Bool { pid.map { $0 != getppid() } ?? false }
}
