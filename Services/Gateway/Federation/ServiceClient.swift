import MessageBus
import Messages
import ParseProtocol
import ProcessKit
import SwiftProtobuf

/// Sends requests to services for a client and maps their failures to Parse errors.
struct ServiceClient: Sendable {
    let broker: Broker
    /// Response times by kind of call.
    let times = ServiceTimes()

    /// Sends a request that changes nothing; a reading cloud function carries its parameters as a document.
    func read<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, documents: [[UInt8]] = [], for principal: Principal,
        in context: CallContext
    ) async throws(ParseError) -> ServiceReply<Reply> {
        try await send(call, message, documents, principal, context, key: "", timeout: .seconds(10))
    }

    /// Sends a request that changes something. It may be retried when a process dies: the receiver runs it once.
    func write<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, documents: [[UInt8]] = [], for principal: Principal,
        in context: CallContext, timeout: Duration = .seconds(10)
    ) async throws(ParseError) -> ServiceReply<Reply> {
        guard !principal.readOnly else { throw .readOnlyKey }
        let key = context.keys?.next(call.kind) ?? RequestIds.next()
        return try await send(call, message, documents, principal, context, key: key, timeout: timeout)
    }

    /// Sends a request that must not run twice. It is never retried, even when its reply is lost. Any replica that runs
    /// the writer's version may get it.
    func sendAtMostOnce<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, documents: [[UInt8]] = [], for principal: Principal,
        in context: CallContext, timeout: Duration
    ) async throws(ParseError) -> ServiceReply<Reply> {
        try await send(call, message, documents, principal, context, writes: true, shared: true, timeout: timeout)
    }

    /// - Parameters:
    ///   - key: the deduplication key of a change that may be retried; empty otherwise.
    ///   - writes: nil to derive it from `key`.
    ///   - shared: see `Envelope.shared`.
    ///   - reserved: bytes of `context.hold` that the reply may use.
    ///   - replica: see `BusRequest.replica`.
    func send<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, _ documents: [[UInt8]] = [], _ principal: Principal,
        _ context: CallContext, key: String = "", writes: Bool? = nil, shared: Bool = false,
        timeout: Duration = .seconds(10), reserved: Int = 0, replica: String? = nil
    ) async throws(ParseError) -> ServiceReply<Reply> {
        guard var request = try? Self.request(call, message, principal, context, timeout) else {
            throw .internalError  // Only for a message that does not encode; Satchel's messages always do.
        }
        request.documents = documents
        request.writes = writes ?? !key.isEmpty
        request.shared = shared || call.spreads
        request.idempotencyKey = key
        request.replica = replica
        return ServiceReply(try await answer(to: request, context.hold, context.times, reserved: reserved))
    }

    /// Separate from `send`, which the compiler specializes for every message type.
    private func answer(
        to request: BusRequest, _ hold: ByteHold?, _ requestTimes: RequestTimes?, reserved: Int
    ) async throws(ParseError) -> BusReply {
        let (start, slot) = (ContinuousClock.now, times.slot(of: request.kind))
        defer { requestTimes?.waited(since: start) }
        do throws(BusFailure) {
            let writes = request.writes
            if writes { hold?.markChanging() }
            // Stops the remaining reads of a batch, or of a query with many parts.
            guard hold?.isAbandoned != true else { throw BusFailure.abandoned }
            let reply = try await request.budgeted {
                await withCheckedContinuation { continuation in
                    broker.call(request) { result in
                        continuation.resume(
                            returning: ReplyHold.admit(result, hold, reserved: reserved, isCommitted: writes))
                    }
                }
            }
            times.record(.done, at: slot, since: start)
            return reply
        } catch {
            let problem = ParseError(error)
            times.record(.init(problem), at: slot, since: start)
            throw problem
        }
    }
}

extension ServiceClient {
    /// Sends a read without a task, and does not wake the broker: the caller then calls `broker.wake`.
    /// - Parameter completion: called once, on the broker's thread or before this method returns. It must not block.
    func ask<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, for principal: Principal, in context: CallContext,
        completion: @escaping @Sendable (Result<ServiceReply<Reply>, ParseError>) -> Void
    ) {
        guard let request = try? Self.request(call, message, principal, context, .seconds(10)) else {
            return completion(.failure(.internalError))  // Only for a message that does not encode.
        }
        send(request, context.hold, context.times, completion: completion)
    }

    /// Sends a change without a task, with the checks of `write`, and does not wake the broker: the caller then calls
    /// `broker.wake`.
    /// - Parameters:
    ///   - encode: encodes the message; it throws only for one that does not encode.
    ///   - completion: called once, on the broker's thread or before this method returns. It must not block.
    func ask<Request, Reply>(
        _ call: Call<Request, Reply>, toChange encode: () throws -> [UInt8], _ document: [UInt8],
        for principal: Principal, in context: CallContext, timeout: Duration,
        completion: @escaping @Sendable (Result<ServiceReply<Reply>, ParseError>) -> Void
    ) {
        guard !principal.readOnly else { return completion(.failure(.readOnlyKey)) }
        guard let body = try? encode() else { return completion(.failure(.internalError)) }
        var request = Self.request(call, body: body, principal, context, timeout)
        request.documents = [document]
        request.writes = true
        request.idempotencyKey = context.keys?.next(call.kind) ?? RequestIds.next()
        context.hold?.markChanging()
        send(request, context.hold, context.times, completion: completion)
    }

    private func send<Reply>(
        _ request: BusRequest, _ hold: ByteHold?, _ requestTimes: RequestTimes?,
        completion: @escaping @Sendable (Result<ServiceReply<Reply>, ParseError>) -> Void
    ) {
        let (times, start, isChange, budget) = (times, ContinuousClock.now, request.writes, request.budget)
        let slot = times.slot(of: request.kind)
        broker.call(request, wakes: false) { result in
            requestTimes?.waited(since: start)
            budget?.use(result)
            switch ReplyHold.admit(result, hold, reserved: 0, isCommitted: isChange) {
            case .success(let reply):
                times.record(.done, at: slot, since: start)
                completion(.success(ServiceReply(reply)))
            case .failure(let failure):
                let error = ParseError(failure)
                times.record(.init(error), at: slot, since: start)
                completion(.failure(error))
            }
        }
    }

    private static func request<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, _ principal: Principal, _ context: CallContext,
        _ timeout: Duration
    ) throws -> BusRequest {
        request(call, body: try message.serializedBytes(), principal, context, timeout)
    }

    private static func request<Request, Reply>(
        _ call: Call<Request, Reply>, body: [UInt8], _ principal: Principal, _ context: CallContext,
        _ timeout: Duration
    ) -> BusRequest {
        var request = BusRequest(kind: call.kind, body: body, timeout: timeout)
        request.shared = call.spreads
        request.principal = principal
        request.traceId = context.trace
        request.trace = context.span?.context
        request.budget = context.budget
        if let limit = context.deadline { request.deadline = min(request.deadline, limit) }
        return request
    }
}

/// The reply to a call: its encoded message and its documents.
struct ServiceReply<Reply: Message>: Sendable {
    private let body: [UInt8]
    let documents: [[UInt8]]

    fileprivate init(_ reply: BusReply) { (body, documents) = (reply.body, reply.documents) }

    /// The message. Each access decodes it again.
    /// - Throws: `.internalServerError` (1) when the service replied with another message.
    var message: Reply {
        get throws(ParseError) {
            do {
                return try Reply(serializedBytes: body)
            } catch {
                throw .internalError
            }
        }
    }

    /// The only document of the reply.
    var document: [UInt8] {
        get throws(ParseError) {
            guard let first = documents.first else { throw .internalError }
            return first
        }
    }
}

extension JSON {
    /// The budget does not count smaller replies.
    private static let countedBytes = 4096

    /// The JSON of a service's reply to a call in this context.
    /// - Throws: `.invalidQuery` (102) when the reply holds more values than the gateway decodes,
    ///   `.requestLimitExceeded` (155) when there is no memory for them now, `.timeout` (124) when the request's budget
    ///   is used up, `.internalServerError` (1) when it is not JSON.
    init(reply: [UInt8], in context: CallContext) throws(ParseError) {
        try ReplyHold.reserveForDecoding(reply.count, context.hold)
        if reply.count >= Self.countedBytes, let budget = context.budget {
            guard !budget.isSpent else { throw ParseError(.budgetSpent) }
            budget.use(jsonBytes: reply.count)
        }
        do {
            try self.init(parsing: reply)
        } catch .tooManyValues {
            throw ParseError(.invalidQuery, "The answer is too large; use a smaller limit or keys.")
        } catch {
            throw .internalError
        }
    }
}
