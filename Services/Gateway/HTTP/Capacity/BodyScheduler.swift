import Dispatch
import ParseProtocol

/// Lets large bodies wait in a `BodyQueue`.
actor BodyScheduler {
    private var queue: BodyQueue
    private var waiting: [BodyQueue.Ticket: CheckedContinuation<Bool, Never>] = [:]
    private var isServing = false

    /// - Parameter share: of one processor.
    init(share: Double) { queue = BodyQueue(share: share) }

    /// Returns when the gateway may decode the body.
    /// - Parameter work: the estimated work in nanoseconds.
    /// - Throws: `.requestLimitExceeded` (155) when it waited too long, or when too many wait already. Then it throws
    ///   after a delay, which slows down a client that sends large bodies as fast as they are refused.
    func wait(for work: UInt64, from network: String) async throws(ParseError) {
        switch queue.enter(network, work: work, now: DispatchTime.now().uptimeNanoseconds) {
        case .ready: return
        case .full:
            await Self.delay()
            throw BodyReader.full
        case .waits(let ticket):
            let isReady = await withCheckedContinuation { continuation in
                waiting[ticket] = continuation
                guard !isServing else { return }
                isServing = true
                Task { await self.serve() }
            }
            guard isReady else { throw BodyReader.full }
        }
    }

    /// The delay before a large body is refused.
    static func delay() async { try? await Task.sleep(for: .seconds(1)) }

    private func serve() async {
        while !queue.isEmpty {
            while let (ticket, isReady) = queue.next(now: DispatchTime.now().uptimeNanoseconds) {
                waiting.removeValue(forKey: ticket)?.resume(returning: isReady)
            }
            guard !queue.isEmpty else { break }
            let pause = queue.pause(now: DispatchTime.now().uptimeNanoseconds)
            try? await Task.sleep(for: .nanoseconds(Int64(clamping: pause)))
        }
        isServing = false
    }
}

/// The two queues of large bodies: of unauthenticated clients, and of signed-in customers.
struct BodyQueues: Sendable {
    enum Sender {
        /// A client without keys or without a user's account; also an anonymous user.
        case unauthenticated
        /// A user with an account.
        case customer
        /// A request with the master or maintenance key. Never waits.
        case `operator`
    }

    private let unauthenticated, customers: BodyScheduler

    /// - Parameter share: of one processor, for each queue.
    init(share: Double) {
        unauthenticated = BodyScheduler(share: share)
        customers = BodyScheduler(share: share)
    }

    /// Returns when the gateway may decode a JSON text of a client: immediately for a small one.
    /// - Throws: `.requestLimitExceeded` (155).
    func waitToDecode(
        _ body: [UInt8], from network: String, _ sender: Sender, quickBytes: Int = BodyQueue.quickBytes
    ) async throws(ParseError) {
        guard body.count > quickBytes else { return }
        try await wait(for: BodyQueue.work(for: body), from: network, sender)
    }

    /// Returns when the gateway may do work of so many nanoseconds for a client.
    func wait(for work: UInt64, from network: String, _ sender: Sender) async throws(ParseError) {
        guard sender != .operator else { return }
        try await (sender == .customer ? customers : unauthenticated).wait(for: work, from: network)
    }
}
