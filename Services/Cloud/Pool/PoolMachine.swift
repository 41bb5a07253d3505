/// The decisions of the pool of Node processes, without I/O: which process gets which call, what becomes of the calls
/// of one that dies or stands still, and when the next one is started.
///
/// Each event appends what must be done to `actions`. Times are milliseconds of a clock that only goes on.
package struct PoolMachine {
    package typealias ProcessID = Int
    package typealias RunID = UInt64
    package typealias Milliseconds = Int64

    package enum Action: Equatable {
        case start(ProcessID)
        case send(RunID, to: ProcessID)
        /// Nobody waits for the call any more.
        case cancel(RunID, in: ProcessID)
        /// Asks whether it still goes on. Nothing but a pong is an answer: code that never lets go can write all the
        /// same.
        case ping(ProcessID)
        case kill(ProcessID)
        case finish(RunID, RunOutcome)
        /// Why no code can be run; empty when it can.
        case problem(String)
    }

    /// Calls that a process works on at once. More than that waits where another process can take it.
    package static let runsMax = 64
    /// Calls that may wait for a process.
    package static let waitingMax = 1024
    /// A process that has work is asked whether it goes on, so long after it has answered that last.
    package static let pingAfter: Milliseconds = 50
    /// One that has not answered for so long gets no further call while another one can take it.
    package static let silenceMax: Milliseconds = 50
    /// The longest that a process may take to load the code.
    package static let loadMax: Milliseconds = 30_000
    /// A process that a call was too long for stands still when it has not answered for so long, and is ended. Any
    /// other one waits for something in that call alone, and goes on.
    package static let graceMax: Milliseconds = 1_000
    /// What calls past their limits leave behind stays in their process: after so many of them it is replaced.
    package static let lateMax = 32
    /// A process that lived for so long ended by chance, and the next one is started at once.
    package static let stableAfter: Milliseconds = 10_000
    /// The pause before a start, which doubles with every process that ends soon.
    package static let backOff: ClosedRange<Milliseconds> = 100...10_000

    private static let died = RunOutcome.ended("The process of the cloud code ended while it worked on this.")

    private struct Process {
        enum Phase {
            case loading
            case ready
            /// It is replaced and gets nothing more.
            case retiring
            /// It was killed, and its end is still to come.
            case ending
        }
        let slot: Int
        let startedAt: Milliseconds
        var phase = Phase.loading
        var runs: Set<RunID> = []
        /// The time of its last answer to a ping, or since when it has work.
        var lastHeard: Milliseconds
        /// The time of the question that it has not answered yet.
        var pingedAt: Milliseconds?
        /// A call was too long for it, and it has answered no ping since; until it does it gets no further one.
        var isDoubted = false
        /// Calls that were too long for it.
        var late = 0

        func isSilent(for limit: Milliseconds, now: Milliseconds) -> Bool {
            pingedAt.map { now - $0 >= limit } ?? false
        }
    }

    private struct Slot {
        var process: ProcessID?
        /// Processes in a row that ended soon.
        var failures = 0
        var startAt: Milliseconds?
    }

    private struct Run {
        /// The end of the wait for a process, then of the code.
        var deadline: Milliseconds
        let limit: Milliseconds?
        let isNested: Bool
        var process: ProcessID?
    }

    private var slots: [Slot]
    private var processes: [ProcessID: Process] = [:]
    private var runs: [RunID: Run] = [:]
    private var waiting: [RunID] = []
    private var lastProcess = 0
    private var isStopped = false
    private var problem = ""

    /// - Parameter processes: from 1.
    package init(processes: Int) { slots = Array(repeating: Slot(), count: max(1, processes)) }

    /// Whether `tick` has something to look at.
    package var isWatching: Bool {
        !runs.isEmpty || processes.contains { $0.value.phase != .ready || $0.value.isDoubted }
            || slots.contains { $0.startAt != nil }
    }

    /// Whether a process would take a call now.
    package var isReady: Bool { processes.contains { $0.value.phase == .ready && !$0.value.isDoubted } }

    // MARK: Processes

    /// There is code: every process is started.
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

    /// A process has loaded the code, or says that it cannot.
    package mutating func loaded(
        _ id: ProcessID, problem: String?, now: Milliseconds, _ actions: inout [Action]
    ) {
        guard let process = processes[id], process.phase == .loading else { return }
        guard problem == nil else {
            tell("The cloud code cannot be loaded; the log says why.", &actions)
            return end(id, &actions)
        }
        processes[id]?.phase = .ready
        processes[id]?.lastHeard = now
        tell("", &actions)
        sendWaiting(now: now, &actions)
    }

    /// A process has answered a ping.
    package mutating func ponged(_ id: ProcessID, now: Milliseconds) {
        processes[id]?.lastHeard = now
        processes[id]?.pingedAt = nil
        processes[id]?.isDoubted = false
    }

    /// A process is gone.
    package mutating func ended(_ id: ProcessID, now: Milliseconds, _ actions: inout [Action]) {
        guard let process = processes.removeValue(forKey: id) else { return }
        if process.phase == .loading {
            tell("The process of the cloud code ends before it has loaded it; the log says why.", &actions)
        }
        for run in process.runs.sorted() {
            finish(run, Self.died, &actions)
        }
        if slots[process.slot].process == id { replace(process, now: now, &actions) }
    }

    /// The slot of a process that is gone, or will be, gets another one.
    private mutating func replace(_ process: Process, now: Milliseconds, _ actions: inout [Action]) {
        let slot = process.slot
        slots[slot].process = nil
        let lived = process.phase == .loading ? 0 : now - process.startedAt
        guard lived < Self.stableAfter else {
            slots[slot].failures = 0
            return start(slot, now: now, &actions)
        }
        // Past seven the pause is the longest anyway.
        let pause = Self.backOff.lowerBound << min(slots[slot].failures, 7)
        slots[slot].failures += 1
        slots[slot].startAt = now + min(pause, Self.backOff.upperBound)
    }

    /// Kills a process, whose end `ended` tells.
    private mutating func end(_ id: ProcessID, _ actions: inout [Action]) {
        guard let phase = processes[id]?.phase, phase != .ending else { return }
        processes[id]?.phase = .ending
        actions.append(.kill(id))
    }

    /// A call took too long. A process that stands still is ended; whether it does, it is asked unless that is known.
    private mutating func doubt(_ id: ProcessID, now: Milliseconds, _ actions: inout [Action]) {
        guard let process = processes[id], process.phase == .ready || process.phase == .retiring else { return }
        processes[id]?.isDoubted = true
        processes[id]?.late += 1
        if process.isSilent(for: Self.graceMax, now: now) { return end(id, &actions) }
        if process.pingedAt == nil { ping(id, now: now, &actions) }
        if process.phase == .ready, process.late + 1 >= Self.lateMax {
            // It takes no other call, and another process takes its place.
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
        // One that works is enough.
        if !text.isEmpty, processes.contains(where: { $0.value.phase == .ready }) { return }
        problem = text
        actions.append(.problem(text))
        if !text.isEmpty { refuseWaiting(&actions) }
    }

    // MARK: Calls

    /// A call, by a number that no other has.
    /// - Parameters:
    ///   - deadline: the time at which it is ended, wherever it is.
    ///   - limit: how long the code may take. It counts from the moment at which a process gets the call: one that came
    ///     while the code was being loaded has its time as any other.
    ///   - isNested: it is made inside of another call, which waits for it and so must not keep it from its turn.
    package mutating func call(
        _ id: RunID, deadline: Milliseconds, limit: Milliseconds? = nil, isNested: Bool, now: Milliseconds,
        _ actions: inout [Action]
    ) {
        runs[id] = Run(deadline: deadline, limit: limit, isNested: isNested)
        if isStopped { return finish(id, .notRun("The cloud service is stopping."), &actions) }
        if let process = process(isNested: isNested, now: now) { return send(id, to: process, now: now, &actions) }
        if !problem.isEmpty {
            finish(id, .ended(problem), &actions)
        } else if waiting.count >= Self.waitingMax {
            finish(id, .notRun("The cloud code has too much to do; try again."), &actions)
        } else {
            waiting.insert(id, at: isNested ? 0 : waiting.count)
        }
    }

    /// The time at which a call is ended: with `limit` another one once a process has it. Nil for one that has ended.
    package func deadline(of id: RunID) -> Milliseconds? { runs[id]?.deadline }

    /// The outcome of a call; one that was ended before is not looked for any more.
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

    /// Nobody waits for a call any more: it is ended, wherever it is.
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
            process.phase == .ready && !process.isDoubted && (isNested || process.runs.count < Self.runsMax)
        }
        .min { rank($0.key, $0.value) < rank($1.key, $1.value) }?.key
    }

    private mutating func send(
        _ id: RunID, to process: ProcessID, now: Milliseconds, _ actions: inout [Action]
    ) {
        if processes[process]?.runs.isEmpty == true { processes[process]?.lastHeard = now }
        processes[process]?.runs.insert(id)
        runs[id]?.process = process
        if let run = runs[id], let limit = run.limit { runs[id]?.deadline = min(run.deadline, now + limit) }
        actions.append(.send(id, to: process))
    }

    private mutating func sendWaiting(now: Milliseconds, _ actions: inout [Action]) {
        while let id = waiting.first, let run = runs[id] {
            guard let process = process(isNested: run.isNested, now: now) else { return }
            waiting.removeFirst()
            send(id, to: process, now: now, &actions)
        }
    }

    private mutating func refuseWaiting(_ actions: inout [Action]) {
        for id in waiting { finish(id, .ended(problem), &actions) }
        waiting = []
    }

    private mutating func finish(_ id: RunID, _ outcome: RunOutcome, _ actions: inout [Action]) {
        guard runs.removeValue(forKey: id) != nil else { return }
        actions.append(.finish(id, outcome))
    }

    // MARK: Time

    /// Ends what takes too long and starts what is due. To be called several times a second while `isWatching`.
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
        // One that was doubted may have answered.
        sendWaiting(now: now, &actions)
    }

    private mutating func watch(
        _ id: ProcessID, _ process: Process, now: Milliseconds, _ actions: inout [Action]
    ) {
        guard process.pingedAt == nil else {
            if process.isDoubted, process.isSilent(for: Self.graceMax, now: now) { end(id, &actions) }
            return
        }
        if !process.runs.isEmpty, now - process.lastHeard >= Self.pingAfter { ping(id, now: now, &actions) }
    }

    /// Ends everything. A call that a process has was begun, so that nobody may hear that it was not.
    package mutating func stop(_ actions: inout [Action]) {
        isStopped = true
        for (id, run) in runs.sorted(by: { $0.key < $1.key }) {
            finish(id, run.process == nil ? .notRun("The cloud service is stopping.") : Self.died, &actions)
        }
        waiting = []
        for id in processes.keys.sorted() { end(id, &actions) }
    }
}

/// The outcome of a call.
package enum RunOutcome: Equatable, Sendable {
    /// The result, as JSON.
    case result([UInt8])
    case failed(CodeFailure)
    /// It was begun, or cannot be, and nobody knows how far it came: a text for the client.
    case ended(String)
    /// It was certainly not begun: a text for the client, who may try again.
    case notRun(String)
}
