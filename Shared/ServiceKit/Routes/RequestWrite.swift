import Logging
import MessageBus
import ObjectStore
import ParseProtocol

/// The write of a request: runs its work in a transaction of the writer, and sends the reply after the commit.
final class RequestWrite: StoreJob {
    private let request: ServiceRequest
    private let isKeyed: Bool
    private let hasClientKey: Bool
    private let atOnce: @Sendable (StoreTransaction) -> Bool
    private let work: ServiceRoutes.WriteWork
    private let seal: ReplySeal?
    private let load: RunningRequests
    private let batch: ReplyBatch
    private let logger: Logger
    private var reply: BusReply?
    /// True for a message of an outbox: its receiver refuses few of them.
    let seldomFails: Bool

    /// - Parameters:
    ///   - keyed: whether the reply is stored for repetitions.
    ///   - atOnce: whether all changes are applied at once; asked only for a request without a client's key.
    init(
        _ request: ServiceRequest, keyed: Bool, atOnce: @escaping @Sendable (StoreTransaction) -> Bool,
        _ work: @escaping ServiceRoutes.WriteWork, seal: ReplySeal?, load: RunningRequests, batch: ReplyBatch,
        logger: Logger
    ) {
        self.request = request
        // The client may repeat the request when its data no longer show that it was carried out.
        hasClientKey = request.hasClientKey
        isKeyed = keyed || hasClientKey
        self.atOnce = atOnce
        seldomFails = request.envelope.idempotencyKey.hasPrefix(KeyedReplies.outboxPrefix)
        self.work = work
        self.seal = seal
        self.load = load
        self.batch = batch
        self.logger = logger
    }

    func changesAtOnce(in transaction: StoreTransaction) -> Bool { !hasClientKey && atOnce(transaction) }

    func run(in transaction: StoreTransaction) throws {
        reply = isKeyed ? try KeyedReplies.once(request, seal, in: transaction, work) : try work(transaction)
    }

    func finish(_ failure: (any Error)?) {
        request.reply(result(failure), used: request.budget.used, in: batch)
        load.ended()
    }

    private func result(_ failure: (any Error)?) -> Result<BusReply, BusFailure> {
        if let failure { return .failure(RouteHandler.failure(failure, request, logger)) }
        return reply.map { .success($0) } ?? .failure(BusFailure(.internalError))
    }
}
