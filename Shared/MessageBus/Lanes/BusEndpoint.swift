import CZeroMQ
import Logging
import Messages
import ParseProtocol
import Synchronization

/// A service's end of the bus: a few lanes to each gateway, which receive requests and carry calls to other services.
///
/// The list of gateways may change at run time. Lanes to new gateways are started. Lanes to removed gateways end when
/// their requests and calls have ended.
public final class BusEndpoint: Sendable {
    private struct State {
        /// The first message of each lane.
        var hello: Hello
        var links: [GatewayLink] = []
        var lastLink = 0
        var watch: GatewayListWatch
        /// Required to start lanes; nil before the start and after the end.
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
    /// Carries the calls instead of gateways, in a simulation.
    private let carrier: Carrier?
    /// Nil for a service whose state gateways do not cache.
    private let news: InvalidationSender?
    private let state: Mutex<State>

    /// Sends a request, and calls `answer` at most once.
    public typealias Carrier =
        @Sendable (_ request: BusMessage, _ answer: @escaping @Sendable (Result<BusReply, BusFailure>) -> Void) -> Void

    /// Time for a removed gateway's pending requests.
    private static let endingMax = Duration.seconds(10)
    /// Time for gateways to request leases before another gateway is connected.
    private static let leasesMax = Duration.seconds(10)

    /// - Parameters:
    ///   - replica: name of this process, unique in the suite.
    ///   - laneCount: sockets and threads per gateway, 1 to 16.
    ///   - keepsBoard: whether this process, as the writer, has a board for `setWriter`.
    ///   - carrier: carries the calls of an endpoint without gateways, in a simulation.
    public init(
        configuration: BusConfiguration, service: String, replica: String, release: String, laneCount: Int,
        keepsBoard: Bool = false, carrier: Carrier? = nil, logger: Logger
    ) throws {
        self.configuration = configuration
        self.carrier = carrier
        self.laneCount = max(1, min(laneCount, 16))
        self.logger = logger
        // Created before the list is read for the first time, so that no change is missed.
        let watch = GatewayListWatch(configuration.gateways)
        let endpoints = carrier == nil ? configuration.gateways.current : []
        news = LeaseTerms.services.contains(service) ? InvalidationSender(isOn: endpoints.count > 1) : nil
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

    /// Connects all lanes. `makeHandler` runs on the lane's thread, also later for a new gateway.
    public func start(makeHandler: @escaping @Sendable (_ lane: Int) throws -> any LaneHandler) async throws {
        if let file = configuration.faults {
            logger.warning(
                "SATCHEL_TEST_BUS_FAULTS is set: the file may lose messages. Unset it outside tests.",
                metadata: ["bus.faults": "\(file)"])
        }
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

    /// Announces to the gateways whether this process holds the writer's lock.
    /// - Parameter board: the identity of its board of changes (`ChangeBoard`); 0 for none.
    public func setWriter(_ isWriter: Bool, board: UInt64 = 0) {
        let term = isWriter ? UInt64.random(in: 1 ... .max) : 0
        // Must precede the announcement, after which changes may arrive.
        if isWriter { news?.begin(term: term) }
        say(.setWriter(isWriter, board: board, term: term)) {
            $0.writer = isWriter
            $0.board = board
            $0.term = term
        }
    }

    /// Announces that this process, as the writer, has another board; 0 for none.
    public func setBoard(_ board: UInt64) {
        let isKnown = state.withLock { $0.hello.board == board || !$0.hello.writer }
        if !isKnown { say(.setBoard(board)) { $0.board = board } }
    }

    /// For a process that writes beside the leader and whose changes cause invalidations. While it does not lead, a
    /// reply with an invalidation is held until the leader has notified all gateways.
    /// - Parameter call: the call that asks the leader to do so.
    public func notifyGateways(by call: Call<Forget, Accepted>) {
        news?.tell { [calls] forget, completion in
            guard var request = try? BusRequest(call, forget) else { return completion(false) }
            request.principal.master = true
            request.writes = true
            // Repeatable: invalidating twice is harmless.
            request.idempotencyKey = "forget:\(UInt64.random(in: .min ... .max))"
            calls.call(BusMessage(envelope: request.envelope, body: request.body)) { result in
                if case .success = result { completion(true) } else { completion(false) }
            }
        }
    }

    /// Announces a fault of this process to the gateways; empty when there is none. Before the start, it becomes part
    /// of the first message.
    public func setProblem(_ problem: String) { say(.setProblem(problem)) { $0.problem = problem } }

    /// Announces the edition that this process runs and can write with (`Hello.edition`); 0 when it cannot write.
    public func setEdition(_ edition: UInt64) { say(.setEdition(edition)) { $0.edition = edition } }

    /// Announces a degradation of this process, which serves requests nevertheless; empty when there is none.
    public func setWarning(_ warning: String) { say(.setWarning(warning)) { $0.warning = warning } }

    /// Sends an announcement to the connected gateways, and keeps it for later ones.
    private func say(_ work: LaneLink.Work, _ change: (inout Hello) -> Void) {
        // Posted under the lock, so that concurrent announcements reach every lane in the same order.
        state.withLock { state in
            change(&state.hello)
            for link in state.links { link.post(work) }
        }
    }

    /// Stops new requests and waits until the gateways have confirmed it. After that no request arrives, and the
    /// gateways have every reply sent before. Running requests can still be answered, and calls of this process
    /// continue. A second call waits for the replies sent in between.
    ///
    /// While a gateway is connected, this method does not wait for disconnected ones.
    /// - Parameter limit: longest wait for gateways that do not answer.
    /// - Returns: whether all awaited gateways have confirmed.
    @discardableResult
    public func leave(within limit: Duration) async -> Bool {
        // No lease may be granted from now on: the next writer counts from the time at which it gets the lock.
        news?.close()
        let end = ContinuousClock.now + limit
        let links = state.withLock { state in
            state.means = nil  // Without it, no lane to a new gateway is started.
            return state.links
        }
        let there = links.filter(\.isThere)
        for link in links where !there.isEmpty && !link.isThere { link.post(.leave(until: end) { _ in }) }
        return await withTaskGroup(of: Bool.self) { group in
            for link in there.isEmpty ? links : there { group.addTask { await link.leave(until: end) } }
            return await group.reduce(true) { $0 && $1 }
        }
    }

    /// Whether no reply is held for the notification of gateways.
    public var hasNotifiedGateways: Bool { !(news?.isWaiting ?? false) }

    /// Ends the lanes. From then on calls are refused, even if the endpoint never started.
    public func stop() {
        calls.stop()
        let links = state.withLock { state in
            state.means = nil
            state.isStopped = true
            return state.links
        }
        for link in links { link.stop() }
    }

    /// Sends a request to another service through a connected gateway, and waits for the reply. If the gateway goes
    /// away meanwhile, a read or a request with a key is sent through another one.
    /// - Throws: `BusFailure`, also when the deadline passes.
    public func call(_ request: BusRequest) async throws(BusFailure) -> BusReply {
        var traced = request
        let span = traced.beginSpan()
        let request = traced
        return try await request.budgeted {
            let message = BusMessage(envelope: request.envelope, body: request.body, documents: request.documents)
            let result: Result<BusReply, BusFailure> = await withCheckedContinuation { continuation in
                if let carrier { return carrier(message) { continuation.resume(returning: $0) } }
                calls.call(message) { continuation.resume(returning: $0) }
            }
            span?.end(isError: result.isFault)
            return result
        }
    }

    // MARK: Gateway list

    /// Checks for changes of the list. Each lane calls it about twice a second.
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
                // If the endpoint was stopped meanwhile, the new link must be stopped too.
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

    /// Called when there are several gateways: the connected ones must use leases before another gateway can cause a
    /// change.
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
