import Synchronization

/// The switch of this process: until it ends, the database shows nothing of it.
final class MoveRun: Sendable {
    private let running = Atomic<Bool>(false)
    private let stopping = Atomic<Bool>(false)
    private let switched = Atomic<Bool>(false)
    private let rows = Atomic<Int>(0)

    var isRunning: Bool { running.load(ordering: .acquiring) }
    /// The process ends: the switch rolls back.
    var isStopping: Bool { stopping.load(ordering: .relaxed) }
    /// A switch of this process was committed.
    var hasSwitched: Bool { switched.load(ordering: .relaxed) }
    /// Rows that were applied so far.
    var applied: Int { rows.load(ordering: .relaxed) }

    /// False while a switch is running.
    func begin() -> Bool {
        guard running.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged else {
            return false
        }
        restart()
        return true
    }

    func end() { running.store(false, ordering: .releasing) }
    func stop() { stopping.store(true, ordering: .relaxed) }
    func noteSwitched() { switched.store(true, ordering: .relaxed) }
    /// The job runs from its beginning.
    func restart() { rows.store(0, ordering: .relaxed) }
    func add(_ count: Int) { rows.wrappingAdd(count, ordering: .relaxed) }
}
