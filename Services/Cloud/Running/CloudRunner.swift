import Foundation
import Logging
import MessageBus
import Messages
import ParseProtocol
import ProcessKit
import ServiceKit
import Synchronization

/// Passes calls from the bus to the pool, the code's own requests from the pool to the gateway, and the code's
/// definitions to the catalog.
final class CloudRunner: Sendable {
    /// Runs in the writer while definitions must be sent to the catalog.
    let publishing: BackgroundWork

    private let host: ServiceHost
    /// The settings, with the code folder at start.
    private let configuration: CloudConfiguration
    /// The version that gets the calls.
    private let running: Mutex<CodeVersion>
    /// The versions beside the current one: one on trial, and replaced ones with running calls.
    private let beside = Mutex<[CodeVersion]>([])
    /// Whether another version is on trial.
    private let isTaking = Atomic(false)
    private let registration: CodeRegistration
    private let jobs: CodeJobs
    /// Nil when the code has full network access, or none.
    private let proxy: CodeProxy?
    private let isProxied = Atomic(false)

    /// Time for the answer to reach the caller before the caller's own timeout.
    private static let margin: BusClock.Milliseconds = 250
    /// Maximum wait for a free process, for example while a version is being loaded. The code's time limit starts after
    /// the wait. If the wait counted, a trigger and its operation could fail before the code even ran.
    private static let turnMax = Duration.seconds(15)
    /// Timeout of requests outside of any call.
    private static let ownLimit = Duration.seconds(10)
    /// Timeout of a job's requests: as long as the longest function limit.
    private static let longestLimit = Duration.seconds(25)
    /// Time to load a version on trial: the operator who deployed it waits.
    private static let loadMax = Duration.seconds(8)
    /// Time for the calls of a replaced version to end.
    private static let retireMax = Duration.seconds(8)

    init(host: ServiceHost, configuration: CloudConfiguration) throws {
        self.host = host
        self.configuration = configuration
        let code = try CodeVersion(configuration, logger: host.logger)
        running = Mutex(code)
        jobs = CodeJobs(pool: code.pool, limit: configuration.jobLimit)
        proxy = configuration.allowedHosts.map { CodeProxy(allowed: $0, logger: host.logger) }
        let registration = CodeRegistration { [store = host.store] in store.role == .writer }
        self.registration = registration
        publishing = BackgroundWork(
            "definitions", every: .seconds(3600), problem: "The cloud code could not be registered.",
            logger: host.logger
        ) { [host] in try await registration.round(host, for: nil) }
        host.whenStopping { [jobs] _ in jobs.stop() }
        // Reported until the first process has loaded the code. Set before the start, so that scripts/restart never
        // sees this replica as ready without its code.
        if configuration.hasCode { registration.report(CodeRegistration.loading, to: host.bus) }
    }

    /// Starts the code, if there is any.
    /// - Throws: when the proxy's socket cannot be created.
    func begin() async throws {
        let code = current
        guard configuration.hasCode else {
            code.pool.close()
            publish(CodeDefinitions())
            // Late calls are refused here instead of by replicas that still have code.
            return host.bus.setEdition(code.edition)
        }
        try await startProxy()
        host.logger.notice("Starting cloud code.", metadata: ["code.folder": "\(configuration.folder)"])
        start(code, trial: nil)
    }

    /// Started before the sandboxes, which mount its socket.
    /// - Throws: when the socket cannot be created.
    private func startProxy() async throws {
        guard let proxy, !isProxied.load(ordering: .acquiring) else { return }
        try await proxy.start(path: configuration.proxySocket)
        isProxied.store(true, ordering: .releasing)
    }

    private var current: CodeVersion { running.withLock(\.self) }

    /// Starts the processes of a version. They report to `trial` until the version becomes the current one.
    private func start(_ code: CodeVersion, trial: CodeTrial?) {
        logWithheldVariables(of: code.configuration)
        code.pool.start(
            .init(
                loaded: { [self] known in
                    code.limit(by: known.rateLimits)
                    if current === code { loaded(known.definitions) } else { trial?.loaded(known.definitions) }
                },
                asked: { [self] in ask($0, of: code.pool) },
                problem: { [self] problem in
                    if current === code {
                        registration.report(problem, to: host.bus)
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

    /// Logs the names of variables that the code mentions but does not get.
    private func logWithheldVariables(of configuration: CloudConfiguration) {
        Task.detached(priority: .background) { [logger = host.logger] in
            let names = configuration.environment.missed(byCodeIn: configuration.folder)
            guard !names.isEmpty else { return }
            logger.warning(
                "The cloud code mentions environment variables that it does not get. SATCHEL_CLOUD_ENV passes them.",
                metadata: [
                    "code.folder": "\(configuration.folder)", "code.variables": "\(names.joined(separator: ","))",
                ])
        }
    }

    // MARK: Another version

    /// Whether the version in a folder is the current one.
    func runs(_ folder: String) -> Bool { current.configuration.folder == configuration.with(folder: folder).folder }

    /// Loads another version beside the current one, then switches calls to it. Running calls continue in the old
    /// processes for a few seconds; jobs end.
    /// - Parameters:
    ///   - folder: the version's folder.
    ///   - settle: called when the version has loaded, before it gets calls; if it throws, the old version stays.
    /// - Returns: the code's definitions.
    /// - Throws: `.scriptFailed` (141) when the version does not load; `.serviceUnavailable` (2) while another one is
    ///   on trial. The old version then continues.
    @discardableResult
    func take(_ folder: String, settle: () throws -> Void = {}) async throws -> CodeDefinitions {
        guard !isTaking.exchange(true, ordering: .acquiringAndReleasing) else {
            throw ParseError(.serviceUnavailable, "Another version of the cloud code is being taken.")
        }
        defer { isTaking.store(false, ordering: .releasing) }
        let code = try CodeVersion(configuration.with(folder: folder), logger: host.logger)
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

    /// Registers the code's definitions with the catalog, if they changed.
    /// - Throws: when the catalog is unavailable. The background work `publishing` then repeats the registration.
    func tell(for request: ServiceRequest) async throws { _ = try await registration.round(host, for: request) }

    /// Ends the processes of the code and all programs that they started. The processes would end with this process,
    /// but the programs would continue.
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
        // All processes report the same definitions.
        let isNew = publish(known)
        registration.report("", to: host.bus)
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
        guard registration.set(definitions) else { return false }
        publishing.wake()
        return true
    }

    // MARK: Calls

    /// Passes a call to the pool, whose thread answers it.
    /// - Parameter completion: gets `.serviceUnavailable` (2) when the call was certainly not started; every other
    ///   result is an outcome.
    /// - Throws: `.invalidJSON` (107); `.connectionFailed` (100) when a rate limit of the code refuses the call.
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
        run.trace = request.trace.context
        let principal = request.envelope.principal
        run.network = principal.network
        run.share = principal.fairnessKey == 0 ? nil : ClientNetwork(principal.network)
        run.budget = request.budget
        let code = running.withLock { code in
            // Within the lock, so that a version that is being replaced waits for this call.
            code.enter()
            return code
        }
        do throws(ParseError) {
            try code.admit(.init(message, principal, text: text))
        } catch {
            code.leave()
            throw error
        }
        code.run(run) { [kind = message.kind] outcome in
            Metric.codeCalls.count(("kind", kind), ("outcome", outcome.name))
            completion(Result { try BusReply(CodeOutcome(), documents: [Self.document(of: outcome)]) })
        }
    }

    /// - Throws: `.operationForbidden` (119) for callers other than the suite itself, `.invalidJSON` (107),
    ///   `.serviceUnavailable` (2) when the job was certainly not started.
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
                answer = try await asked(ask)
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
        var request = try BusRequest(CloudCalls.ask, message, for: nil, timeout: Self.ownLimit)
        // A request that a finished call left behind gets the timeout of a request outside of calls.
        if let run = ask.run, run.deadline > BusClock.now {
            request.deadline = min(run.deadline, BusClock.now + Self.longestLimit.milliseconds)
        }
        // The request may change anything. It has no key, so that the bus never repeats it at another gateway.
        request.writes = true
        request.documents = [ask.text]
        request.principal.network = ask.run?.network ?? ""
        request.traceId = ask.run?.traceId ?? ""
        request.trace = ask.run?.trace
        request.budget = ask.run?.budget
        let reply = try await host.bus.call(request)
        guard let answer = reply.documents.first else { throw ParseError.internalError }
        return answer
    }
}
