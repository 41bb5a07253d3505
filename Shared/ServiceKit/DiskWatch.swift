import Logging
import MessageBus
import ObjectStore
import Synchronization

/// Reports to the gateway, and so to `/health`, when a writer's disk becomes full or faulty, and when it recovers.
final class DiskWatch: Sendable {
    private let host: ServiceHost
    private let lastReported = Mutex<StorageTrouble?>(nil)

    private let wakeUp = WakeUp()

    /// Interval of checks during trouble, which is also how late `/health` may report the recovery.
    private static let troublePause = Duration.seconds(1)
    /// Interval of checks otherwise. A failed write triggers a check at once, but a write that waits for a database
    /// server does not.
    private var pause: Duration { host.store.isServed ? .seconds(2) : .seconds(30) }

    init(host: ServiceHost) {
        self.host = host
        host.store.onTrouble { [wakeUp] in wakeUp.ring() }
    }

    /// The background work, in each process: one that cannot begin to write reports it too.
    var work: BackgroundWork {
        BackgroundWork(
            "disk", every: pause, problem: "The disk could not be watched.", logger: host.logger, wakeUp: wakeUp
        ) { [self] in
            await look()
            return host.store.trouble == nil ? .idle : .due(in: Self.troublePause)
        }
    }

    private func look() async {
        // Without other writes, only a test write detects the recovery.
        let earlier = host.store.trouble
        if let earlier, earlier != .stuck, earlier != .damaged, host.store.mayWrite { await host.store.tryWriting() }
        let trouble = host.store.trouble
        let before = lastReported.withLock { lastReported -> StorageTrouble? in
            defer { lastReported = trouble }
            return lastReported
        }
        guard before != trouble else { return }
        // Other pages can still be read and written: the service stays in use.
        let isDamaged = trouble == .damaged
        host.warnings.set(isDamaged ? StorageTrouble.damaged.rawValue : "", of: "disk")
        host.bus.setProblem(isDamaged ? "" : trouble?.rawValue ?? "")
        // The store itself logs the other kinds.
        if trouble == .stuck {
            host.logger.error(
                "The service cannot write to its database.",
                metadata: ["store.trouble": "\(StorageTrouble.stuck.rawValue)"])
        } else if before == .stuck, trouble == nil {
            host.logger.notice("The service can write to its database again.")
        }
    }
}
