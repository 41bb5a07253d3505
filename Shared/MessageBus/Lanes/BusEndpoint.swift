import CZeroMQ
import Logging
import Messages
import Synchronization

/// A service's end of the bus: a few lanes to each gateway, which take requests and carry calls to other services.
///
/// The list of gateways may change while it runs: lanes to new ones begin, and those to vanished ones end when what is
/// under way has ended.
public final class BusEndpoint: Sendable {
    private struct State {
        /// What each lane says first.
        var hello: Hello
        var links: [GatewayLink] = []
        var lastLink = 0
        var watch: GatewayListWatch
        /// What lanes begin with; nil before the start and after the end.
        var means: Means?
        var isStopped = false
    }

    private struct Means {
        let context: ZeroMQContext
        let makeHandler: GatewayLink.MakeHandler
    }

    private let configuration: BusConfiguration
    private let laneCount: Int
    private let logger: Logger
    private let calls = CallTable()
    /// Nil for a service of which gateways keep nothing.
    private let news: GatewayNews?
    private let state: Mutex<State>

    /// Time for what a gateway is waiting for that is not in the list any more.
    private static let endingMax = Duration.seconds(10)
    /// Time for gateways to hear that there are several now, before another one is dialled.
    private static let leasesMax = Duration.seconds(10)

    /// - Parameters:
    ///   - replica: name of this process, unique in the suite.
    ///   - laneCount: sockets and threads to each gateway, 1 to 16.
    ///   - keepsBoard: whether this process, as the writer, has a board for `setWriter`.
    public init(
        configuration: BusConfiguration, service: String, replica: String, release: String, laneCount: Int,
        keepsBoard: Bool = false, logger: Logger
    ) throws {
        self.configuration = configuration
        self.laneCount = max(1, min(laneCount, 16))
        self.logger = logger
        // Before the list is read for the first time: a change in between is one.
        let watch = GatewayListWatch(configuration.gateways)
        let endpoints = configuration.gateways.current
        news = LeaseTerms.services.contains(service) ? GatewayNews(isOn: endpoints.count > 1) : nil
        let hello = Hello.with {
            $0.service = service
            $0.replica = replica
            $0.release = release
            $0.clock = keepsBoard ? BusClock.name : 0
        }
        var first = State(hello: hello, watch: watch)
        first.hello.leases = news != nil && endpoints.count > 1
        for endpoint in endpoints {
            first.lastLink += 1
            first.links.append(
                try GatewayLink(
                    endpoint, number: first.lastLink, laneCount: self.laneCount, calls: calls, news: news))
        }
        state = Mutex(first)
    }

    /// Connects every lane. `makeHandler` runs on the lane's thread, also later for a gateway that is new.
    public func start(makeHandler: @escaping @Sendable (_ lane: Int) throws -> any LaneHandler) async throws {
        let means = Means(context: try ZeroMQContext(), makeHandler: makeHandler)
        let (links, hello) = state.withLock { state in
            state.means = means
            return (state.links, state.hello)
        }
        for link in links { try await begin(link, hello, means) }
    }

    private func begin(_ link: GatewayLink, _ hello: Hello, _ means: Means) async throws {
        try await link.start(
            configuration, context: means.context, identity: "\(hello.replica)-\(UInt64.random(in: .min ... .max))",
            hello: hello, ticked: { [weak self] in self?.look() }, makeHandler: means.makeHandler, logger: logger)
    }

    /// Tells the gateways whether this process holds the writer's lock.
    /// - Parameter board: the board on which it says what it is about to change (`ChangeBoard`); 0 for none.
    public func setWriter(_ isWriter: Bool, board: UInt64 = 0) {
        let term = isWriter ? UInt64.random(in: 1 ... .max) : 0
        // Before anybody can send it a change.
        if isWriter { news?.begin(term: term) }
        say(.setWriter(isWriter, board: board, term: term)) {
            $0.writer = isWriter
            $0.board = board
            $0.term = term
        }
    }

    /// Tells the gateways that the board of this process, as the writer, is another one; 0 for none.
    public func setBoard(_ board: UInt64) {
        let isKnown = state.withLock { $0.hello.board == board || !$0.hello.writer }
        if !isKnown { say(.setBoard(board)) { $0.board = board } }
    }

    /// For a process that writes beside the one that leads, and of whose changes gateways must hear: while it does not
    /// lead, its replies with something to forget leave when the one that leads has told every gateway.
    /// - Parameter call: by which that one is asked to.
    public func tellGateways(by call: Call<Forget, Accepted>) {
        news?.tell { [calls] forget, completion in
            guard var request = try? BusRequest(call, forget) else { return completion(false) }
            request.principal.master = true
            request.writes = true
            // It may be repeated: what was forgotten is forgotten again.
            request.idempotencyKey = "forget:\(UInt64.random(in: .min ... .max))"
            calls.call(BusMessage(envelope: request.envelope, body: request.body)) { result in
                if case .success = result { completion(true) } else { completion(false) }
            }
        }
    }

    /// Tells the gateways what keeps this process from working as it should; empty when nothing does. Said before the
    /// start, it is what a gateway hears first.
    public func setProblem(_ problem: String) { say(.setProblem(problem)) { $0.problem = problem } }

    /// Tells the gateways what this process runs and can run now (`Hello.edition`); 0 when it is nothing.
    public func setEdition(_ edition: UInt64) { say(.setEdition(edition)) { $0.edition = edition } }

    /// Tells the gateways what is missing while this process serves all the same; empty when nothing is.
    public func setWarning(_ warning: String) { say(.setWarning(warning)) { $0.warning = warning } }

    /// Says it to those that are dialled, and to those that will be.
    private func say(_ work: LaneLink.Work, _ change: (inout Hello) -> Void) {
        // Under the lock: two that are said at once reach every lane in the same order.
        state.withLock { state in
            change(&state.hello)
            for link in state.links { link.post(work) }
        }
    }

    /// Asks for no more requests, and waits until the gateways have heard it: after that none comes, and they have
    /// every answer that was given before. Those under way can still be answered, and calls of our own go on. Done
    /// again, it waits for what was answered meanwhile.
    ///
    /// A gateway that is not there is not waited for while another one is.
    /// - Parameter limit: for gateways that do not answer.
    /// - Returns: whether those that are waited for have heard it.
    @discardableResult
    public func leave(within limit: Duration) async -> Bool {
        // The next writer counts from the moment at which it has the lock.
        news?.close()
        let end = ContinuousClock.now + limit
        let links = state.withLock { state in
            state.means = nil  // A gateway that comes now gets nothing of this process.
            return state.links
        }
        let there = links.filter(\.isThere)
        for link in links where !there.isEmpty && !link.isThere { link.post(.leave(until: end) { _ in }) }
        return await withTaskGroup(of: Bool.self) { group in
            for link in there.isEmpty ? links : there { group.addTask { await link.leave(until: end) } }
            return await group.reduce(true) { $0 && $1 }
        }
    }

    /// Whether every reply has left that gateways had to hear of first.
    public var hasToldGateways: Bool { !(news?.isWaiting ?? false) }

    /// Ends the lanes. Calls are refused from then on, also those of an endpoint that never started.
    public func stop() {
        calls.stop()
        let links = state.withLock { state in
            state.means = nil
            state.isStopped = true
            return state.links
        }
        for link in links { link.stop() }
    }

    /// Sends a request to another service by one of the gateways that are there, and waits for its answer. When the
    /// gateway goes away meanwhile, reads and requests with a key are sent by another one.
    /// - Throws: `BusFailure`, also when the deadline passes.
    public func call(_ request: BusRequest) async throws(BusFailure) -> BusReply {
        try await request.budgeted { request in
            let message = BusMessage(envelope: request.envelope, body: request.body, documents: request.documents)
            return await withCheckedContinuation { continuation in
                calls.call(message) { continuation.resume(returning: $0) }
            }
        }
    }

    // MARK: The list

    /// Looks whether there are other gateways now. Called by lanes, about twice a second by each.
    private func look() {
        calls.tick()
        let hasChanged = state.withLock { $0.means != nil && $0.watch.hasChanged(now: BusClock.now) }
        if hasChanged { Task { await self.followList() } }
    }

    private func followList() async {
        let wanted = configuration.gateways.current.filter { endpoint in
            do {
                try BusConfiguration.check(endpoint, keys: configuration.keys)
                return true
            } catch {
                logger.error("A gateway in the list cannot be dialled.", metadata: ["problem": "\(error)"])
                return false
            }
        }
        guard !wanted.isEmpty else { return }
        if wanted.count > 1 { await beginLeases() }
        do {
            let (new, vanished) = try change(to: wanted)
            for (link, hello, means) in new {
                logger.notice("Dials a gateway.", metadata: ["bus.endpoint": "\(link.endpoint)"])
                try await begin(link, hello, means)
                // Ended meanwhile, it would otherwise begin for ever.
                if state.withLock({ $0.isStopped }) { link.stop() }
            }
            await withTaskGroup { group in
                for link in vanished {
                    logger.notice("Leaves a gateway.", metadata: ["bus.endpoint": "\(link.endpoint)"])
                    group.addTask { await link.end(within: Self.endingMax) }
                }
            }
        } catch {
            logger.error("A gateway cannot be dialled.", metadata: ["error": "\(error)"])
        }
    }

    /// There are several gateways from now on: those that are there believe what they keep under leases, before another
    /// one can change anything.
    private func beginLeases() async {
        guard let news, !state.withLock({ $0.hello.leases }) else { return }
        news.turnOn()
        say(.setLeases) { $0.leases = true }
        let (links, writes) = state.withLock { ($0.links, $0.hello.writer) }
        let end = ContinuousClock.now + Self.leasesMax
        while writes, ContinuousClock.now < end, !links.allSatisfy({ !$0.isThere || $0.has(news.askers) }) {
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private typealias New = (link: GatewayLink, hello: Hello, means: Means)

    private func change(to wanted: [String]) throws -> (new: [New], vanished: [GatewayLink]) {
        try state.withLock { state in
            guard let means = state.means else { return ([], []) }
            let vanished = state.links.filter { !wanted.contains($0.endpoint) }
            state.links.removeAll { !wanted.contains($0.endpoint) }
            var new: [New] = []
            for endpoint in wanted where !state.links.contains(where: { $0.endpoint == endpoint }) {
                state.lastLink += 1
                let link = try GatewayLink(
                    endpoint, number: state.lastLink, laneCount: laneCount, calls: calls, news: news)
                state.links.append(link)
                new.append((link, state.hello, means))
            }
            return (new, vanished)
        }
    }
}
