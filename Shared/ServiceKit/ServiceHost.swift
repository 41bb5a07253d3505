import Foundation
import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import SwiftProtobuf
import Synchronization

/// What a running service has to work with: its store, the bus and its outbox.
public final class ServiceHost: Sendable {
    public let plan: ServicePlan
    public let configuration: ServiceConfiguration
    public let store: ClassStore
    public let bus: BusEndpoint
    public let outbox: Outbox
    public let quotas: Quotas
    public let logger: Logger
    private let writerActions = Mutex<[@Sendable () async -> Void]>([])
    private let stopActions = Mutex<[@Sendable (_ limit: Duration) async -> Void]>([])

    package init(plan: ServicePlan, configuration: ServiceConfiguration, logger: Logger) throws {
        self.plan = plan
        self.configuration = configuration
        self.logger = logger
        quotas = try Quotas(configuration)
        store = try ClassStore(
            path: configuration.databasePath(plan.name), classes: plan.classes, synchronous: plan.synchronous,
            allowClassCreation: plan.ownsUnknownClasses
                && configuration.reader.bool(forKey: "satchel.allow.client.class.creation", default: true),
            allowCustomObjectId: configuration.reader.bool(forKey: "satchel.allow.custom.object.id", default: false),
            allowance: quotas, schema: KeyedReplies.tables + Outbox.tables + plan.tables, logger: logger)
        bus = try BusEndpoint(
            configuration: configuration.bus, service: plan.name, replica: configuration.replica,
            release: satchelRelease,
            laneCount: configuration.laneCount, logger: logger)
        outbox = Outbox(store: store, bus: bus, logger: logger)
    }

    /// Registers work that only the writer does, such as finishing what a crash interrupted. It runs once, in the background,
    /// when this process becomes the writer. Called while the service is built.
    public func whenWriter(_ action: @escaping @Sendable () async -> Void) {
        writerActions.withLock { $0.append(action) }
    }

    /// Registers work that is finished before the process ends and its store closes, such as a mail that is being sent. The action
    /// returns within the time it is given. Called while the service is built.
    public func whenStopping(_ action: @escaping @Sendable (_ limit: Duration) async -> Void) {
        stopActions.withLock { $0.append(action) }
    }

    func finish(within limit: Duration) async {
        await withTaskGroup { group in
            for action in stopActions.withLock({ $0 }) { group.addTask { await action(limit) } }
        }
    }

    func becameWriter() {
        logger.notice("This process is the writer.", metadata: ["service": "\(plan.name)"])
        bus.setWriter(true)
        for action in writerActions.withLock({ $0 }) { Task { await action() } }
    }

    /// Asks another service on the caller's behalf or our own.
    /// - Throws: `ParseError`, the other service's error or that it could not be reached.
    public func call<Reply: Message>(
        _ kind: String, _ message: some Message, as principal: Principal = .satchel, writes: Bool = false,
        idempotencyKey: String = "", traceId: String = "", timeout: Duration = .seconds(10),
        reply: Reply.Type = Reply.self
    ) async throws -> Reply {
        var request = try BusRequest(kind, message, timeout: timeout)
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

    /// Runs `work` in one write transaction for `request`, exactly once per idempotency key: a repetition gets the first answer.
    public func commit(
        _ request: ServiceRequest, _ work: @escaping @Sendable (StoreTransaction) throws -> BusReply
    ) async throws -> BusReply {
        try await store.write { [plan] in try KeyedReplies.once(request, plan.replySeal, in: $0, work) }
    }
}

/// The release that services report, in scripts/status and `serverInfo`.
public let satchelRelease = "0.1.0"

extension Principal {
    /// Satchel acting for itself, with every right.
    public static var satchel: Principal { Principal.with { $0.master = true } }
}

extension Caller {
    public init(_ principal: Principal) {
        self.init(
            userId: principal.userID.isEmpty ? nil : principal.userID, roles: principal.roles,
            isMaster: principal.master,
            installationId: principal.installationID.isEmpty ? nil : principal.installationID,
            isOperator: principal.isAdmin, network: principal.network)
    }
}

extension ServiceRequest {
    public var caller: Caller { Caller(envelope.principal) }

    /// The signed-in user.
    /// - Throws: 209 when there is none.
    public var userId: String {
        get throws {
            guard let userId = caller.userId else {
                throw ParseError(.invalidSessionToken, "A signed-in user is needed for this.")
            }
            return userId
        }
    }

    /// The first document frame as JSON.
    /// - Throws: 107.
    public func document(_ index: Int = 0) throws -> JSON {
        guard documents.indices.contains(index) else { throw ParseError(.invalidJSON, "The request has no document.") }
        return try JSON(clientText: documents[index])
    }
}

extension ParseError {
    public init(_ failure: BusFailure) {
        self.init(
            Code(rawValue: Int(failure.failure.code)), failure.failure.message,
            details: failure.failure.details.isEmpty ? nil : try? JSON(parsing: failure.failure.details))
        if failure.failure.retryAfter > 0 { retryAfterSeconds = Int(failure.failure.retryAfter) }
    }
}

extension BusFailure {
    public init(_ error: ParseError) {
        self.init(
            Failure.with {
                $0.code = Int32(clamping: error.code.rawValue)
                $0.message = error.message
                $0.retriable = error.code == .serviceUnavailable
                if let details = error.details { $0.details = Data(details.serialized) }
                if let seconds = error.retryAfterSeconds { $0.retryAfter = UInt32(clamping: seconds) }
            })
    }
}
