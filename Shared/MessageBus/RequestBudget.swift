import Synchronization

/// The remaining budget of a client request: microseconds of processor time, shared by all work that it causes in all
/// services.
///
/// The gateway creates one per request (a batch counts as one), and each service one per received request
/// (`ServiceRequest.budget`). Work for the request passes it on. The bus sends the remaining budget with each call that
/// has it (`BusRequest.budget`), and subtracts the usage that the reply reports.
public final class RequestBudget: Sendable {
    private let remaining: Atomic<Int64>
    private let spent = Atomic<Int64>(0)
    private let parent: RequestBudget?

    /// A value above this means unlimited.
    private static let unlimited = Int64.max / 2

    /// - Parameter microseconds: nil for a budget that only measures.
    public convenience init(microseconds: Int64?) { self.init(microseconds, parent: nil) }

    private init(_ microseconds: Int64?, parent: RequestBudget?) {
        remaining = Atomic(microseconds.map { max(0, $0) } ?? Self.unlimited)
        self.parent = parent
    }

    /// Remaining microseconds; at least 0.
    public var left: Int64 { max(0, remaining.load(ordering: .relaxed)) }
    /// Used microseconds.
    public var used: Int64 { spent.load(ordering: .relaxed) }
    /// Whether the budget is exhausted.
    public var isSpent: Bool { left == 0 }

    /// Subtracts used time.
    public func use(_ microseconds: Int64) {
        guard microseconds > 0 else { return }
        let amount = min(microseconds, Self.unlimited >> 16)
        remaining.subtract(amount, ordering: .relaxed)
        spent.add(amount, ordering: .relaxed)
        parent?.use(amount)
    }

    /// Microseconds that indivisible work leaves in a budget, enough to finish the request.
    private static let reserve: Int64 = 25_000

    /// Whether uninterruptible work may start, such as hashing a password.
    public var admitsPiece: Bool { left > Self.reserve }

    /// Subtracts the time of uninterruptible work. A request that started such work in time can finish, however long it
    /// took; further such work is refused.
    public func usePiece(_ microseconds: Int64) { use(min(microseconds, max(0, left - Self.reserve))) }

    /// Subtracts the estimated time to parse or write so much JSON, at 64 MB per second as on a slow processor.
    public func use(jsonBytes: Int) { use(Int64(jsonBytes >> 6)) }

    /// Subtracts the usage that the reply to a call reports.
    package func use(_ result: Result<BusReply, BusFailure>) {
        switch result {
        case .success(let reply): use(reply.used)
        case .failure(let failure): use(failure.used)
        }
    }

    /// Makes the budget unlimited, for the operator's own requests.
    public func lift() { remaining.store(Self.unlimited, ordering: .relaxed) }

    /// An equal part of the remaining budget, for each of `count` concurrent pieces of work.
    public func share(among count: Int) -> RequestBudget { RequestBudget(left / Int64(max(1, count)), parent: self) }

    /// The value in an envelope: 0 when unlimited.
    var onTheWire: Int64 { remaining.load(ordering: .relaxed) > Self.unlimited >> 1 ? 0 : max(1, left) }
}

extension BusFailure {
    /// The request and the work that it caused exhausted the budget of processor time.
    public static let budgetSpent = BusFailure(code: 124, "The request took too much processor time.")
}

extension BusRequest {
    /// Sends the request by `call`, and subtracts the usage that the reply reports from the request's budget.
    /// - Throws: `BusFailure`; `.timeout` (124) at once when the budget is exhausted.
    package func budgeted(_ call: () async -> Result<BusReply, BusFailure>) async throws(BusFailure) -> BusReply {
        guard let budget else { return try await call().get() }
        guard !budget.isSpent else { throw .budgetSpent }
        let result = await call()
        budget.use(result)
        return try result.get()
    }
}
