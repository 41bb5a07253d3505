import Logging
import MessageBus
import ObjectStore
import Synchronization

/// Tells the gateway, and so `/health`, when a writer's disk is full or fails, and when that is over.
final class DiskWatch: Sendable {
    private let host: ServiceHost
    private let told = Mutex<StorageTrouble?>(nil)

    private let wakeUp = WakeUp()

    /// Between two looks while there is trouble, and so the time by which `/health` may be behind at its end.
    private static let troublePause = Duration.seconds(1)
    /// Otherwise: a write that fails says so itself. One that waits for a server does not.
    private var pause: Duration { host.store.isServed ? .seconds(2) : .seconds(30) }

    init(host: ServiceHost) {
        self.host = host
        host.store.whenTroubled { [wakeUp] in wakeUp.ring() }
    }

    /// Watching, by each process that writes.
    var work: BackgroundWork {
        BackgroundWork(
            "disk", every: pause, problem: "The disk could not be watched.", logger: host.logger, wakeUp: wakeUp
        ) { [self] in
            await look()
            return host.store.trouble == nil ? .idle : .due(in: Self.troublePause)
        }
    }

    private func look() async {
        // Nobody may be writing, so that the end of it has to be found out.
        let known = host.store.trouble
        if known != nil, known != .stuck, host.store.mayWrite { await host.store.tryWriting() }
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
