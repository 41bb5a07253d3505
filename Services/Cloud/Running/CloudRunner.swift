import Foundation
import Logging
import MessageBus
import Messages
import ParseProtocol
import ProcessKit
import ServiceKit
import Synchronization

/// The service's work: calls from the bus to the pool, the code's own requests from the pool to the gateway, and what
/// the code defines to the catalog.
final class CloudRunner: Sendable {
    /// Runs in the writer while something is to be told to the catalog.
    let publishing: BackgroundWork

    private let host: ServiceHost
    /// The settings; its folder is the one that the code had at the start.
    private let configuration: CloudConfiguration
    /// The version that gets the calls.
    private let running: Mutex<RunningCode>
    /// Versions beside it: one that is being tried, and those whose last calls are under way.
    private let beside = Mutex<[RunningCode]>([])
    /// Whether another version is being tried.
    private let isTaking = Atomic(false)
    private let standing: CodeStanding
    private let jobs: CodeJobs
    /// Nil where the code has the network, or none.
    private let proxy: CodeProxy?
    private let isProxied = Atomic(false)

    /// What a caller needs to hear of the end of a call before it gives up itself.
    private static let margin: BusClock.Milliseconds = 250
    /// For a process, such as one of a version that is still being loaded, and then for the code. A trigger must not
    /// fail by the wait alone, and with it the call that it belongs to.
    private static let turnMax = Duration.seconds(15)
    /// For what code asks outside of any call.
    private static let ownLimit = Duration.seconds(10)
    /// For what a job asks: no function may take longer, so that nothing that they ask does.
    private static let longestLimit = Duration.seconds(25)
    /// For a version to load beside the one that runs: whoever brought it waits.
    private static let loadMax = Duration.seconds(8)
    /// For the calls of a version that another one has replaced.
    private static let retireMax = Duration.seconds(8)

    init(host: ServiceHost, configuration: CloudConfiguration) throws {
        self.host = host
        self.configuration = configuration
        let code = try RunningCode(configuration, logger: host.logger)
        running = Mutex(code)
        jobs = CodeJobs(pool: code.pool, limit: configuration.jobLimit)
        proxy = configuration.allowedHosts.map { CodeProxy(allowed: $0, logger: host.logger) }
        let standing = CodeStanding()
        self.standing = standing
        publishing = BackgroundWork(
            "definitions", every: .seconds(3600), problem: "What the cloud code defines could not be told.",
            logger: host.logger
        ) { [host] in try await standing.round(host) }
        host.whenStopping { [jobs] _ in jobs.stop() }
        // Until the first process has loaded it; said before the start, so that whoever restarts replicas never sees
        // this one without it (scripts/restart).
        if configuration.hasCode { standing.say(CodeStanding.loading, to: host.bus) }
    }

    /// Starts the code, when there is any.
    /// - Throws: when there is no place for the proxy's socket.
    func begin() async throws {
        let code = current
        guard configuration.hasCode else {
            code.pool.close()
            publish(CodeDefinitions())
            // Calls that come nevertheless are refused here, and not by replicas that still have code.
            return host.bus.setEdition(code.edition)
        }
        try await startProxy()
        host.logger.notice("Starting cloud code.", metadata: ["code.folder": "\(configuration.folder)"])
        start(code, trial: nil)
    }

    /// Sandboxes are made with its socket in them.
    /// - Throws: when there is no place for it.
    private func startProxy() async throws {
        guard let proxy, !isProxied.load(ordering: .acquiring) else { return }
        try await proxy.start(path: configuration.proxySocket)
        isProxied.store(true, ordering: .releasing)
    }

    private var current: RunningCode { running.withLock(\.self) }

    /// Starts the processes of a version, which tell the trial of themselves until the version is the one that runs.
    private func start(_ code: RunningCode, trial: CodeTrial?) {
        code.pool.start(
            .init(
                loaded: { [self] definitions in
                    if current === code { loaded(definitions) } else { trial?.loaded(definitions) }
                },
                asked: { [self] in ask($0, of: code.pool) },
                problem: { [self] problem in
                    if current === code {
                        standing.say(problem, to: host.bus)
                    } else if !problem.isEmpty {
                        trial?.failed(problem)
                    }
                },
                ready: { [self] isReady in
                    if current === code {
                        host.bus.setEdition(isReady ? code.edition : 0)
                    } else if isReady {
                        trial?.isReady()
                    }
                }))
    }

    // MARK: Another version

    /// Whether the version in a folder is the one that runs.
    func runs(_ folder: String) -> Bool { current.configuration.folder == configuration.with(folder: folder).folder }

    /// Loads another version beside the one that runs, and gives it the calls from then on. Those that are under way go
    /// on in the old processes for some seconds; jobs end.
    /// - Parameters:
    ///   - folder: the version's.
    ///   - settle: done when it loads, before it gets calls; what it throws keeps the old one.
    /// - Returns: what the code defines.
    /// - Throws: `.scriptFailed` (141) when it does not load; `.serviceUnavailable` (2) while another one is tried.
    ///   Then the old one runs as before.
    @discardableResult
    func take(_ folder: String, settle: () throws -> Void = {}) async throws -> CodeDefinitions {
        guard !isTaking.exchange(true, ordering: .acquiringAndReleasing) else {
            throw ParseError(.serviceUnavailable, "Another version of the cloud code is being taken.")
        }
        defer { isTaking.store(false, ordering: .releasing) }
        let code = try RunningCode(configuration.with(folder: folder), logger: host.logger)
        guard code.configuration.hasCode else { throw ParseError(.scriptFailed, "There is no main.js.") }
        try await startProxy()
        let trial = CodeTrial()
        beside.withLock { $0.append(code) }
        start(code, trial: trial)
        let definitions: CodeDefinitions
        do {
            switch await trial.outcome(within: Self.loadMax) {
            case .failed(let problem): throw ParseError(.scriptFailed, problem)
            case .loaded(let known): definitions = known
            }
            try settle()
        } catch {
            await code.pool.stop(within: .seconds(2))
            beside.withLock { $0.removeAll { $0 === code } }
            throw error
        }
        let old = running.withLock { running in
            defer { running = code }
            return running
        }
        beside.withLock { $0 = $0.filter { $0 !== code } + [old] }
        jobs.move(to: code.pool)
        host.bus.setEdition(code.edition)
        loaded(definitions)
        Task {
            await old.retire(within: Self.retireMax)
            beside.withLock { $0.removeAll { $0 === old } }
        }
        return definitions
    }

    /// Tells the catalog what the code defines, if it does not know.
    /// - Throws: when it cannot be told now; it is told as soon as it can.
    func tell() async throws { _ = try await standing.round(host) }

    /// Ends the processes of the code with all that they started: by the end of this process alone they would end
    /// themselves, but what they started would go on.
    func end(within limit: Duration) async {
        let all = beside.withLock { $0 } + [current]
        for code in all { code.pool.stop() }
        for code in all { await code.pool.stop(within: limit) }
        // In containers each process has another name, and so another socket.
        if proxy != nil { try? FileManager.default.removeItem(atPath: configuration.proxySocket) }
    }

    // MARK: What the code defines

    private func loaded(_ definitions: CodeDefinitions) {
        var known = definitions
        known.triggers = definitions.triggers.filter(\.isCalledOfCode)
        // Each process says the same.
        let isNew = publish(known)
        standing.say("", to: host.bus)
        guard isNew else { return }
        host.logger.notice(
            "Cloud code is loaded.",
            metadata: [
                "code.functions": "\(known.functions.count)", "code.triggers": "\(known.triggers.count)",
                "code.jobs": "\(known.jobs.count)",
            ])
        for trigger in definitions.triggers where !trigger.isCalledOfCode {
            host.logger.warning(
                "A trigger of the cloud code is never called: Satchel has none of the kind yet.",
                metadata: ["code.trigger": "\(trigger.triggerName)", "code.class": "\(trigger.className)"])
        }
    }

    @discardableResult
    private func publish(_ definitions: CodeDefinitions) -> Bool {
        guard standing.set(definitions) else { return false }
        publishing.wake()
        return true
    }

    // MARK: Calls

    /// Hands a call to the pool, whose thread answers it.
    /// - Parameter completion: hears `.serviceUnavailable` (2) for what was certainly not begun. Everything else is an
    ///   outcome.
    /// - Throws: `.invalidJSON` (107).
    func run(
        _ message: RunCode, _ request: ServiceRequest,
        completion: @escaping ServiceRoutes.Completion
    ) throws {
        let limit = message.kind == "function" ? configuration.functionLimit : configuration.triggerLimit
        guard let text = request.documents.first, ["function", "trigger"].contains(message.kind) else {
            throw ParseError(.invalidJSON, "The call of cloud code cannot be read.")
        }
        var run = CodeRun(
            name: message.className.isEmpty ? message.name : "\(message.name) \(message.className)",
            depth: Int(message.depth), text: text,
            deadline: min(
                BusClock.now + max(limit, Self.turnMax).milliseconds, request.envelope.deadline - Self.margin))
        run.limit = limit.milliseconds
        run.traceId = request.envelope.traceID
        run.network = request.envelope.principal.network
        run.budget = RequestBudget.current
        let code = running.withLock { code in
            // Within the lock: a version that is replaced waits for it.
            code.enter()
            return code
        }
        code.run(run) { outcome in
            completion(Result { try BusReply(CodeOutcome(), documents: [Self.document(of: outcome)]) })
        }
    }

    /// - Throws: `.operationForbidden` (119) for anybody but the suite itself, `.invalidJSON` (107),
    ///   `.serviceUnavailable` (2) for what was certainly not begun.
    func job(_ message: CodeJob, _ request: ServiceRequest) throws -> CodeJobState {
        try request.requireMaster()
        return try jobs.answer(message, parameters: message.begins ? try request.document() : nil)
    }

    /// - Throws: `.serviceUnavailable` (2).
    private static func document(of outcome: RunOutcome) throws(ParseError) -> [UInt8] {
        switch outcome {
        case .result([]): return Array("{}".utf8)
        case .result(let result): return Array(#"{"result":"#.utf8) + result + [UInt8(ascii: "}")]
        case .failed(let failure): return error(failure.code, failure.message)
        case .ended(let text): return error(ParseError.Code.scriptFailed.rawValue, text)
        case .notRun(let text): throw ParseError(.serviceUnavailable, text)
        }
    }

    private static func error(_ code: Int, _ message: String) -> [UInt8] {
        (["error": ["code": .int(Int64(code)), "message": .string(message)]] as JSON).serialized
    }

    // MARK: Requests of the code

    /// Called on the pool's thread.
    private func ask(_ ask: CodeAsk, of pool: NodePool) {
        Task {
            let answer: [UInt8]
            do {
                answer = try await RequestBudget.$current.withValue(ask.run?.budget) { try await asked(ask) }
            } catch let failure as BusFailure {
                answer = CodeAnswerText.text(of: ParseError(failure))
            } catch {
                answer = CodeAnswerText.text(of: .internalError)
            }
            pool.answer(ask, answer)
        }
    }

    private func asked(_ ask: CodeAsk) async throws -> [UInt8] {
        let message = CodeRequest.with { $0.depth = UInt32((ask.run?.depth ?? 0) + 1) }
        var request = try BusRequest(CloudCalls.ask, message, timeout: Self.ownLimit)
        // What a call left behind goes on after it, for as long as any other request.
        if let run = ask.run, run.deadline > BusClock.now {
            request.deadline = min(run.deadline, BusClock.now + Self.longestLimit.milliseconds)
        }
        // It may be a change of anything: without a key, so that no other gateway is asked once more.
        request.writes = true
        request.documents = [ask.text]
        request.principal.network = ask.run?.network ?? ""
        request.traceId = ask.run?.traceId ?? ""
        let reply = try await host.bus.call(request)
        guard let answer = reply.documents.first else { throw ParseError.internalError }
        return answer
    }
}
