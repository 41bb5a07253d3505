import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import SwiftProtobuf
import Synchronization

/// Which code answers which kind. Built once at start, then only read.
public struct ServiceRoutes: Sendable {
    indirect enum Route: Sendable {
        case read(@Sendable (ServiceRequest, StoreReader) throws -> BusReply)
        /// Keyed: the reply is kept, so that a repetition gets it. Not keyed: the work itself recognises a repetition.
        case write(keyed: Bool, @Sendable (ServiceRequest) throws -> WriteWork)
        case task(@Sendable (ServiceRequest) async throws -> BusReply)
        /// The request's content decides which of the others it is.
        case choice(@Sendable (ServiceRequest) throws -> Route)
    }

    /// What a write does in its transaction.
    public typealias WriteWork = @Sendable (StoreTransaction) throws -> BusReply

    /// A cloud function: parameters in, result out.
    public typealias Function = @Sendable (_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply

    var routes: [String: Route] = [:]
    private(set) var functions: [String: Function] = [:]
    let host: ServiceHost

    init(host: ServiceHost) { self.host = host }

    /// Answers on the lane's own thread with its own database connection: the shortest way for a read. `body` must not block
    /// on anything but the database.
    public mutating func read<Request: Message>(
        _ kind: String, _ type: Request.Type,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreReader) throws -> BusReply
    ) {
        routes[kind] = .read { try body(Request(serializedBytes: $0.body), $0, $1) }
    }

    /// Answers from a task, for what waits for other services or for the writer.
    public mutating func task<Request: Message>(
        _ kind: String, _ type: Request.Type,
        _ body: @escaping @Sendable (Request, ServiceRequest) async throws -> BusReply
    ) {
        routes[kind] = .task { try await body(Request(serializedBytes: $0.body), $0) }
    }

    /// Answers with one write transaction, once per idempotency key. No task is needed: the lane hands the work to the writer's
    /// thread, which answers after the commit.
    public mutating func write<Request: Message>(
        _ kind: String, _ type: Request.Type,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreTransaction) throws -> BusReply
    ) {
        routes[kind] = .write(keyed: true) { request in
            let message = try Request(serializedBytes: request.body)
            return { try body(message, request, $0) }
        }
    }

    /// Adds a cloud function that clients call as `POST /functions/<name>`; the gateway's table names its owner.
    public mutating func function(_ name: String, _ body: @escaping Function) {
        functions[name] = body
    }

    mutating func installFunctions() {
        guard !functions.isEmpty else { return }
        let functions = functions
        task("\(host.plan.name).function.v1", FunctionRequest.self) { message, request in
            guard let function = functions[message.name] else {
                throw ParseError(.scriptFailed, "Invalid function: \"\(message.name)\"")
            }
            return try await function(try request.document(), request)
        }
    }
}

extension BusReply {
    /// The result of a cloud function.
    public static func result(_ value: JSON) throws -> BusReply {
        try BusReply(FunctionReply(), documents: [value.serialized])
    }
}

/// Hands the requests of one lane to their routes.
final class RouteHandler: LaneHandler {
    private let routes: [String: ServiceRoutes.Route]
    private let store: ClassStore
    private let reader: StoreReader
    private let load: RequestLoad
    private let logger: Logger
    private let seal: ReplySeal?

    init(routes: ServiceRoutes, reader: StoreReader, load: RequestLoad) {
        self.routes = routes.routes
        store = routes.host.store
        self.reader = reader
        self.load = load
        logger = routes.host.logger
        seal = routes.host.plan.replySeal
    }

    func handle(_ request: ServiceRequest) { handle(request, by: routes[request.kind]) }

    private func handle(_ request: ServiceRequest, by route: ServiceRoutes.Route?) {
        switch route {
        case .read(let body):
            request.reply(Self.outcome(of: request, logger) { try body(request, reader) })
        case .write(let keyed, let work):
            submit(request, keyed: keyed, work)
        case .task(let body):
            Self.start(body, request, load, logger)
        case .choice(let choose):
            do {
                handle(request, by: try choose(request))
            } catch {
                request.reply(.failure(Self.failure(error, request, logger)))
            }
        case nil:
            request.reply(.failure(BusFailure(code: 108, "Unknown kind \(request.kind).")))
        }
    }

    private func submit(
        _ request: ServiceRequest, keyed: Bool, _ work: (ServiceRequest) throws -> ServiceRoutes.WriteWork
    ) {
        let logger = logger
        do {
            let work = try work(request)
            load.began()
            store.submit { [seal] in
                keyed ? try KeyedReplies.once(request, seal, in: $0, work) : try work($0)
            } completion: { [load] result in
                request.reply(result.mapError { Self.failure($0, request, logger) })
                load.ended()
            }
        } catch {
            request.reply(.failure(Self.failure(error, request, logger)))
        }
    }

    private static func start(
        _ body: @escaping @Sendable (ServiceRequest) async throws -> BusReply, _ request: ServiceRequest,
        _ load: RequestLoad, _ logger: Logger
    ) {
        load.began()
        Task {
            request.reply(await outcome(of: request, logger, body))
            load.ended()
        }
    }

    private static func outcome(
        of request: ServiceRequest, _ logger: Logger, _ body: () throws -> BusReply
    ) -> Result<BusReply, BusFailure> {
        do {
            return .success(try body())
        } catch {
            return .failure(failure(error, request, logger))
        }
    }

    private static func outcome(
        of request: ServiceRequest, _ logger: Logger, _ body: @Sendable (ServiceRequest) async throws -> BusReply
    ) async -> Result<BusReply, BusFailure> {
        do {
            return .success(try await body(request))
        } catch {
            return .failure(failure(error, request, logger))
        }
    }

    /// Public text for errors meant for clients; everything else is logged and answered with code 1.
    private static func failure(_ error: any Error, _ request: ServiceRequest, _ logger: Logger) -> BusFailure {
        switch error {
        case let error as ParseError: return BusFailure(error)
        case let error as BusFailure: return error
        case is BinaryDecodingError: return BusFailure(code: 107, "The body of \(request.kind) could not be read.")
        default:
            logger.error(
                "A request failed.",
                metadata: [
                    "bus.kind": "\(request.kind)", "request.id": "\(request.envelope.traceID)", "error": "\(error)",
                ])
            return BusFailure(.internalError)
        }
    }
}

/// Counts the requests under way in tasks, so that a stopping service can finish them.
final class RequestLoad: Sendable {
    private let count = Atomic<Int>(0)
    func began() { count.wrappingAdd(1, ordering: .relaxed) }
    func ended() { count.wrappingSubtract(1, ordering: .relaxed) }
    var isIdle: Bool { count.load(ordering: .relaxed) == 0 }
}
