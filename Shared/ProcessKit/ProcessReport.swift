import Foundation
import ParseProtocol

/// What a process tells operators about itself: its memory, since when it runs and the settings in force.
public struct ProcessReport: Sendable {
    /// The function by which the gateway asks services. The gateway's table of functions does not name it: clients
    /// cannot call it.
    public static let function = "processReport"

    private let startedAt = Timestamp.now
    private let replica: String
    private let settings: Settings

    /// The report of this process, from now on.
    /// - Parameters:
    ///   - replica: the name of the process, such as `catalog-1`.
    ///   - settings: those that it was started with.
    public init(replica: String, settings: Settings) {
        self.replica = replica
        self.settings = settings
    }

    /// The report as it is now, without what only services have. No secret is in it.
    public var json: JSON {
        [
            "replica": .string(replica), "release": .string(satchelRelease), "startedAt": .string(startedAt.iso),
            "memoryBytes": .int(Self.memoryBytes),
            "settings": .array(
                settings.inForce.map { setting in
                    [
                        "name": .string(setting.name), "value": .string(setting.value),
                        "isDefault": .bool(setting.isDefault), "isSecret": .bool(setting.isSecret),
                    ]
                }),
        ]
    }

    /// Memory of this process that is in RAM, in bytes; 0 where the system does not say (proc_pid_statm(5)).
    static var memoryBytes: Int64 {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0
        return pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
    }
}
