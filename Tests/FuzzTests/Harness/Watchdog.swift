import Foundation
import Synchronization

/// Ends the process when one input takes too long, because an endless loop cannot be interrupted.
final class Watchdog: Sendable {
    private let started = Mutex<ContinuousClock.Instant?>(nil)
    private let isStopped = Atomic(false)

    init(limit: Duration, what: String) {
        Thread.detachNewThread { [weak self] in
            while let self, !self.isStopped.load(ordering: .relaxed) {
                if let start = self.started.withLock({ $0 }), ContinuousClock.now - start > limit {
                    FileHandle.standardError.write(Data("\(what): an input did not end within \(limit).\n".utf8))
                    abort()
                }
                Thread.sleep(forTimeInterval: 0.2)
            }
        }
    }

    func begin(_ now: ContinuousClock.Instant) { started.withLock { $0 = now } }
    func end() { started.withLock { $0 = nil } }
    func stop() { isStopped.store(true, ordering: .relaxed) }
}
