import Glibc
import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceContextModule
import SwiftProtobuf

/// Dispatches the requests of one lane to their routes. Each lane has one, with its own database connection (`reader`).
package final class RouteHandler: LaneHandler {
    private let routes: [String: ServiceRoutes.Route]
    private let store: ClassStore
    private let reader: StoreReader
    private let load: RunningRequests
    private let logger: Logger
    private let batch: ReplyBatch
    private let seal: ReplySeal?
    private var credit = LaneCredit()
    private let collectsReads: Bool
    /// Prepared reads that `takeCollected` sends and answers, in the order of their requests.
    private var collected: [Collected] = []
    /// Nanoseconds that preparing them took.
    private var preparingTime: UInt64 = 0
    /// Writes of this batch that the writer's thread has not got yet.
    private var writes: [SubmittedJob] = []
    /// Whether the database failed or was late in this batch. The rest of the batch does not wait for it on the lane,
    /// which must not be silent for long.
    private var isServerSlow = false

    private struct Collected {
        let request: ServiceRequest
        let read: CollectedRead
        let answer: @Sendable (ReadObject) throws -> BusReply
        let alone: ServiceRoutes.Read
    }

    /// Limit of collected reads. A round trip for this number costs little more than the reads themselves.
    private static let collectedMax = 32
    /// Nanoseconds that the lane waits for their answers. The store's readers run the reads without one by then.
    private static let answersLimit: UInt64 = 20_000_000

    /// Processor time for which a lane tries a read; it may take up to twice that. A shop's page takes a tenth of it.
    private static let slice = Duration.milliseconds(5)

    /// Nanoseconds that suffice to compile a query and decline it because it was not quick before.
    private static let declined: UInt64 = 1_000_000

    package init(routes: ServiceRoutes, reader: StoreReader, load: RunningRequests) {
        self.routes = routes.routes
        store = routes.host.store
        self.reader = reader
        collectsReads = reader.collectsReads
        self.load = load
        logger = routes.host.logger
        batch = routes.host.replies
        seal = routes.host.plan.replySeal
    }

    package func handle(_ request: ServiceRequest) { handle(request.traced(), by: routes[request.kind]) }

    private func handle(_ request: ServiceRequest, by route: ServiceRoutes.Route?) {
        let isWrite =
            switch route {
            case .write, .plainWrite, .choice, .parts: true
            default: false
            }
        // A read, or the decoding of much, may take a while.
        if !isWrite || !Self.isSmall(request) { submitWrites() }
        switch route {
        case .read(let body):
            read(request, body)
        case .collectedRead(let prepare, let answer, let alone):
            collect(request, prepare, answer: answer, alone: alone)
        case .readOnStoreThread(let body):
            passToReaders(request, body, used: 0, isCostly: false)
        case .write(let keyed, let work):
            submit(request, keyed: keyed, atOnce: { _ in false }, work)
        case .plainWrite(let keyed, let atOnce, let work):
            submit(request, keyed: keyed, atOnce: atOnce) { _ in work }
        case .task(let body):
            Self.start(body, request, load, logger)
        case .handover(let body):
            handOver(request, body)
        case .attempt(let body, let otherwise):
            attempt(request, body, otherwise: otherwise)
        case .readingTask(let begin):
            startReading(request, begin)
        case .choice(let choose):
            do {
                handle(request, by: try choose(request))
            } catch {
                request.reply(.failure(Self.failure(error, request, logger)))
            }
        case .parts(let take):
            do {
                for part in try take(request) { handle(part) }
            } catch {
                request.reply(.failure(Self.failure(error, request, logger)))
            }
        case nil:
            request.reply(.failure(.unknown(kind: request.kind)))
        }
    }

    // MARK: Reads

    /// Tries a read on the lane for a slice. If it takes longer, the store's readers start it again.
    /// - Parameter before: nanoseconds already used for the request.
    private func read(_ request: ServiceRequest, _ body: @escaping ServiceRoutes.Read, used before: UInt64 = 0) {
        takeCollected()
        guard !isServerSlow else { return passToReaders(request, body, used: before, isCostly: false) }
        let start = Self.now
        let outcome: Result<BusReply, BusFailure>
        do {
            guard let reply = try attempt(request, at: start, { try body(request, reader) }) else {
                return passToReaders(request, body, used: before + Self.now - start, isCostly: true)
            }
            outcome = .success(reply)
        } catch {
            outcome = .failure(Self.failure(error, request, logger))
        }
        // Wall time is cheap to read, and close to the processor time for such a short read.
        request.reply(outcome, used: Int64((before + Self.now - start) / 1000))
    }

    /// Prepares a read. `takeCollected` sends it with others and answers it: before any other read, after
    /// `collectedMax` reads, and at the end of the batch.
    private func collect(
        _ request: ServiceRequest, _ prepare: ServiceRoutes.Collecting,
        answer: @escaping @Sendable (ReadObject) throws -> BusReply, alone: @escaping ServiceRoutes.Read
    ) {
        let start = Self.now
        // A read that is late fails those sent after it. A client with such reads reads alone.
        guard collectsReads, !isServerSlow, credit.isUntouched || credit.way(of: request.client, at: start) == .lane,
            let read = try? prepare(request, reader)
        else { return self.read(request, alone) }
        collected.append(Collected(request: request, read: read, answer: answer, alone: alone))
        preparingTime += Self.now - start
        if collected.count >= Self.collectedMax { takeCollected() }
    }

    /// Sends and answers the collected reads. Each of them is charged an equal part of the time, and the first late one
    /// also its cost.
    private func takeCollected() {
        guard !collected.isEmpty else { return }
        let start = Self.now
        let reads = collected
        collected = []
        let answers = reader.take(reads.map(\.read), within: .nanoseconds(Int64(Self.answersLimit)))
        let cost = Self.now - start
        let used = (preparingTime + cost) / UInt64(reads.count)
        preparingTime = 0
        // No request is to blame for a lost connection.
        if cost >= Self.answersLimit, !reader.isCutOff,
            let late = zip(reads, answers).first(where: { $0.1 == nil })?.0
        {
            credit.overran(late.request.client, cost: cost, at: start)
        }
        for (read, answer) in zip(reads, answers) {
            isServerSlow = isServerSlow || reader.isCutOff || Self.now - start >= Self.answersLimit
            if let answer {
                let reply: Result<BusReply, any Error> = Result { try read.answer(answer.get()) }
                read.request.reply(
                    reply.mapError { Self.failure($0, read.request, logger) }, used: Int64(used / 1000))
            } else {
                // `read` passes it on when the server is slow.
                self.read(read.request, read.alone, used: used)
            }
        }
    }

    package func batchEnded() {
        submitWrites()
        takeCollected()
        isServerSlow = false
    }

    /// Nil when the read takes longer than a slice.
    private func attempt<Found>(
        _ request: ServiceRequest, at start: UInt64, _ body: () throws -> Found
    ) throws -> Found? {
        let way = credit.isUntouched ? .lane : credit.way(of: request.client, at: start)
        if let found = try reader.attempt(slice: Self.slice, onlyQuick: way == .laneIfKnownQuick, body) { return found }
        let cost = Self.now - start
        // A declined query costs almost nothing.
        if way == .lane || cost > Self.declined { credit.overran(request.client, cost: cost, at: start) }
        return nil
    }

    /// Tries a read on the lane for a slice; if it gives no reply, a task does.
    private func attempt(
        _ request: ServiceRequest, _ body: ServiceRoutes.Attempt,
        otherwise: @escaping @Sendable (ServiceRequest) async throws -> BusReply
    ) {
        takeCollected()
        guard !isServerSlow else { return Self.start(otherwise, request, load, logger) }
        let start = Self.now
        do {
            let found = try attempt(request, at: start) { try body(request, reader) } ?? nil
            let used = Self.now - start
            guard let reply = found else { return Self.start(otherwise, request, load, logger, used: used) }
            request.reply(.success(reply), used: Int64(used / 1000))
        } catch {
            request.reply(.failure(Self.failure(error, request, logger)), used: Int64((Self.now - start) / 1000))
        }
    }

    private func passToReaders(
        _ request: ServiceRequest, _ body: @escaping ServiceRoutes.Read, used nanoseconds: UInt64, isCostly: Bool
    ) {
        let logger = logger
        request.budget.use(Int64(nanoseconds / 1000))
        load.began()
        store.submitRead(for: request.share, isCostly: isCostly) { reader in
            guard !request.isTooLate else { throw BusFailure.timedOut }
            return try body(request, reader)
        } completion: { [load] (result: Result<BusReply, any Error>) in
            request.reply(result.mapError { Self.failure($0, request, logger) }, used: request.budget.used)
            load.ended()
        }
    }

    private static var now: UInt64 { SystemClock.monotonic }

    // MARK: Writes

    private func submit(
        _ request: ServiceRequest, keyed: Bool, atOnce: @escaping @Sendable (StoreTransaction) -> Bool,
        _ work: (ServiceRequest) throws -> ServiceRoutes.WriteWork
    ) {
        do {
            let write = RequestWrite(
                request, keyed: keyed, atOnce: atOnce, try work(request), seal: seal, load: load, batch: batch,
                logger: logger)
            load.began()
            writes.append(SubmittedJob(write, for: request.share, of: request.trace.serviceContext))
        } catch {
            request.reply(.failure(Self.failure(error, request, logger)))
        }
    }

    /// Passes the writes on together: if the writer's thread woke up for the first one, it would commit that one alone.
    private func submitWrites() {
        guard !writes.isEmpty else { return }
        let jobs = writes
        writes = []
        store.submit(jobs)
    }

    // MARK: Tasks

    /// Larger documents are decoded in a task, so that they do not block the lane.
    private static let firstStepBytesMax = 16_384

    private static func isSmall(_ request: ServiceRequest) -> Bool {
        request.documents.allSatisfy { $0.count <= firstStepBytesMax }
    }

    /// Tries the first read of a task on the lane. If it takes longer than a slice, the task starts it again.
    private func startReading(_ request: ServiceRequest, _ begin: @escaping ServiceRoutes.FirstStep) {
        takeCollected()
        let start = Self.now
        do {
            let isSmall = Self.isSmall(request)
            let rest = isSmall && !isServerSlow ? try attempt(request, at: start, { try begin(request, reader) }) : nil
            let used = Self.now - start
            Self.start(
                { [store] request in
                    if let rest { return try await rest() }
                    return try await store.read(for: request.share) { try begin(request, $0) }()
                }, request, load, logger, used: used)
        } catch {
            request.reply(.failure(Self.failure(error, request, logger)), used: Int64((Self.now - start) / 1000))
        }
    }

    private func handOver(_ request: ServiceRequest, _ body: ServiceRoutes.Handover) {
        let (load, logger) = (load, logger)
        let answer: ServiceRoutes.Completion = { result in
            request.reply(result.mapError { Self.failure($0, request, logger) }, used: request.budget.used)
            load.ended()
        }
        load.began()
        do {
            try body(request, answer)
        } catch {
            answer(.failure(error))
        }
    }

    /// Runs `body` in a task and replies with its outcome.
    /// - Parameter nanoseconds: time already used for the request.
    private static func start(
        _ body: @escaping @Sendable (ServiceRequest) async throws -> BusReply, _ request: ServiceRequest,
        _ load: RunningRequests, _ logger: Logger, used nanoseconds: UInt64 = 0
    ) {
        load.began()
        Task {
            request.budget.use(Int64(nanoseconds / 1000))
            let answer = await ServiceContext.$current.withValue(request.trace.serviceContext) {
                await outcome(of: request, logger, body)
            }
            request.reply(answer, used: request.budget.used)
            load.ended()
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

    /// The reply for an error. Errors meant for clients keep their text; all others are logged and answered with
    /// `.internalServerError` (1).
    static func failure(_ error: any Error, _ request: ServiceRequest, _ logger: Logger) -> BusFailure {
        let failure = BusFailure(error, of: request.kind)
        if failure == nil || StorageTrouble(error) != nil {
            logger.error(
                "A request failed.",
                metadata: [
                    "bus.kind": "\(request.kind)", "request.id": "\(request.envelope.traceID)", "error": "\(error)",
                ])
        }
        return failure ?? BusFailure(.internalError)
    }
}

extension BusFailure {
    /// The error as reported to the client; nil for an internal error.
    package init?(_ error: any Error, of kind: String) {
        switch error {
        case let error as ParseError: self.init(error)
        case let error as BusFailure: self = error
        case is BinaryDecodingError: self.init(code: 107, "The body of \(kind) could not be read.")
        default:
            // As for a write: a failing disk is not an internal error, and nothing was done.
            guard let trouble = StorageTrouble(error) else { return nil }
            self.init(ParseError(.serviceUnavailable, "The data cannot be read now. \(trouble.rawValue)"))
        }
    }
}
