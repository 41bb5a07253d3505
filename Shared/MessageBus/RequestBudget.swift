import Synchronization

/// The rest of what one client request may cost: microseconds of processor time, shared by all that it causes in all
/// services.
///
/// The gateway makes one for each request (a batch is one), a service one for each request that brings
/// `Envelope.budget`. It is bound to the request's task; the bus sends what is left along with each request made under
/// it and takes off what the reply says was used.
public final class RequestBudget: Sendable {
    /// The budget of the request that the current task works for; nil outside of any.
    @TaskLocal public static var current: RequestBudget?

    private let remaining: Atomic<Int64>
    private let spent = Atomic<Int64>(0)
    private let parent: RequestBudget?

    /// More than this is no limit.
    private static let unlimited = Int64.max / 2

    /// - Parameter microseconds: nil for a budget that only counts.
    public convenience init(microseconds: Int64?) { self.init(microseconds, parent: nil) }

    private init(_ microseconds: Int64?, parent: RequestBudget?) {
        remaining = Atomic(microseconds.map { max(0, $0) } ?? Self.unlimited)
        self.parent = parent
    }

    /// Microseconds that are left; at least 0.
    public var left: Int64 { max(0, remaining.load(ordering: .relaxed)) }
    /// Microseconds that were used so far.
    public var used: Int64 { spent.load(ordering: .relaxed) }
    /// Whether nothing is left.
    public var isSpent: Bool { left == 0 }

    /// Takes off what was used.
    public func use(_ microseconds: Int64) {
        guard microseconds > 0 else { return }
        let amount = min(microseconds, Self.unlimited >> 16)
        remaining.subtract(amount, ordering: .relaxed)
        spent.add(amount, ordering: .relaxed)
        parent?.use(amount)
    }

    /// Microseconds that whole pieces of work leave of a budget: enough for the end of a request that needs one.
    private static let reserve: Int64 = 25_000

    /// Whether a piece of work may begin that nobody can end before its time, such as the hash of a password.
    public var admitsPiece: Bool { left > Self.reserve }

    /// Takes off what such a piece of work took. A request that began it in time comes to its end, however long the
    /// piece was; the next piece is refused.
    public func usePiece(_ microseconds: Int64) { use(min(microseconds, max(0, left - Self.reserve))) }

    /// The work of reading or writing so many bytes of JSON, at 64 MB a second: what parsing takes on a slow processor.
    public func use(jsonBytes: Int) { use(Int64(jsonBytes >> 6)) }

    /// Makes it a budget that only counts, for the operator's own requests.
    public func lift() { remaining.store(Self.unlimited, ordering: .relaxed) }

    /// A part of what is left, for each of `count` pieces of work that run at the same time.
    public func share(among count: Int) -> RequestBudget { RequestBudget(left / Int64(max(1, count)), parent: self) }

    /// As it travels: 0 when there is no limit.
    var onTheWire: Int64 { remaining.load(ordering: .relaxed) > Self.unlimited >> 1 ? 0 : max(1, left) }
}

extension BusFailure {
    /// The request and all that it caused took the processor time that one request may take.
    public static let budgetSpent = BusFailure(code: 124, "The request took too much processor time.")
}

extension BusRequest {
    /// Sends the request by `call` under the budget of the current task.
    /// - Throws: `BusFailure`; `.timeout` (124) at once when nothing is left of the budget.
    package func budgeted(
        _ call: (BusRequest) async -> Result<BusReply, BusFailure>
    ) async throws(BusFailure) -> BusReply {
        guard let budget = RequestBudget.current else { return try await call(self).get() }
        guard !budget.isSpent else { throw .budgetSpent }
        var request = self
        request.budget = budget.onTheWire
        let result = await call(request)
        switch result {
        case .success(let reply): budget.use(reply.used)
        case .failure(let failure): budget.use(failure.used)
        }
        return try result.get()
    }
}
