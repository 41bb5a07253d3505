import MessageBus
import ParseProtocol

/// A process's report about itself for operators: memory, start time and the settings in effect.
public struct ProcessReport: Sendable {
    /// The function that the gateway calls on services. The gateway's table of functions omits it, so clients cannot
    /// call it.
    public static let function = "processReport"

    private let startedAt = Timestamp.now
    private let replica: String
    private let settings: Settings

    /// The report of this process, starting now.
    /// - Parameters:
    ///   - replica: the name of the process, such as `catalog-1`.
    ///   - settings: the settings of the process.
    public init(replica: String, settings: Settings) {
        self.replica = replica
        self.settings = settings
    }

    /// The figures of every process, and its counters.
    private var figures: [Figure] {
        [
            Figure(.residentMemory, Double(ProcessMemory.residentBytes)),
            Figure(.openFiles, Double(ProcessUse.openFiles)),
            Figure(.openFilesMax, Double(ProcessUse.openFilesMax)),
            Figure(.processorTime, ProcessUse.processorSeconds),
            Figure(.startTime, Double(startedAt.milliseconds) / 1000),
            Figure(.clock, Double(Timestamp.now.milliseconds) / 1000),
        ] + EventCounters.shared.figures
    }

    /// The current report, without the parts that only services have. It contains no secret.
    public var json: JSON {
        var report: [String: JSON] = [
            "replica": .string(replica), "release": .string(satchelRelease), "startedAt": .string(startedAt.iso),
            "memoryBytes": .int(Int64(ProcessMemory.residentBytes)), "figures": .array(figures.map(\.json)),
            "settings": .array(
                settings.inForce.map { setting in
                    [
                        "name": .string(setting.name), "value": .string(setting.value),
                        "isDefault": .bool(setting.isDefault), "isSecret": .bool(setting.isSecret),
                    ]
                }),
        ]
        report["droppedSpans"] = Tracing.spans.map { JSON.int(Int64($0.dropped)) }
        return .object(report)
    }
}
