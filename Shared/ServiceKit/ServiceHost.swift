import Foundation
import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
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
                && (try configuration.settings.flag("satchel.allow.client.class.creation", default: true)),
            allowCustomObjectId: configuration.settings.flag("satchel.allow.custom.object.id", default: false),
            allowance: quotas, migrations: [.serviceKit, plan.migrations], logger: logger)
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

    /// Runs `work` in one write transaction for `request`, exactly once per idempotency key: a repetition gets the first answer.
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
