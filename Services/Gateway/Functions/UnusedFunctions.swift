import Logging
import Synchronization

/// The functions of cloud code that are never called, because Satchel's functions of the same names take precedence.
struct UnusedFunctions: Sendable {
    /// Whether functions of the code replace Satchel's (`SATCHEL_CLOUD_REPLACES_FUNCTIONS`).
    let codeReplacesOwn: Bool

    func names(in table: HookTable) -> [String] {
        guard !codeReplacesOwn else { return [] }
        return table.code.functions.filter { ServiceDirectory.service(ofFunction: $0) != nil }.sorted()
    }
}

/// Logs the unused functions of the code whenever the list changes.
final class UnusedFunctionsLog: Sendable {
    private let unused: UnusedFunctions
    private let logger: Logger
    private let last = Mutex<[String]>([])

    init(_ unused: UnusedFunctions, logger: Logger) {
        self.unused = unused
        self.logger = logger
    }

    func note(_ table: HookTable) {
        let names = unused.names(in: table)
        let shouldReport = last.withLock { last in
            defer { last = names }
            return last != names
        }
        guard shouldReport, !names.isEmpty else { return }
        logger.warning(
            """
            Functions of the cloud code are not used: Satchel has functions of these names. \
            SATCHEL_CLOUD_REPLACES_FUNCTIONS=true lets the code's win.
            """, metadata: ["functions": "\(names.joined(separator: ", "))"])
    }
}
