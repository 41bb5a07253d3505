import Synchronization

/// All background work of a service. The service's lifecycle owns the group: added work starts when the process becomes
/// the writer, and all of it ends before the store closes.
public final class BackgroundGroup: Sendable {
    private struct State {
        var works: [BackgroundWork] = []
        /// The running tasks by number, from 1.
        var tasks: [Int: Task<Void, Never>] = [:]
        /// The numbers of the tasks that `stop` waits for.
        var awaited: Set<Int> = []
        var last = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let ended = WakeUp()

    /// Creates an empty group.
    public init() {}

    /// Adds work that only the writer does. Called while the service is built.
    public func add(_ work: BackgroundWork) { state.withLock { $0.works.append(work) } }

    /// Starts the added work, once this process is the writer.
    /// - Parameter idle: the names of works that do not start.
    func start(without idle: Set<String> = []) {
        let begun = state.withLock { state -> [BackgroundWork] in
            defer { state.works = [] }
            return state.works
        }
        for work in begun where !idle.contains(work.name) { begin { await work.run() } }
    }

    /// Starts a task that ends by itself, such as one delivery of many. The task is independent of the request that
    /// caused it: it finishes even when that request has exhausted its budget.
    /// - Parameter isAwaited: false for a task that can be cancelled without loss.
    /// - Returns: false when the service is stopping; `body` never runs then.
    @discardableResult
    public func begin(isAwaited: Bool = true, _ body: @escaping @Sendable () async -> Void) -> Bool {
        state.withLock { state -> Bool in
            guard !state.isClosed else { return false }
            state.last += 1
            let number = state.last
            if isAwaited { state.awaited.insert(number) }
            state.tasks[number] = Task.detached { [self] in
                await body()
                end(number)
            }
            return true
        }
    }

    private func end(_ number: Int) {
        let isLast = state.withLock { state -> Bool in
            state.tasks[number] = nil
            return state.awaited.remove(number) != nil && state.awaited.isEmpty
        }
        if isLast { ended.ring() }
    }

    /// Cancels all tasks and waits for the awaited ones. Unfinished work resumes from stored data, as after a
    /// crash.
    package func stop(within limit: Duration) async {
        let tasks = state.withLock { state -> [Task<Void, Never>] in
            state.isClosed = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        let end = ContinuousClock.now + limit
        while !state.withLock({ $0.awaited.isEmpty }) {
            let left = end - ContinuousClock.now
            guard left > .zero else { return }
            await ended.wait(atMost: left)
        }
    }
}
