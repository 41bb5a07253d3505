import Foundation
import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
import SwiftProtobuf
import Synchronization

/// The parts of a running service: its store, bus endpoint, outbox and background work. The service's build function
/// gets it and registers routes and background work with it.
public final class ServiceHost: Sendable {
    /// The service's name, classes, rules and tables.
    public let plan: ServicePlan
    /// The settings the process was started with.
    public let configuration: ServiceConfiguration
    /// The service's database.
    public let store: ClassStore
    /// Which replicas of the service write.
    public let writers: StoreWriters
    /// The service's endpoint of the bus, also for calls to other services.
    public let bus: BusEndpoint
    /// Messages that must reach other services, written in the transaction that causes them.
    public let outbox: Outbox
    /// The background work of the service.
    public let background = BackgroundGroup()
    /// The quotas and limits of clients.
    public let quotas: Quotas
    /// The warnings of the service's parts.
    public let warnings: ServiceWarnings
    /// Collects the replies to the writes of one commit.
    let replies: ReplyBatch
    /// The logger, which names the service.
    public let logger: Logger
    let hasLiveQueries: Bool
    private let startWorks = Mutex<[BackgroundWork]>([])
    private let stopActions = Mutex<[@Sendable (_ limit: Duration) async -> Void]>([])
    private let idleActions = Mutex<[@Sendable (_ limit: Duration) async -> Void]>([])
    private let storedWaits = Mutex<[StoredWaits]>([])
    private let openingLooks = Mutex<[@Sendable (_ reader: StoreReader) throws -> Void]>([])
    private let storedFigures = Mutex<[@Sendable (_ reader: StoreReader) throws -> [Figure]]>([])

    package convenience init(plan: ServicePlan, configuration: ServiceConfiguration, logger: Logger) throws {
        let quotas = try Quotas(configuration)
        let keepsBoard = try configuration.keepsBoard(plan)
        let replies = ReplyBatch()
        let store = try ClassStore(
            configuration.database(plan), classes: plan.classes, synchronous: plan.synchronous,
            writers: try configuration.writers(plan),
            allowClassCreation: plan.ownsUnknownClasses
                && (try configuration.settings.flag("satchel.allow.client.class.creation", default: true)),
            allowCustomObjectId: configuration.settings.flag("satchel.allow.custom.object.id", default: false),
            allowance: quotas, announcement: keepsBoard ? .kept : .retired,
            migrations: Self.migrations(of: plan),
            memberRecord: plan.isRecreatedAtStart ? nil : configuration.memberRecord(plan.name),
            isMoving: { configuration.isMoving(plan.name) },
            answering: { replies.gather($0) }, logger: logger)
        try self.init(
            plan: plan, configuration: configuration, store: store, replies: replies, quotas: quotas, logger: logger)
    }

    /// The migrations of a service's tables.
    static func migrations(of plan: ServicePlan) -> [Migrations] { [.serviceKit, plan.migrations] }

    /// A host with an existing store.
    /// - Parameters:
    ///   - writers: nil for the configured ones.
    ///   - carrier: carries the calls, in a simulation, which has no live queries.
    package init(
        plan: ServicePlan, configuration: ServiceConfiguration, store: ClassStore, replies: ReplyBatch = ReplyBatch(),
        quotas: Quotas, writers given: StoreWriters? = nil, carrier: BusEndpoint.Carrier? = nil, logger: Logger
    ) throws {
        self.plan = plan
        self.configuration = configuration
        self.store = store
        self.replies = replies
        writers = try given ?? configuration.writers(plan)
        hasLiveQueries = carrier == nil
        if writers == .every, hasLiveQueries { store.watch.keepLog() }
        self.quotas = quotas
        self.logger = logger
        bus = try BusEndpoint(
            configuration: configuration.bus, service: plan.name, replica: configuration.replica,
            release: satchelRelease, laneCount: configuration.laneCount,
            keepsBoard: try configuration.keepsBoard(plan), carrier: carrier, logger: logger)
        warnings = ServiceWarnings(bus)
        outbox = Outbox(store: store, bus: bus, background: background, writers: writers, logger: logger)
        limitStoredTimes(Outbox.waits)
        whenWriter("waits", every: Self.waitsPause, problem: "Stored waits could not be shortened.") {
            [unowned self] in
            try await shortenWaits()
            return .idle
        }
    }

    /// The background work for parked outbox messages.
    package var parking: BackgroundWork {
        outbox.parking { [writers, store] in
            writers == .one || store.role == .writer
        } tell: { [unowned self] count in
            warnings.set(count == 0 ? "" : "messages that their receivers refuse: \(count)", of: "outbox")
        }
    }

    /// Interval of checks for waits that became too long when the clock was set back.
    private static let waitsPause = Duration.seconds(10)

    /// Registers stored waits that must end in time even when the clock is set back. Called while the service is built.
    public func limitStoredTimes(_ waits: StoredWaits...) { storedWaits.withLock { $0 += waits } }

    /// The registered waits.
    package var waits: [StoredWaits] { storedWaits.withLock(\.self) }

    package func shortenWaits() async throws {
        for waits in waits {
            let count = try await waits.shorten(in: store)
            guard count > 0 else { continue }
            logger.warning(
                "The clock was set back. Waits that became too long are due now.",
                metadata: ["waits.table": "\(waits.table)", "waits.count": "\(count)"])
        }
    }

    /// Adds background work that only the writer does, such as finishing interrupted work after a crash. Called while
    /// the service is built.
    /// - Parameters:
    ///   - interval: the longest pause after a successful round.
    ///   - problem: the log message for a failed round.
    public func whenWriter(
        _ name: String, every interval: Duration, problem: Logger.Message,
        _ round: @escaping @Sendable () async throws -> BackgroundWork.Round
    ) {
        background.add(
            BackgroundWork(name, every: interval, problem: problem, logger: logger) { [writers, store] in
                // Where every replica writes, a replica that is no longer the leader keeps running.
                guard writers == .one || store.role == .writer else { return .due(in: .seconds(1)) }
                return try await round()
            })
    }

    /// Adds background work of every replica, which starts when the replica can receive requests. Called while the
    /// service is built.
    /// - Parameters:
    ///   - interval: the longest pause after a successful round.
    ///   - problem: the log message for a failed round.
    public func whenStarted(
        _ name: String, every interval: Duration, problem: Logger.Message,
        _ round: @escaping @Sendable () async throws -> BackgroundWork.Round
    ) {
        whenStarted(BackgroundWork(name, every: interval, problem: problem, logger: logger, round: round))
    }

    /// Adds background work of every replica, which starts when the replica can receive requests.
    func whenStarted(_ work: BackgroundWork) { startWorks.withLock { $0.append(work) } }

    /// Adds background work of every replica that may write. Called while the service is built.
    /// - Parameters:
    ///   - interval: the longest pause after a successful round.
    ///   - problem: the log message for a failed round.
    public func whenWriting(
        _ name: String, every interval: Duration, problem: Logger.Message,
        _ round: @escaping @Sendable () async throws -> BackgroundWork.Round
    ) {
        whenWriting(BackgroundWork(name, every: interval, problem: problem, logger: logger, round: round))
    }

    /// Adds background work of every replica that may write. Called while the service is built.
    public func whenWriting(_ work: BackgroundWork) {
        if writers == .one { background.add(work) } else { startWorks.withLock { $0.append(work) } }
    }

    /// The polling interval of work whose input is stored by calls that may go to any replica. Where every replica
    /// writes, the leader usually does the work and is not notified of the input, so it polls more often.
    /// - Parameter interval: the longest pause where one replica writes.
    public func pollInterval(_ interval: Duration) -> Duration {
        writers == .one ? interval : min(interval, Self.sharedPause)
    }

    /// Polling interval for changes by other processes, which cause no notification.
    static let sharedPause = Duration.milliseconds(150)

    /// Registers a check of the database before the first request is answered. An error, preferably a `StartupProblem`,
    /// ends the process. Called while the service is built.
    public func whenOpened(_ look: @escaping @Sendable (_ reader: StoreReader) throws -> Void) {
        openingLooks.withLock { $0.append(look) }
    }

    /// Registers work that must finish before the process ends and its store closes, such as a mail being sent. The
    /// action starts nothing new and returns within the given time. Called while the service is built.
    public func whenStopping(_ action: @escaping @Sendable (_ limit: Duration) async -> Void) {
        stopActions.withLock { $0.append(action) }
    }

    /// Registers an action that runs after all requests are answered, such as stopping other programs that requests
    /// need. The action returns within the given time. Called while the service is built.
    public func whenIdle(_ action: @escaping @Sendable (_ limit: Duration) async -> Void) {
        idleActions.withLock { $0.append(action) }
    }

    /// Registers figures that the database has, such as the length of a queue, for operators. Only the writer reports
    /// them, because all replicas have the same. They are read each time that a monitoring system asks, so they need an
    /// index. Called while the service is built.
    public func report(_ figures: @escaping @Sendable (_ reader: StoreReader) throws -> [Figure]) {
        storedFigures.withLock { $0.append(figures) }
    }

    /// The figures of this replica, without those of every process.
    func figures(_ reader: StoreReader) throws -> [Figure] {
        let now = store.figures
        var figures = [
            Figure(.storeQueue, Double(now.waitingWrites), ["queue": "writes"]),
            Figure(.storeQueue, Double(now.waitingReads), ["queue": "reads"]),
            Figure(.storeCommitTime, now.commitSeconds),
        ]
        if let free = DiskSpace.freeBytes(at: configuration.dataDirectory) {
            figures.append(Figure(.diskFree, Double(free)))
        }
        guard store.role == .writer else { return figures }
        if let bytes = now.fileBytes { figures.append(Figure(.storeFile, Double(bytes))) }
        if let bytes = now.logBytes { figures.append(Figure(.storeLog, Double(bytes))) }
        figures += try outbox.figures(reader)
        for make in storedFigures.withLock({ $0 }) { figures += try make(reader) }
        return figures
    }

    func runOpeningChecks() async throws {
        for look in openingLooks.withLock({ $0 }) { try await store.read(for: nil, look) }
    }

    func finish(within limit: Duration) async { await Self.run(stopActions.withLock { $0 }, within: limit) }

    func endIdle(within limit: Duration) async { await Self.run(idleActions.withLock { $0 }, within: limit) }

    private static func run(
        _ actions: [@Sendable (_ limit: Duration) async -> Void], within limit: Duration
    ) async {
        await withTaskGroup { group in
            for action in actions { group.addTask { await action(limit) } }
        }
    }

    /// Starts the work of a process in a simulation, which has no lanes.
    /// - Parameter idle: the names of background works that would find nothing to do.
    package func startInSimulation(without idle: Set<String>) {
        whenWriting(outbox.work)
        background.add(parking)
        background.start(without: idle)
        started()
    }

    func started() {
        let begun = startWorks.withLock { works -> [BackgroundWork] in
            defer { works = [] }
            return works
        }
        for work in begun { background.begin(isAwaited: false) { await work.run() } }
    }

    /// This process may write from now on, or no longer, whether or not it is the leader.
    func mayWrite(_ doesWrite: Bool) {
        guard writers == .every else { return bus.setBoard(doesWrite ? store.boardIdentity : 0) }
        if doesWrite { logger.notice("This process writes.", metadata: ["service": "\(plan.name)"]) }
        // A replica with other tables has another edition. The gateway sends no writes to an edition that differs from
        // the leader's.
        bus.setEdition(doesWrite ? plan.edition : 0)
    }

    func becameWriter() {
        logger.notice("This process is the writer.", metadata: ["service": "\(plan.name)"])
        bus.setWriter(true, board: store.boardIdentity)
        background.start()
    }

    /// Calls another service on behalf of the caller or of Satchel itself.
    /// - Parameter origin: the request that the call is made for; nil for the service's own work.
    /// - Throws: `ParseError`: the other service's error, or that it could not be reached.
    public func call<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, for origin: ServiceRequest?,
        as principal: Principal = .satchel, writes: Bool = false, idempotencyKey: String = "",
        timeout: Duration = .seconds(10)
    ) async throws -> Reply {
        var request = try BusRequest(call, message, for: origin, timeout: timeout)
        request.principal = principal
        request.writes = writes
        request.idempotencyKey = idempotencyKey
        do {
            return try Reply(serializedBytes: try await bus.call(request).body)
        } catch let failure as BusFailure {
            throw ParseError(failure)
        }
    }

    /// Runs `work` in one write transaction for `request`, exactly once per idempotency key. A repetition gets the
    /// first reply.
    public func commit(
        _ request: ServiceRequest, _ work: @escaping @Sendable (StoreTransaction) throws -> BusReply
    ) async throws -> BusReply {
        try await store.write(for: request.share) { [plan] in
            try KeyedReplies.once(request, plan.replySeal, in: $0, work)
        }
    }

    /// The reply that `commit` stored for an earlier run of `request`; nil when there is none. For checks before a
    /// commit that a repetition would fail because of the first run.
    public func storedReply(to request: ServiceRequest) async throws -> BusReply? {
        try await store.read(for: request.share) { [plan] in
            try KeyedReplies.stored(request, plan.replySeal, $0)
        }
    }
}

extension Principal {
    /// Satchel itself, with all rights.
    public static var satchel: Principal { Principal.with { $0.master = true } }
}

extension Caller {
    /// The caller for a principal of the bus. Its admins are operators.
    public init(_ principal: Principal) {
        self.init(
            userId: principal.userID.isEmpty ? nil : principal.userID, roles: principal.roles,
            isMaster: principal.master,
            installationId: principal.installationID.isEmpty ? nil : principal.installationID,
            isOperator: principal.isAdmin, isEstablished: principal.established, network: principal.network)
    }
}

extension ServiceRequest {
    /// The caller on whose behalf the request was sent.
    public var caller: Caller { Caller(envelope.principal) }

    /// The signed-in user.
    /// - Throws: `.invalidSessionToken` (209) when there is none.
    public var userId: String {
        get throws {
            guard let userId = caller.userId else {
                throw ParseError(.invalidSessionToken, "A signed-in user is needed for this.")
            }
            return userId
        }
    }

    /// The first document frame as JSON.
    /// - Throws: `.invalidJSON` (107).
    public func document(_ index: Int = 0) throws -> JSON {
        guard documents.indices.contains(index) else { throw ParseError(.invalidJSON, "The request has no document.") }
        return try JSON(clientText: documents[index])
    }
}
