import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import SwiftProtobuf
import Synchronization

/// The code that answers each kind. Built once at start, then only read.
public struct ServiceRoutes: Sendable {
    indirect enum Route: Sendable {
        case read(Read)
        /// A read that is left to the store's readers at once.
        case readAside(Read)
        /// Keyed: the reply is kept, so that a repetition gets it. Not keyed: the work itself recognises a repetition.
        case write(keyed: Bool, @Sendable (ServiceRequest) throws -> WriteWork)
        /// A write of which the store is told whether it changes everything at once (`ClassStore.submit`).
        case plainWrite(keyed: Bool, atOnce: @Sendable (StoreTransaction) -> Bool, WriteWork)
        case task(@Sendable (ServiceRequest) async throws -> BusReply)
        /// Work of a thread that is there already, which answers when it is done.
        case handover(Handover)
        /// A task that begins with a read, which the lane does.
        case readingTask(Beginning)
        /// A read that may find that the request needs the task beside it.
        case attempt(Attempt, otherwise: @Sendable (ServiceRequest) async throws -> BusReply)
        /// The request's content decides which of the others it is.
        case choice(@Sendable (ServiceRequest) throws -> Route)
        /// The request is several others, each with a route of its own; their answers are its answer.
        case parts(@Sendable (ServiceRequest) throws -> [ServiceRequest])
    }

    /// A read; begun anew elsewhere when it takes long, so it has no effects.
    typealias Read = @Sendable (ServiceRequest, StoreReader) throws -> BusReply

    /// A read that does not always bring the answer: nil for what a task has to find. It has no effects.
    typealias Attempt = @Sendable (ServiceRequest, StoreReader) throws -> BusReply?

    /// The beginning of a task; begun anew elsewhere when it takes long, so it has no effects.
    typealias Beginning = @Sendable (ServiceRequest, StoreReader) throws -> Rest

    /// The rest of a task that began with a read.
    public typealias Rest = @Sendable () async throws -> BusReply

    /// Hears the answer to a request, once and from any thread.
    public typealias Completion = @Sendable (Result<BusReply, any Error>) -> Void

    /// Hands a request to a thread, which answers it. What is thrown is the answer.
    typealias Handover = @Sendable (ServiceRequest, @escaping Completion) throws -> Void

    /// The work of a write in its transaction.
    public typealias WriteWork = @Sendable (StoreTransaction) throws -> BusReply

    /// A cloud function: parameters in, result out.
    public typealias Function = @Sendable (_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply

    /// A cloud function that begins with a read: parameters in, what is left to do out.
    public typealias ReadingFunction =
        @Sendable (_ parameters: JSON, _ request: ServiceRequest, _ reader: StoreReader) throws -> Rest

    var routes: [String: Route] = [:]
    private var functions: [String: Function] = [:]
    private var readingFunctions: [String: ReadingFunction] = [:]
    let host: ServiceHost
    /// The rules of the service's classes, by class name.
    let rules: [String: any ClassRules]

    /// The routes that every service has, and those that `build` adds.
    package init(
        host: ServiceHost, build: (_ host: ServiceHost, _ routes: inout ServiceRoutes) throws -> Void
    ) throws {
        self.host = host
        rules = host.plan.rules(host)
        installObjects()
        installPreview()
        installSchemas()
        installLive()
        installDeliveries()
        installReport()
        try build(host, &self)
        installFunctions()
    }

    /// The kinds that are answered.
    package var kinds: Set<String> { Set(routes.keys) }

    /// Answers on the lane's own thread with its own database connection: the shortest way for a read. `body` must not
    /// block on anything but the database, and has no effects: when it takes more than some milliseconds it is begun
    /// anew on one of the store's reader threads.
    public mutating func read<Request, Reply>(
        _ call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreReader) throws -> Reply
    ) {
        read(framed: call) { try BusReply(body($0, $1, $2)) }
    }

    /// As above, for an answer with frames after its message.
    public mutating func read<Request, Reply>(
        framed call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreReader) throws -> BusReply
    ) {
        routes[call.kind] = .read { try body(Request(serializedBytes: $0.body), $0, $1) }
    }

    /// Answers on one of the store's reader threads, for a read that waits for the disk beside the database. It needs
    /// no task.
    public mutating func read<Request, Reply>(
        asideFramed call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreReader) throws -> BusReply
    ) {
        routes[call.kind] = .readAside { try body(Request(serializedBytes: $0.body), $0, $1) }
    }

    /// Answers from a task, for what waits for other services or for the writer.
    public mutating func task<Request, Reply>(
        _ call: Call<Request, Reply>, _ body: @escaping @Sendable (Request, ServiceRequest) async throws -> Reply
    ) {
        task(framed: call) { try BusReply(await body($0, $1)) }
    }

    /// As above, for an answer with frames after its message.
    public mutating func task<Request, Reply>(
        framed call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest) async throws -> BusReply
    ) {
        routes[call.kind] = .task { try await body(Request(serializedBytes: $0.body), $0) }
    }

    /// Hands the request to a thread that answers it, without a task in between: two changes of threads less. `body`
    /// must not block. It throws, or sees to it that the answer is told; the request's budget is
    /// `RequestBudget.current` in it.
    public mutating func handover<Request, Reply>(
        _ call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest, @escaping Completion) throws -> Void
    ) {
        routes[call.kind] = .handover { try body(Request(serializedBytes: $0.body), $0, $1) }
    }

    /// Answers on the lane where a read brings the answer, and from a task where `body` finds nil or takes more than
    /// some milliseconds. `body` has no effects.
    mutating func attempt<Request, Reply>(
        _ call: Call<Request, Reply>,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreReader) throws -> BusReply?,
        otherwise: @escaping @Sendable (Request, ServiceRequest) async throws -> BusReply
    ) {
        routes[call.kind] = .attempt(
            { try body(Request(serializedBytes: $0.body), $0, $1) },
            otherwise: { try await otherwise(Request(serializedBytes: $0.body), $0) })
    }

    /// Answers with one write transaction, once per idempotency key. No task is needed: the lane hands the work to the
    /// writer's thread, which answers after the commit.
    /// - Parameter keyed: false for work that recognises a repetition itself, or may be done twice: no reply is kept.
    public mutating func write<Request, Reply>(
        _ call: Call<Request, Reply>, keyed: Bool = true,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreTransaction) throws -> Reply
    ) {
        write(framed: call, keyed: keyed) { try BusReply(body($0, $1, $2)) }
    }

    /// As above, for an answer with frames after its message.
    public mutating func write<Request, Reply>(
        framed call: Call<Request, Reply>, keyed: Bool = true,
        _ body: @escaping @Sendable (Request, ServiceRequest, StoreTransaction) throws -> BusReply
    ) {
        routes[call.kind] = .write(keyed: keyed) { request in
            let message = try Request(serializedBytes: request.body)
            return { try body(message, request, $0) }
        }
    }

    /// As above, for what is only acknowledged.
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

    /// As above, for one that begins with a read. The lane does that itself, which is a change of threads there and
    /// back less than a read that is awaited, and waits for no readers of lower priority. What is done before the rest
    /// has no effects: when it takes more than some milliseconds it is begun anew on one of the store's reader
    /// threads.
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

/// Counts the requests under way in tasks, so that a stopping service can finish them.
package final class RequestLoad: Sendable {
    private let count = Atomic<Int>(0)
    package init() {}
    func began() { count.wrappingAdd(1, ordering: .relaxed) }
    func ended() { count.wrappingSubtract(1, ordering: .relaxed) }
    var isIdle: Bool { count.load(ordering: .relaxed) == 0 }
}
