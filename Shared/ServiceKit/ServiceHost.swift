import Foundation
import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
import SwiftProtobuf
import Synchronization

/// The means of a running service: its store, the bus and its outbox.
public final class ServiceHost: Sendable {
    /// The service's name, classes, rules and tables.
    public let plan: ServicePlan
    /// The settings the process was started with.
    public let configuration: ServiceConfiguration
    /// The service's database.
    public let store: ClassStore
    /// Which replicas of the service write.
    public let writers: StoreWriters
    /// The service's end of the bus, for calls to other services.
    public let bus: BusEndpoint
    /// The messages that must reach other services, written with the change that causes them.
    public let outbox: Outbox
    /// The work that the service does by itself.
    public let background = BackgroundGroup()
    /// The bounds of what clients may add.
    public let quotas: Quotas
    /// The logger, which names the service.
    public let logger: Logger
    private let startWorks = Mutex<[BackgroundWork]>([])
    private let stopActions = Mutex<[@Sendable (_ limit: Duration) async -> Void]>([])
    private let idleActions = Mutex<[@Sendable (_ limit: Duration) async -> Void]>([])
    private let openingLooks = Mutex<[@Sendable (_ reader: StoreReader) throws -> Void]>([])

    package convenience init(plan: ServicePlan, configuration: ServiceConfiguration, logger: Logger) throws {
        let quotas = try Quotas(configuration)
        let keepsBoard = try configuration.keepsBoard(plan)
        let store = try ClassStore(
            configuration.database(plan), classes: plan.classes, synchronous: plan.synchronous,
            writers: try configuration.writers(plan),
            allowClassCreation: plan.ownsUnknownClasses
                && (try configuration.settings.flag("satchel.allow.client.class.creation", default: true)),
            allowCustomObjectId: configuration.settings.flag("satchel.allow.custom.object.id", default: false),
            allowance: quotas, announcement: keepsBoard ? .kept : .retired,
            migrations: Self.migrations(of: plan), isMoving: { configuration.isMoving(plan.name) },
            answering: { ReplyBatch.gather($0) }, logger: logger)
        try self.init(plan: plan, configuration: configuration, store: store, quotas: quotas, logger: logger)
    }

    /// The migrations of a service's tables.
    static func migrations(of plan: ServicePlan) -> [Migrations] { [.serviceKit, plan.migrations] }

    /// A host with a store that is there already.
    package init(
        plan: ServicePlan, configuration: ServiceConfiguration, store: ClassStore, quotas: Quotas, logger: Logger
    ) throws {
        self.plan = plan
        self.configuration = configuration
        self.store = store
        writers = try configuration.writers(plan)
        if writers == .every { store.watch.keepLog() }
        self.quotas = quotas
        self.logger = logger
        bus = try BusEndpoint(
            configuration: configuration.bus, service: plan.name, replica: configuration.replica,
            release: satchelRelease, laneCount: configuration.laneCount,
            keepsBoard: try configuration.keepsBoard(plan), logger: logger)
        outbox = Outbox(store: store, bus: bus, background: background, writers: writers, logger: logger)
    }

    /// Adds background work that only the writer does, such as finishing what a crash interrupted. Called while the
    /// service is built.
    /// - Parameters:
    ///   - interval: the longest pause after a round that went well.
    ///   - problem: what the log says of a round that failed.
    public func whenWriter(
        _ name: String, every interval: Duration, problem: Logger.Message,
        _ round: @escaping @Sendable () async throws -> BackgroundWork.Round
    ) {
        background.add(
            BackgroundWork(name, every: interval, problem: problem, logger: logger) { [writers, store] in
                // One that leads no more may still write there.
                guard writers == .one || store.role == .writer else { return .due(in: .seconds(1)) }
                return try await round()
            })
    }

    /// Adds background work that every replica does, from the moment when it may get requests. Called while the service
    /// is built.
    /// - Parameters:
    ///   - interval: the longest pause after a round that went well.
    ///   - problem: what the log says of a round that failed.
    public func whenStarted(
        _ name: String, every interval: Duration, problem: Logger.Message,
        _ round: @escaping @Sendable () async throws -> BackgroundWork.Round
    ) {
        let work = BackgroundWork(name, every: interval, problem: problem, logger: logger, round: round)
        startWorks.withLock { $0.append(work) }
    }

    /// Adds background work that every replica does which may write. Called while the service is built.
    /// - Parameters:
    ///   - interval: the longest pause after a round that went well.
    ///   - problem: what the log says of a round that failed.
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

    /// The longest pause of work for which calls that spread store something: where every replica writes, nobody tells
    /// those who do it, the one that leads as a rule, which therefore look.
    /// - Parameter interval: the longest pause where one replica writes.
    public func pause(_ interval: Duration) -> Duration {
        writers == .one ? interval : min(interval, Self.sharedPause)
    }

    /// Between two looks for what other processes did, of which nobody tells.
    static let sharedPause = Duration.milliseconds(150)

    /// Registers a look at the database before anything is answered. What it throws, best a `StartupProblem`, ends the
    /// process. Called while the service is built.
    public func whenOpened(_ look: @escaping @Sendable (_ reader: StoreReader) throws -> Void) {
        openingLooks.withLock { $0.append(look) }
    }

    /// Registers work that is finished before the process ends and its store closes, such as a mail that is being sent.
    /// The action begins nothing new and returns within the time it is given. Called while the service is built.
    public func whenStopping(_ action: @escaping @Sendable (_ limit: Duration) async -> Void) {
        stopActions.withLock { $0.append(action) }
    }

    /// Registers what ends last: when every request is answered, for which it may have been needed, such as other
    /// programs. The action returns within the time it is given. Called while the service is built.
    public func whenIdle(_ action: @escaping @Sendable (_ limit: Duration) async -> Void) {
        idleActions.withLock { $0.append(action) }
    }

    func lookAtOpening() async throws {
        for look in openingLooks.withLock({ $0 }) { try await store.read(look) }
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

    func started() {
        for work in startWorks.withLock({ $0 }) { background.begin(isAwaited: false) { await work.run() } }
    }

    /// This process takes changes from now on, whether it leads or not, or none any more.
    func mayWrite(_ doesWrite: Bool) {
        guard writers == .every else { return bus.setBoard(doesWrite ? store.boardIdentity : 0) }
        if doesWrite { logger.notice("This process writes.", metadata: ["service": "\(plan.name)"]) }
        // Those of other tables have another edition, and get nothing from a gateway whose leader is of this one.
        bus.setEdition(doesWrite ? plan.edition : 0)
    }

    func becameWriter() {
        logger.notice("This process is the writer.", metadata: ["service": "\(plan.name)"])
        bus.setWriter(true, board: store.boardIdentity)
        background.start()
    }

    /// Asks another service on the caller's behalf or our own.
    /// - Throws: `ParseError`, the other service's error or that it could not be reached.
    public func call<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, as principal: Principal = .satchel, writes: Bool = false,
        idempotencyKey: String = "", traceId: String = "", timeout: Duration = .seconds(10)
    ) async throws -> Reply {
        var request = try BusRequest(call, message, timeout: timeout)
        request.principal = principal
        request.writes = writes
        request.idempotencyKey = idempotencyKey
        request.traceId = traceId
        do {
            return try Reply(serializedBytes: try await bus.call(request).body)
        } catch let failure as BusFailure {
            throw ParseError(failure)
        }
    }

    /// Runs `work` in one write transaction for `request`, exactly once per idempotency key: a repetition gets the
    /// first answer.
    public func commit(
        _ request: ServiceRequest, _ work: @escaping @Sendable (StoreTransaction) throws -> BusReply
    ) async throws -> BusReply {
        try await store.write { [plan] in try KeyedReplies.once(request, plan.replySeal, in: $0, work) }
    }
}

extension Principal {
    /// Satchel acting for itself, with every right.
    public static var satchel: Principal { Principal.with { $0.master = true } }
}

extension Caller {
    /// The caller that a principal of the bus stands for. Its admins are operators.
    public init(_ principal: Principal) {
        self.init(
            userId: principal.userID.isEmpty ? nil : principal.userID, roles: principal.roles,
            isMaster: principal.master,
            installationId: principal.installationID.isEmpty ? nil : principal.installationID,
            isOperator: principal.isAdmin, network: principal.network)
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
