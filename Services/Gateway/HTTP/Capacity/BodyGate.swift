import Dispatch
import ParseProtocol

/// The queue in which large bodies wait (`BodyTurns`).
actor BodyGate {
    private var turns: BodyTurns
    private var waiting: [BodyTurns.Ticket: CheckedContinuation<Bool, Never>] = [:]
    private var isServing = false

    /// - Parameter share: of one processor.
    init(share: Double) { turns = BodyTurns(share: share) }

    /// Returns when the body may go on.
    /// - Throws: `.requestLimitExceeded` (155) when it waited too long, or when too many wait already. Then it throws
    ///   after a delay, which slows down a client that sends large bodies as fast as they are refused.
    func turn(of network: String, work: UInt64) async throws(ParseError) {
        switch turns.enter(network, work: work, now: DispatchTime.now().uptimeNanoseconds) {
        case .goesOn: return
        case .full:
            await Self.delay()
            throw BodyReader.full
        case .waits(let ticket):
            let isTurn = await withCheckedContinuation { continuation in
                waiting[ticket] = continuation
                guard !isServing else { return }
                isServing = true
                Task { await self.serve() }
            }
            guard isTurn else { throw BodyReader.full }
        }
    }

    /// The delay before a large body is refused.
    static func delay() async { try? await Task.sleep(for: .seconds(1)) }

    private func serve() async {
        while !turns.isEmpty {
            while let (ticket, isTurn) = turns.next(now: DispatchTime.now().uptimeNanoseconds) {
                waiting.removeValue(forKey: ticket)?.resume(returning: isTurn)
            }
            guard !turns.isEmpty else { break }
            let pause = turns.pause(now: DispatchTime.now().uptimeNanoseconds)
            try? await Task.sleep(for: .nanoseconds(Int64(clamping: pause)))
        }
        isServing = false
    }
}

/// The two queues of large bodies: of unknown clients, and of signed-in customers.
struct LargeBodyTurns: Sendable {
    enum Sender {
        case stranger, customer
        /// A request with the master or maintenance key. Never waits.
        case `operator`
    }

    private let strangers, customers: BodyGate

    /// - Parameter share: of one processor, for each queue.
    init(share: Double) {
        strangers = BodyGate(share: share)
        customers = BodyGate(share: share)
    }

    /// Returns when a JSON text of a client may be decoded, at once for a small one.
    /// - Throws: `.requestLimitExceeded` (155).
    func turn(
        of network: String, _ sender: Sender, _ body: [UInt8], quickBytes: Int = BodyTurns.quickBytes
    ) async throws(ParseError) {
        guard body.count > quickBytes else { return }
        try await turn(of: network, sender, work: BodyTurns.work(for: body))
    }

    /// The same for work of so many nanoseconds.
    func turn(of network: String, _ sender: Sender, work: UInt64) async throws(ParseError) {
        guard sender != .operator else { return }
        try await (sender == .customer ? customers : strangers).turn(of: network, work: work)
    }
}
