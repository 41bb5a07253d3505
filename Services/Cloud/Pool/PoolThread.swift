import Foundation
import Glibc
import Logging
import MessageBus
import Messages
import ParseProtocol

/// Performs the decisions of `PoolMachine` on sockets and pipes. Its thread holds the pool's lock except while it
/// waits. During the wait, a thread that hands over a call can start the call itself.
final class PoolThread {
    /// The descriptors and the timeout for which the thread waits, without the lock.
    struct Wait {
        var polled: [pollfd]
        /// The processes of these sockets and pipes, in the order after the mailbox.
        fileprivate let ids: [PoolMachine.ProcessID]
        /// Milliseconds; -1 for no timeout.
        let timeout: Int32
    }

    private typealias ProcessID = PoolMachine.ProcessID
    private typealias RunID = PoolMachine.RunID

    private struct Child {
        let process: NodeProcess
        var frames = FrameReader()
        var lines = LineReader()
        var allowance = LogRateLimit()
    }

    private struct AskKey: Hashable {
        let process: ProcessID
        let run: RunID
    }

    private let mailbox: ThreadMailbox<NodePool.Work>
    private let configuration: CloudConfiguration
    private let events: NodePool.Events
    private let log: CodeLog
    private var machine: PoolMachine
    private var children: [ProcessID: Child] = [:]
    private var runs: [RunID: (run: CodeRun, completion: @Sendable (RunOutcome) -> Void)] = [:]
    private var ended = EndedRuns()
    private var asks = CodeRequestQueue<AskKey, CodeAsk>()
    private var actions: [PoolMachine.Action] = []
    private var lastRun: RunID = 0
    private var lastTick: BusClock.Milliseconds = 0
    private var isRunning = true
    private var takesJobs = true
    private var work: [NodePool.Work] = []
    private var lastCall: BusClock.Milliseconds = 0
    /// Whether the thread polls again without being woken.
    private var looksAgain = false
    /// The last reported readiness.
    private var reportedReady = false

    /// Milliseconds between calls of `tick` while they are needed.
    private static let tick: BusClock.Milliseconds = 50
    /// After a call the thread keeps polling for this many milliseconds, so that the next call need not wake it.
    private static let linger: BusClock.Milliseconds = 1000
    /// Reads of the pipe of an ended process: more than a pipe holds.
    private static let lastReadsMax = 4

    init(
        mailbox: ThreadMailbox<NodePool.Work>, configuration: CloudConfiguration, events: NodePool.Events,
        logger: Logger
    ) {
        self.mailbox = mailbox
        self.configuration = configuration
        self.events = events
        log = CodeLog(logger: logger)
        machine = PoolMachine(processes: configuration.processes)
    }

    /// Starts the processes. Call once, on the thread.
    func begin() -> Wait {
        machine.begin(now: BusClock.now, &actions)
        act()
        return nextWait()
    }

    /// Handles the result of a wait.
    /// - Returns: the next wait; nil at the end.
    func turn(after wait: Wait) -> Wait? {
        mailbox.awake()
        takeSockets(of: wait)
        let now = BusClock.now
        if now - lastTick >= Self.tick {
            lastTick = now
            machine.tick(now: now, &actions)
            for id in children.keys { logDroppedLines(by: id, now: now) }
        }
        act()
        guard isRunning || !children.isEmpty else {
            for case .run(_, let completion) in mailbox.close() { completion(NodePool.closed) }
            return nil
        }
        return nextWait()
    }

    /// Starts a call on a thread other than the pool's, while the pool's thread waits.
    /// - Returns: whether the pool's thread must be woken.
    func call(_ run: CodeRun, _ completion: @escaping @Sendable (RunOutcome) -> Void) -> Bool {
        perform(.run(run, completion))
        act()
        return !looksAgain || children.values.contains { $0.process.hasOutgoing }
    }

    private func perform(_ work: NodePool.Work) {
        switch work {
        case .run(let run, let completion):
            guard takesJobs || run.jobId.isEmpty else { return completion(Self.jobLost) }
            lastRun += 1
            runs[lastRun] = (run, completion)
            lastCall = BusClock.now
            machine.call(
                lastRun, deadline: run.deadline, limit: run.limit, isNested: run.depth > 0, from: run.share,
                now: lastCall, &actions)
        case .answer(let ask, let text): answer(ask, text)
        case .cancelJob(let job):
            guard let id = runs.first(where: { $0.value.run.jobId == job })?.key else { return }
            machine.cancel(id, .ended("The job was stopped."), now: BusClock.now, &actions)
        case .cancelJobs:
            takesJobs = false
            for id in runs.filter({ !$0.value.run.jobId.isEmpty }).keys.sorted() {
                machine.cancel(id, Self.jobLost, now: BusClock.now, &actions)
            }
        case .look: break
        case .stop:
            isRunning = false
            machine.stop(&actions)
        }
    }

    // MARK: Actions

    private func act() {
        // An action may cause further ones, such as the end of a process that cannot be started.
        while !actions.isEmpty {
            let current = actions
            actions = []
            for action in current { act(on: action) }
        }
    }

    private func act(on action: PoolMachine.Action) {
        switch action {
        case .start(let id): start(id)
        case .send(let id, let process):
            guard let text = runs[id]?.run.text else { return }
            if let deadline = machine.deadline(of: id) { runs[id]?.run.deadline = deadline }
            guard text.count <= FrameReader.textMax else {
                let failure = CodeFailure(message: "The call is larger than \(FrameReader.textMax) bytes.")
                return machine.answered(id, by: process, .failed(failure), now: BusClock.now, &actions)
            }
            send(FrameReader.frame("\"t\":\"run\",\"id\":\(id)", before: text), to: process)
        case .cancel(let id, let process):
            send(FrameReader.frame(Array("{\"t\":\"cancel\",\"id\":\(id)}".utf8)), to: process)
        case .ping(let process): send(Self.ping, to: process)
        case .kill(let id): children[id]?.process.kill()
        case .finish(let id, let outcome):
            guard let (run, completion) = runs.removeValue(forKey: id) else { return }
            ended.add(id, run)
            log.outcome(outcome, of: run)
            completion(outcome)
        case .problem(let text): events.problem(text)
        }
    }

    private func start(_ id: ProcessID) {
        do throws(NodeProcess.Failure) {
            children[id] = Child(
                process: try NodeProcess(configuration.command, environment: configuration.environment.passed))
            send(FrameReader.frame(configuration.load.serialized), to: id)
        } catch {
            log.cannotStart("\(error)")
            machine.ended(id, now: BusClock.now, &actions)
        }
    }

    /// A process that cannot be written to is ending; its socket reports that.
    private func send(_ frame: [UInt8], to id: ProcessID) {
        if children[id]?.process.send(frame) == false { children[id]?.process.kill() }
    }

    private func end(_ id: ProcessID) {
        guard var child = children.removeValue(forKey: id) else { return }
        let how = child.process.reap()
        // Its last output is in the pipe. A program that it started may write to the pipe forever.
        for _ in 0..<Self.lastReadsMax {
            guard child.process.output >= 0, let bytes = child.process.read(from: child.process.output), !bytes.isEmpty
            else { break }
            for line in child.lines.lines(in: bytes) { write(line, of: &child) }
        }
        if let line = child.lines.rest { write(line, of: &child) }
        if let dropped = child.allowance.takeDropped(now: BusClock.now, isEnd: true) {
            log.dropped(dropped, pid: child.process.pid)
        }
        if isRunning { log.processEnded(pid: child.process.pid, how: how) }
        asks.forget { $0.process == id }
        machine.ended(id, now: BusClock.now, &actions)
    }

    // MARK: Sockets

    /// Handles the mailbox and returns the next wait.
    private func nextWait() -> Wait {
        mailbox.drain(into: &work)
        for item in work { perform(item) }
        work.removeAll(keepingCapacity: true)
        act()
        if machine.isReady != reportedReady {
            reportedReady = machine.isReady
            events.ready(reportedReady)
        }
        var polled = [pollfd(fd: mailbox.wakeDescriptor, events: Int16(POLLIN), revents: 0)]
        let ids = children.keys.sorted()
        for id in ids {
            guard let process = children[id]?.process else { continue }
            let wanted = Int16(POLLIN) | (process.hasOutgoing ? Int16(POLLOUT) : 0)
            polled.append(pollfd(fd: process.socket, events: wanted, revents: 0))
            polled.append(pollfd(fd: process.output, events: Int16(POLLIN), revents: 0))
        }
        looksAgain =
            machine.isWatching || children.values.contains { $0.allowance.hasDropped }
            || BusClock.now - lastCall < Self.linger
        let timeout = mailbox.prepareToSleep() ? (looksAgain ? Int32(Self.tick) : -1) : 0
        return Wait(polled: polled, ids: ids, timeout: timeout)
    }

    private func takeSockets(of wait: Wait) {
        for (index, id) in wait.ids.enumerated() {
            let (socket, output) = (wait.polled[2 * index + 1].revents, wait.polled[2 * index + 2].revents)
            if output != 0 { readOutput(of: id) }
            if socket & Int16(POLLOUT) != 0, children[id]?.process.flush() == false { children[id]?.process.kill() }
            if socket & ~Int16(POLLOUT) != 0 { readMessages(of: id) }
        }
    }

    private func readOutput(of id: ProcessID) {
        guard let process = children[id]?.process, let bytes = process.read(from: process.output) else { return }
        // There is nothing more to poll for; the socket reports the end of the process.
        guard !bytes.isEmpty else { return process.closeOutput() }
        guard var child = children.removeValue(forKey: id) else { return }
        for line in child.lines.lines(in: bytes) { write(line, of: &child) }
        children[id] = child
    }

    private func write(_ line: String, of child: inout Child) {
        guard !line.isEmpty, child.allowance.admits(line.utf8.count, now: BusClock.now) else { return }
        log.output(line)
    }

    private func logDroppedLines(by id: ProcessID, now: BusClock.Milliseconds) {
        guard let child = children[id], child.allowance.hasDropped,
            let dropped = children[id]?.allowance.takeDropped(now: now)
        else { return }
        log.dropped(dropped, pid: child.process.pid)
    }

    private func readMessages(of id: ProcessID) {
        guard let process = children[id]?.process, let bytes = process.read(from: process.socket) else { return }
        guard !bytes.isEmpty else { return end(id) }
        children[id]?.frames.append(bytes)
        do {
            while let frame = try children[id]?.frames.next() { take(try NodeMessage(frame: frame), from: id) }
        } catch {
            log.malformed(pid: process.pid)
            end(id)
        }
    }

    private func take(_ message: NodeMessage, from id: ProcessID) {
        let now = BusClock.now
        switch message {
        case .loaded(let code, let problem):
            if let problem {
                log.cannotLoad(problem)
            } else {
                events.loaded(code)
            }
            machine.loaded(id, problem: problem?.message, now: now, &actions)
        case .done(let run, let result): machine.answered(run, by: id, .result(result), now: now, &actions)
        case .failed(let run, let failure): machine.answered(run, by: id, .failed(failure), now: now, &actions)
        case .ask(let number, let runId, let text):
            let run = runId.flatMap { runs[$0]?.run ?? ended[$0] }
            ask(CodeAsk(process: id, number: number, runId: runId ?? 0, run: run, text: text))
        case .log(let runId, let level, let text):
            guard children[id]?.allowance.admits(text.utf8.count, now: now) == true else { return }
            log.line(text, level: level, of: runId.flatMap { runs[$0]?.run ?? ended[$0] })
        case .unreadableAsk(let number, let runId):
            let run = runId.flatMap { runs[$0]?.run ?? ended[$0] }
            send(
                Self.unreadable, answering: CodeAsk(process: id, number: number, runId: runId ?? 0, run: run, text: []))
        case .unreadableLine: break
        case .pong: machine.ponged(id, now: now)
        case .progress(let run, let text): runs[run]?.run.onProgress?(text)
        }
    }

    // MARK: Requests of the code

    private func ask(_ ask: CodeAsk) {
        switch asks.add(ask, bytes: ask.text.count, of: AskKey(process: ask.process, run: ask.runId)) {
        case .send: events.asked(ask)
        case .wait: break
        case .refuse: send(Self.tooMany, answering: ask)
        }
    }

    private func answer(_ ask: CodeAsk, _ text: [UInt8]) {
        send(text, answering: ask)
        if let next = asks.answered(of: AskKey(process: ask.process, run: ask.runId)) { events.asked(next) }
    }

    private func send(_ text: [UInt8], answering ask: CodeAsk) {
        let text = text.count <= FrameReader.textMax ? text : Self.tooLarge
        send(FrameReader.frame("\"t\":\"answer\",\"ask\":\(ask.number)", before: text), to: ask.process)
    }

    private static let jobLost = RunOutcome.ended("The process of the cloud code ended before the job did.")
    private static let ping = FrameReader.frame(Array(#"{"t":"ping"}"#.utf8))
    private static let tooLarge = CodeAnswerText.text(
        of: ParseError(.objectTooLarge, "The answer exceeds the size limit of cloud code."))
    private static let unreadable = CodeAnswerText.text(
        of: ParseError(.invalidJSON, "The request is nested too deep, has too many values or is not JSON."))
    private static let tooMany = CodeAnswerText.text(
        of: .tooManyRequests("The code makes too many requests at once.", retryAfterSeconds: 1))
}

/// The calls that ended last. Code may continue after its answer, and its requests are still charged to that call.
package struct EndedRuns {
    private static let countMax = 256
    private var runs: [PoolMachine.RunID: CodeRun] = [:]
    private var order: [PoolMachine.RunID] = []

    package init() {}

    package subscript(_ id: PoolMachine.RunID) -> CodeRun? { runs[id] }

    /// Keeps a run without its text, which may have megabytes.
    package mutating func add(_ id: PoolMachine.RunID, _ run: CodeRun) {
        var run = run
        run.text = []
        runs[id] = run
        order.append(id)
        if order.count > Self.countMax { runs[order.removeFirst()] = nil }
    }
}
