import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import SwiftProtobuf
import Synchronization

/// The routes of a service by kind. The service's build function adds its own at start; then they are immutable.
/// `RouteHandler` dispatches by them.
public struct ServiceRoutes: Sendable {
    indirect enum Route: Sendable {
        case read(Read)
        /// A read of one object. If the database is on a server, the lane sends those of several requests together.
        case collectedRead(Collecting, answer: @Sendable (ReadObject) throws -> BusReply, alone: Read)
        /// A read that runs on the store's readers at once.
        case readOnStoreThread(Read)
        /// Keyed: the reply is stored for repetitions. Not keyed: the work itself recognises a repetition.
        case write(keyed: Bool, @Sendable (ServiceRequest) throws -> WriteWork)
        /// A write with a predicate that is true if all of its changes are applied at once (`ClassStore.submit`).
        case plainWrite(keyed: Bool, atOnce: @Sendable (StoreTransaction) -> Bool, WriteWork)
        case task(@Sendable (ServiceRequest) async throws -> BusReply)
        /// Work that an existing thread does and replies to.
        case handover(Handover)
        /// A task whose first step is a read, which the lane tries.
        case readingTask(FirstStep)
        /// A read on the lane, with a task for requests that the read cannot answer.
        case attempt(Attempt, otherwise: @Sendable (ServiceRequest) async throws -> BusReply)
        /// The request's content determines the route.
        case choice(@Sendable (ServiceRequest) throws -> Route)
        /// The request consists of several others, each with its own route; their replies are combined.
        case parts(@Sendable (ServiceRequest) throws -> [ServiceRequest])
    }

    /// A read without side effects, because a slow one is started again elsewhere.
    typealias Read = @Sendable (ServiceRequest, StoreReader) throws -> BusReply

    /// Prepares a read that the database's server gets with others; nil when it has to run alone.
    typealias Collecting = @Sendable (ServiceRequest, StoreReader) throws -> CollectedRead?

    /// A read without side effects; nil leaves the request to a task.
    typealias Attempt = @Sendable (ServiceRequest, StoreReader) throws -> BusReply?

    /// The first step of a task. It has no side effects, because a slow one is started again elsewhere.
    typealias FirstStep = @Sendable (ServiceRequest, StoreReader) throws -> Rest

    /// The rest of a task after its first read.
    public typealias Rest = @Sendable () async throws -> BusReply

    /// Receives the reply to a request, once and on any thread.
    public typealias Completion = @Sendable (Result<BusReply, any Error>) -> Void

    /// Passes a request to a thread, which replies to it. A thrown error is the reply.
    typealias Handover = @Sendable (ServiceRequest, @escaping Completion) throws -> Void

    /// The work of a write in its transaction.
    public typealias WriteWork = @Sendable (StoreTransaction) throws -> BusReply

    /// A cloud function: parameters in, result out.
    public typealias Function = @Sendable (_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply

    /// A cloud function whose first step is a read: takes the parameters and returns the rest of the work.
    public typealias ReadingFunction =
        @Sendable (_ parameters: JSON, _ request: ServiceRequest, _ reader: StoreReader) throws -> Rest

    var routes: [String: Route] = [:]
    private var functions: [String: Function] = [:]
    private var readingFunctions: [String: ReadingFunction] = [:]
    var parkedKinds: [ParkedKind] = []
    let host: ServiceHost
    /// The rules of the service's classes, by class name.
    let rules: [String: any ClassRules]

    /// The common routes of all services, and the routes that `build` adds.
    package init(
        host: ServiceHost, build: (_ host: ServiceHost, _ routes: inout ServiceRoutes) throws -> Void
    ) throws {
        self.host = host
        rules = host.plan.rules(host)
        installObjects()
        installPreview()
        installSchemas()
        installMoves()
        installBooks()
        if host.hasLiveQueries { installLive() }
        installDeliveries()
        park(host.outbox.parkedKind)
        try build(host, &self)
        installParked()
        installReport()
        installFunctions()
    }

    /// The kinds with a route.
    package var kinds: Set<String> { Set(routes.keys) }

    /// Adds a read that runs on the lane's own thread with its own database connection, the fastest option. `body` must
    /// not block on anything but the database and must have no side effects. If it takes more than a few milliseconds,
    /// one of the store's reader threads starts it again.
    public mutating func read<Request, Reply>(
        _ call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreReader) throws -> Reply
    ) {
        read(framed: call) { try BusReply(body($0, $1, $2)) }
    }

    /// As above, for a reply with documents after its message.
    public mutating func read<Request, Reply>(
        framed call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreReader) throws -> BusReply
    ) {
        routes[call.kind] = .read { try body(Request(serializedBytes: $0.body), $0, $1) }
    }

    /// As above, for a read of one object, which may share a round trip to the database's server with other requests.
    /// - Parameters:
    ///   - collect: prepares the read of `body`, to be sent with others; nil for a request that `body` must answer.
    ///   - answer: the same reply as that of `body`.
    mutating func read<Request, Reply>(
        framed call: Call<Request, Reply>,
        collecting collect: @escaping @Sendable (Request, ServiceRequest, StoreReader) throws -> CollectedRead?,
        answer: @escaping @Sendable (ReadObject) throws -> BusReply,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreReader) throws -> BusReply
    ) {
        routes[call.kind] = .collectedRead(
            { try collect(Request(serializedBytes: $0.body), $0, $1) }, answer: answer,
            alone: { try body(Request(serializedBytes: $0.body), $0, $1) })
    }

    /// Adds a read that runs on one of the store's reader threads, for reads that also wait for files. It needs no
    /// task.
    public mutating func read<Request, Reply>(
        asideFramed call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreReader) throws -> BusReply
    ) {
        routes[call.kind] = .readOnStoreThread { try body(Request(serializedBytes: $0.body), $0, $1) }
    }

    /// Adds a route that runs in a task, for work that waits for other services or for the writer. `body` passes the
    /// request on with this work, so that it is charged to the request (`ServiceRequest.share`, `BusRequest.budget`).
    public mutating func task<Request, Reply>(
        _ call: Call<Request, Reply>, _ body: @escaping @Sendable (Request, ServiceRequest) async throws -> Reply
    ) {
        task(framed: call) { try BusReply(await body($0, $1)) }
    }

    /// As above, for a reply with documents after its message.
    public mutating func task<Request, Reply>(
        framed call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest) async throws -> BusReply
    ) {
        routes[call.kind] = .task { try await body(Request(serializedBytes: $0.body), $0) }
    }

    /// Adds a route that passes the request to a thread, which replies to it. Without a task this saves two thread
    /// switches. `body` must not block. It throws, or ensures that the completion is called.
    public mutating func handover<Request, Reply>(
        _ call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest, @escaping Completion) throws -> Void
    ) {
        routes[call.kind] = .handover { try body(Request(serializedBytes: $0.body), $0, $1) }
    }

    /// Adds a read that runs on the lane, and a task for requests that `body` answers with nil or that take more than a
    /// few milliseconds. `body` has no side effects.
    mutating func attempt<Request, Reply>(
        _ call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreReader) throws -> BusReply?,
        otherwise: @escaping @Sendable (Request, ServiceRequest) async throws -> BusReply
    ) {
        routes[call.kind] = .attempt(
            { try body(Request(serializedBytes: $0.body), $0, $1) },
            otherwise: { try await otherwise(Request(serializedBytes: $0.body), $0) })
    }

    /// Adds a write that runs in one transaction, once per idempotency key. No task is needed: the lane submits the
    /// work to the writer's thread, which replies after the commit.
    /// - Parameter keyed: false for work that recognises a repetition itself or may run twice; then no reply is stored.
    public mutating func write<Request, Reply>(
        _ call: Call<Request, Reply>, keyed: Bool = true,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreTransaction) throws -> Reply
    ) {
        write(framed: call, keyed: keyed) { try BusReply(body($0, $1, $2)) }
    }

    /// As above, for a reply with documents after its message.
    public mutating func write<Request, Reply>(
        framed call: Call<Request, Reply>, keyed: Bool = true,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreTransaction) throws -> BusReply
    ) {
        routes[call.kind] = .write(keyed: keyed) { request in
            let message = try Request(serializedBytes: request.body)
            return { try body(message, request, $0) }
        }
    }

    /// As above, for a write whose reply is only an acknowledgement.
    public mutating func accept<Request>(
        _ call: Call<Request, Accepted>, keyed: Bool = true,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreTransaction) throws -> Void
    ) {
        write(call, keyed: keyed) { message, request, transaction in
            try body(message, request, transaction)
            return Accepted()
        }
    }

    /// Adds a cloud function that clients call as `POST /functions/<name>`; the gateway's table names its owner.
    public mutating func function(_ name: String, _ body: @escaping Function) {
        functions[name] = body
    }

    /// As above, for a function whose first step is a read on the lane. This saves two thread switches compared with an
    /// awaited read, and does not queue behind other readers. `begin` has no side effects: if it takes more than a few
    /// milliseconds, one of the store's reader threads starts it again.
    public mutating func readingFunction(_ name: String, _ begin: @escaping ReadingFunction) {
        readingFunctions[name] = begin
    }

    mutating func installFunctions() {
        guard !functions.isEmpty || !readingFunctions.isEmpty else { return }
        let (functions, readingFunctions) = (functions, readingFunctions)
        routes[ObjectCalls(of: host.plan.name).function.kind] = .choice { request in
            let name = try FunctionRequest(serializedBytes: request.body).name
            if let begin = readingFunctions[name] {
                return .readingTask { try begin(try $0.document(), $0, $1) }
            }
            guard let function = functions[name] else {
                throw ParseError(.scriptFailed, "Invalid function: \"\(name)\"")
            }
            return .task { try await function(try $0.document(), $0) }
        }
    }
}

extension BusReply {
    /// The result of a cloud function.
    public static func result(_ value: JSON) throws -> BusReply {
        try BusReply(FunctionReply(), documents: [value.serialized])
    }
}

/// Counts the requests that continue after the lane's handler has returned (tasks, writes, reads on the store's
/// readers), so that a stopping service can wait for them.
package final class RunningRequests: Sendable {
    private let count = Atomic<Int>(0)
    package init() {}
    func began() { count.wrappingAdd(1, ordering: .relaxed) }
    func ended() { count.wrappingSubtract(1, ordering: .relaxed) }
    var isIdle: Bool { count.load(ordering: .relaxed) == 0 }
}
