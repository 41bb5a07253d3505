import ParseProtocol

/// The state machine of the pool of Node processes. No I/O. It decides which process gets which call, what happens to
/// the calls of a dead or blocked process, and when the next process starts.
///
/// Each event appends the required actions to `actions`. Times are milliseconds of a monotonic clock.
package struct PoolMachine {
    package typealias ProcessID = Int
    package typealias RunID = UInt64
    package typealias Milliseconds = Int64

    package enum Action: Equatable {
        case start(ProcessID)
        case send(RunID, to: ProcessID)
        /// No client waits for the call any more.
        case cancel(RunID, in: ProcessID)
        /// Asks whether the process still responds. Only a pong counts as an answer: code in an endless loop can still
        /// write.
        case ping(ProcessID)
        case kill(ProcessID)
        case finish(RunID, RunOutcome)
        /// Why no code can run; empty when it can.
        case problem(String)
    }

    /// Maximum concurrent calls of a process. Further calls wait for another process.
    package static let runsMax = 64
    /// Maximum calls that wait for a process.
    package static let waitingMax = 1024
    /// Maximum waiting calls of one near network (`ClientNetwork`); its wide network may have three quarters of all
    /// waiting calls. A near network may have at most half of the running calls, and its wide network three quarters.
    package static let waitingPerNetworkMax = 256
    /// A busy process is pinged this long after its last answer.
    package static let pingAfter: Milliseconds = 50
    /// A process that has not answered for this long gets no further call while another one is available.
    package static let silenceMax: Milliseconds = 50
    /// Maximum time to load the code.
    package static let loadMax: Milliseconds = 30_000
    /// After a call exceeded its limit, a process that does not answer for this long is blocked and is killed. A
    /// process that answers only waits for something within that call, and continues.
    package static let graceMax: Milliseconds = 1_000
    /// A call past its limit leaves unfinished work in its process. After this many such calls the process is replaced.
    package static let lateMax = 32
    /// A process that loaded its code and ran this long did not fail because of it: when it ends, the next one starts
    /// at once.
    package static let stableAfter: Milliseconds = 10_000
    /// The delay before a start; doubles with every process that ends early.
    package static let backOff: ClosedRange<Milliseconds> = 100...10_000

    private static let died = RunOutcome.ended("The process of the cloud code ended while it worked on this.")

    private struct Process {
        enum Phase {
            case loading
            case ready
            /// It is being replaced and gets no further calls.
            case retiring
            /// It was killed and has not ended yet.
            case ending
        }
        let slot: Int
        let startedAt: Milliseconds
        var phase = Phase.loading
        /// Whether it has loaded the code.
        var hasLoaded = false
        var runs: Set<RunID> = []
        /// When it last answered a ping, or since when it is busy.
        var lastHeard: Milliseconds
        /// When the unanswered ping was sent.
        var pingedAt: Milliseconds?
        /// A call exceeded its limit, and the process has answered no ping since; it gets no further calls until it
        /// does.
        var isSuspected = false
        /// Calls that exceeded their limit.
        var late = 0

        func isSilent(for limit: Milliseconds, now: Milliseconds) -> Bool {
            pingedAt.map { now - $0 >= limit } ?? false
        }
    }

    private struct Slot {
        var process: ProcessID?
        /// Consecutive processes that ended early.
        var failures = 0
        var startAt: Milliseconds?
    }

    private struct Run {
        /// The end of the wait for a process; once a process has the call, the end of the code's time.
        var deadline: Milliseconds
        let limit: Milliseconds?
        let isNested: Bool
        /// The client's network; nil for a call without a budget.
        let network: ClientNetwork?
        var process: ProcessID?
        var isWaiting = false
    }

    private var slots: [Slot]
    private var processes: [ProcessID: Process] = [:]
    private var runs: [RunID: Run] = [:]
    private var waiting: [RunID] = []
    /// The running and waiting calls per network.
    private var working: NetworkAmounts
    private var queuedAmounts = NetworkAmounts(nearLimit: waitingPerNetworkMax, total: waitingMax)
    private var lastProcess = 0
    private var isStopped = false
    private var problem = ""

    /// - Parameter processes: 1 or more.
    package init(processes: Int) {
        slots = Array(repeating: Slot(), count: max(1, processes))
        let places = slots.count * Self.runsMax
        working = NetworkAmounts(nearLimit: places / 2, total: places)
    }

    /// Whether `tick` must be called.
    package var isWatching: Bool {
        !runs.isEmpty || processes.contains { $0.value.phase != .ready || $0.value.isSuspected }
            || slots.contains { $0.startAt != nil }
    }

    /// Whether a process would accept a call now.
    package var isReady: Bool { processes.contains { $0.value.phase == .ready && !$0.value.isSuspected } }

    // MARK: Processes

    /// There is code: starts every process.
    package mutating func begin(now: Milliseconds, _ actions: inout [Action]) {
        for slot in slots.indices { start(slot, now: now, &actions) }
    }

    private mutating func start(_ slot: Int, now: Milliseconds, _ actions: inout [Action]) {
        guard !isStopped else { return }
        lastProcess += 1
        processes[lastProcess] = Process(slot: slot, startedAt: now, lastHeard: now)
        slots[slot].process = lastProcess
        slots[slot].startAt = nil
        actions.append(.start(lastProcess))
    }

    /// A process has loaded the code, or failed to.
    package mutating func loaded(
        _ id: ProcessID, problem: String?, now: Milliseconds, _ actions: inout [Action]
    ) {
        guard let process = processes[id], process.phase == .loading else { return }
        guard problem == nil else {
            tell("The cloud code cannot be loaded; the log says why.", &actions)
            return end(id, &actions)
        }
        processes[id]?.phase = .ready
        processes[id]?.hasLoaded = true
        processes[id]?.lastHeard = now
        tell("", &actions)
        sendWaiting(now: now, &actions)
    }

    /// A process has answered a ping.
    package mutating func ponged(_ id: ProcessID, now: Milliseconds) {
        processes[id]?.lastHeard = now
        processes[id]?.pingedAt = nil
        processes[id]?.isSuspected = false
    }

    /// A process has ended.
    package mutating func ended(_ id: ProcessID, now: Milliseconds, _ actions: inout [Action]) {
        guard let process = processes.removeValue(forKey: id) else { return }
        if process.phase == .loading {
            tell("The cloud code process ends before it has loaded the code; the log says why.", &actions)
        }
        for run in process.runs.sorted() {
            finish(run, Self.died, &actions)
        }
        if slots[process.slot].process == id { replace(process, now: now, &actions) }
    }

    /// Starts a new process in the slot of a process that has ended or will end.
    private mutating func replace(_ process: Process, now: Milliseconds, _ actions: inout [Action]) {
        let slot = process.slot
        slots[slot].process = nil
        let lived = process.hasLoaded ? now - process.startedAt : 0
        guard lived < Self.stableAfter else {
            slots[slot].failures = 0
            return start(slot, now: now, &actions)
        }
        // From seven failures on, the delay has its maximum anyway.
        let pause = Self.backOff.lowerBound << min(slots[slot].failures, 7)
        slots[slot].failures += 1
        slots[slot].startAt = now + min(pause, Self.backOff.upperBound)
    }

    /// Kills a process; `ended` reports its end.
    private mutating func end(_ id: ProcessID, _ actions: inout [Action]) {
        guard let phase = processes[id]?.phase, phase != .ending else { return }
        processes[id]?.phase = .ending
        actions.append(.kill(id))
    }

    /// A call exceeded its limit. A blocked process is killed; whether it is blocked is tested with a ping unless one
    /// is outstanding.
    private mutating func doubt(_ id: ProcessID, now: Milliseconds, _ actions: inout [Action]) {
        guard let process = processes[id], process.phase == .ready || process.phase == .retiring else { return }
        processes[id]?.isSuspected = true
        processes[id]?.late += 1
        if process.isSilent(for: Self.graceMax, now: now) { return end(id, &actions) }
        if process.pingedAt == nil { ping(id, now: now, &actions) }
        if process.phase == .ready, process.late + 1 >= Self.lateMax {
            // It gets no further calls, and another process takes its place.
            processes[id]?.phase = .retiring
            replace(process, now: now, &actions)
        }
        if processes[id]?.phase == .retiring, processes[id]?.runs.isEmpty == true { end(id, &actions) }
    }

    private mutating func ping(_ id: ProcessID, now: Milliseconds, _ actions: inout [Action]) {
        processes[id]?.pingedAt = now
        actions.append(.ping(id))
    }

    private mutating func tell(_ text: String, _ actions: inout [Action]) {
        guard text != problem else { return }
        // One working process is enough.
        if !text.isEmpty, processes.contains(where: { $0.value.phase == .ready }) { return }
        problem = text
        actions.append(.problem(text))
        if !text.isEmpty { refuseWaiting(&actions) }
    }

    // MARK: Calls

    /// Adds a call with a unique id.
    /// - Parameters:
    ///   - deadline: when it is cancelled, wherever it is.
    ///   - limit: the code's time limit. It counts from the moment a process gets the call, so a call that arrived
    ///     while the code was being loaded has its full time.
    ///   - isNested: it was made within another call, which waits for it; it must not queue behind other calls.
    ///   - network: the client's network, whose budget it uses; nil for operators' calls and jobs.
    package mutating func call(
        _ id: RunID, deadline: Milliseconds, limit: Milliseconds? = nil, isNested: Bool,
        from network: ClientNetwork? = nil, now: Milliseconds, _ actions: inout [Action]
    ) {
        let network = isNested ? nil : network
        runs[id] = Run(deadline: deadline, limit: limit, isNested: isNested, network: network)
        if isStopped { return finish(id, .notRun("The cloud service is stopping."), &actions) }
        let hasShare = network.map { working.hasRoom($0) } ?? true
        if hasShare, let process = process(isNested: isNested, now: now) {
            return send(id, to: process, now: now, &actions)
        }
        if !problem.isEmpty {
            finish(id, .ended(problem), &actions)
        } else if waiting.count >= Self.waitingMax || network.map({ !queuedAmounts.hasRoom($0) }) ?? false {
            finish(id, .notRun("The cloud code has too much to do; try again."), &actions)
        } else {
            waiting.insert(id, at: isNested ? 0 : waiting.count)
            runs[id]?.isWaiting = true
            if let network { queuedAmounts.add(1, of: network) }
        }
    }

    /// When a call is cancelled; changes once a process has it, if there is a `limit`. Nil for a call that has ended.
    package func deadline(of id: RunID) -> Milliseconds? { runs[id]?.deadline }

    /// The outcome of a call. Ignored for a call that was ended before.
    package mutating func answered(
        _ id: RunID, by process: ProcessID, _ outcome: RunOutcome, now: Milliseconds, _ actions: inout [Action]
    ) {
        guard processes[process]?.runs.remove(id) != nil else { return }
        finish(id, outcome, &actions)
        if processes[process]?.phase == .retiring, processes[process]?.runs.isEmpty == true {
            return end(process, &actions)
        }
        sendWaiting(now: now, &actions)
    }

    /// No client waits for a call any more: it is cancelled, wherever it is.
    package mutating func cancel(
        _ id: RunID, _ outcome: RunOutcome, now: Milliseconds, _ actions: inout [Action]
    ) {
        guard let run = runs[id] else { return }
        guard let process = run.process else {
            waiting.removeAll { $0 == id }
            return finish(id, outcome, &actions)
        }
        processes[process]?.runs.remove(id)
        actions.append(.cancel(id, in: process))
        finish(id, outcome, &actions)
        doubt(process, now: now, &actions)
    }

    private func process(isNested: Bool, now: Milliseconds) -> ProcessID? {
        func rank(_ id: ProcessID, _ process: Process) -> (Int, Int, ProcessID) {
            (process.isSilent(for: Self.silenceMax, now: now) ? 1 : 0, process.runs.count, id)
        }
        return processes.filter { _, process in
            process.phase == .ready && !process.isSuspected && (isNested || process.runs.count < Self.runsMax)
        }
        .min { rank($0.key, $0.value) < rank($1.key, $1.value) }?.key
    }

    private mutating func send(
        _ id: RunID, to process: ProcessID, now: Milliseconds, _ actions: inout [Action]
    ) {
        if processes[process]?.runs.isEmpty == true { processes[process]?.lastHeard = now }
        processes[process]?.runs.insert(id)
        runs[id]?.process = process
        if let network = runs[id]?.network { working.add(1, of: network) }
        if let run = runs[id], let limit = run.limit { runs[id]?.deadline = min(run.deadline, now + limit) }
        actions.append(.send(id, to: process))
    }

    private mutating func sendWaiting(now: Milliseconds, _ actions: inout [Action]) {
        while let place = nextWaiting(), let run = runs[waiting[place]] {
            guard let process = process(isNested: run.isNested, now: now) else { return }
            let id = waiting.remove(at: place)
            runs[id]?.isWaiting = false
            if let network = run.network { queuedAmounts.add(-1, of: network) }
            send(id, to: process, now: now, &actions)
        }
    }

    /// The queue position of the next call: the first call without a network (nested calls and operators), otherwise
    /// the first call of the network with the fewest running calls.
    private func nextWaiting() -> Int? {
        var best: (place: Int, amount: Int)?
        for (place, id) in waiting.enumerated() {
            guard let network = runs[id]?.network else { return place }
            let amount = working.amount(of: network)
            if working.hasRoom(network), best.map({ amount < $0.amount }) ?? true { best = (place, amount) }
        }
        return best?.place
    }

    private mutating func refuseWaiting(_ actions: inout [Action]) {
        for id in waiting { finish(id, .ended(problem), &actions) }
        waiting = []
    }

    private mutating func finish(_ id: RunID, _ outcome: RunOutcome, _ actions: inout [Action]) {
        guard let run = runs.removeValue(forKey: id) else { return }
        if let network = run.network {
            if run.process != nil { working.add(-1, of: network) }
            if run.isWaiting { queuedAmounts.add(-1, of: network) }
        }
        actions.append(.finish(id, outcome))
    }

    // MARK: Time

    /// Cancels calls and processes past their limits and starts processes that are due. Call several times per second
    /// while `isWatching`.
    package mutating func tick(now: Milliseconds, _ actions: inout [Action]) {
        for (id, run) in runs.sorted(by: { $0.key < $1.key }) where run.deadline <= now {
            let outcome =
                run.process == nil
                ? RunOutcome.notRun("The cloud code could not be started in time; try again.")
                : .ended("The cloud code took longer than it may and was ended.")
            cancel(id, outcome, now: now, &actions)
        }
        for (id, process) in processes.sorted(by: { $0.key < $1.key }) {
            switch process.phase {
            case .loading where now - process.startedAt >= Self.loadMax:
                tell("The cloud code takes too long to load.", &actions)
                end(id, &actions)
            case .ready, .retiring: watch(id, process, now: now, &actions)
            case .loading, .ending: break
            }
        }
        for slot in slots.indices {
            if let time = slots[slot].startAt, time <= now { start(slot, now: now, &actions) }
        }
        // A doubted process may have answered.
        sendWaiting(now: now, &actions)
    }

    private mutating func watch(
        _ id: ProcessID, _ process: Process, now: Milliseconds, _ actions: inout [Action]
    ) {
        guard process.pingedAt == nil else {
            if process.isSuspected, process.isSilent(for: Self.graceMax, now: now) { end(id, &actions) }
            return
        }
        if !process.runs.isEmpty, now - process.lastHeard >= Self.pingAfter { ping(id, now: now, &actions) }
    }

    /// Ends everything. A call that a process already has may have started, so its outcome must not be `notRun`.
    package mutating func stop(_ actions: inout [Action]) {
        isStopped = true
        for (id, run) in runs.sorted(by: { $0.key < $1.key }) {
            finish(id, run.process == nil ? .notRun("The cloud service is stopping.") : Self.died, &actions)
        }
        waiting = []
        for id in processes.keys.sorted() { end(id, &actions) }
    }
}
