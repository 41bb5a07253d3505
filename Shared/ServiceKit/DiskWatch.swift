import Logging
import MessageBus
import ObjectStore

/// Tells the gateway, and so `/health`, when the writer's disk is full or fails, and when that is over.
struct DiskWatch: Sendable {
    let host: ServiceHost

    /// Also how long `/health` may be behind.
    private static let interval = Duration.seconds(1)

    /// Runs for as long as the process does.
    func run() async {
        var told: StorageTrouble?
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)
            // Nobody may be writing, so that the end of it has to be found out.
            if host.store.trouble != nil { await host.store.tryWriting() }
            let trouble = host.store.trouble
            guard trouble != told else { continue }
            told = trouble
            host.bus.setProblem(trouble?.rawValue ?? "")
            if let trouble {
                host.logger.error("Nothing can be stored.", metadata: ["store.trouble": "\(trouble.rawValue)"])
            } else {
                host.logger.notice("Storing works again.")
            }
        }
    }
}
