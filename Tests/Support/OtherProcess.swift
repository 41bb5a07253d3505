import Foundation

/// A process that is no child of ours.
package struct OtherProcess: Sendable {
    private let pid: pid_t

    package init(pid: pid_t) { self.pid = pid }

    /// Whether it has not ended. One that has, and of which nobody has heard yet, has no arguments any more.
    package var isAlive: Bool { FileManager.default.contents(atPath: "/proc/\(pid)/cmdline")?.isEmpty == false }
}
