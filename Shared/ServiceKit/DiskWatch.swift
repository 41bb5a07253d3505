import Logging
import MessageBus
import ObjectStore
import Synchronization

/// Tells the gateway, and so `/health`, when the writer's disk is full or fails, and when that is over.
final class DiskWatch: Sendable {
    private let host: ServiceHost
    private let told = Mutex<StorageTrouble?>(nil)

    /// The pause between two looks, and so the time by which `/health` may be behind.
    static let interval = Duration.seconds(1)

    init(host: ServiceHost) { self.host = host }

    /// One look.
    func look() async {
        // Nobody may be writing, so that the end of it has to be found out.
        if host.store.trouble != nil { await host.store.tryWriting() }
        let trouble = host.store.trouble
        let isNews = told.withLock { told -> Bool in
            defer { told = trouble }
            return told != trouble
        }
        guard isNews else { return }
        host.bus.setProblem(trouble?.rawValue ?? "")
        if let trouble {
            host.logger.error("Nothing can be stored.", metadata: ["store.trouble": "\(trouble.rawValue)"])
        } else {
            host.logger.notice("Storing works again.")
        }
    }
}
