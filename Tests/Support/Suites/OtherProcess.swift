import Foundation

/// A process that is not a child of this process.
package struct OtherProcess: Sendable {
    private let pid: pid_t

    package init(pid: pid_t) { self.pid = pid }

    /// Whether the process runs. A zombie, which ended but was not reaped, has no arguments.
    package var isAlive: Bool { FileManager.default.contents(atPath: "/proc/\(pid)/cmdline")?.isEmpty == false }
}
