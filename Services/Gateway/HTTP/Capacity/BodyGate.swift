import Dispatch
import ParseProtocol

/// The gate at which large bodies wait for their turn (`BodyTurns`).
package actor BodyGate {
    private var turns: BodyTurns
    private var waiting: [BodyTurns.Ticket: CheckedContinuation<Bool, Never>] = [:]
    private var isServing = false

    /// - Parameter share: of one processor.
    package init(share: Double) { turns = BodyTurns(share: share) }

    package var waitingCount: Int { waiting.count }

    /// Returns when it is the body's turn.
    /// - Throws: `.requestLimitExceeded` (155) when it waited for too long, or too many wait already. Not at once then:
    ///   whoever sends large bodies as fast as they are refused is slowed down by it.
    package func turn(of network: String, work: UInt64) async throws(ParseError) {
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
                // Detached: it outlives this request, whose share of memory for answers it must not hold.
                Task.detached { await self.serve() }
            }
            guard isTurn else { throw BodyReader.full }
        }
    }

    /// The wait of a large body for its refusal.
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

/// The two lines of large bodies: of strangers, and of customers who are signed in.
struct LargeBodyTurns: Sendable {
    enum Sender {
        case stranger, customer
        /// Never waits.
        case `operator`
    }

    private let strangers, customers: BodyGate

    /// - Parameter share: of one processor, for each line.
    init(share: Double) {
        strangers = BodyGate(share: share)
        customers = BodyGate(share: share)
    }

    /// Returns when it is the turn of a JSON body, at once when it is small.
    /// - Throws: `.requestLimitExceeded` (155).
    func turn(of network: String, _ sender: Sender, _ body: [UInt8]) async throws(ParseError) {
        guard body.count > BodyTurns.quickBytes, sender != .operator else { return }
        let line = sender == .customer ? customers : strangers
        try await line.turn(of: network, work: BodyTurns.work(for: body))
    }
}
