import MessageBus
import ParseProtocol

/// A process's report about itself for operators: its memory, since when it runs and the settings in force.
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
            "memoryBytes": .int(Int64(ProcessMemory.residentBytes)),
            "settings": .array(
                settings.inForce.map { setting in
                    [
                        "name": .string(setting.name), "value": .string(setting.value),
                        "isDefault": .bool(setting.isDefault), "isSecret": .bool(setting.isSecret),
                    ]
                }),
        ]
    }
}
