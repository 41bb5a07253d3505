import Synchronization

/// Collects the replies to the writes of one commit, which complete in sequence on one thread. Their lane gets them
/// together, so that its thread and all later threads wake up once for the whole batch.
public final class ReplyBatch: Sendable {
    /// Limit of replies per batch. The first one waits some microseconds for each of the others.
    private static let countMax = 32

    private struct State {
        var lane: LaneLink?
        var replies: [LaneLink.Work] = []
        var isOpen = false

        mutating func leave() {
            lane?.thread.mailbox.post(contentsOf: replies)
            replies.removeAll(keepingCapacity: true)
        }
    }

    private let state = Mutex(State())

    /// A closed batch, for one commit after the other.
    public init() {}

    /// Runs `body` and sends the replies that join the batch meanwhile at its end, or earlier when there are many or
    /// they are for different lanes. Later replies leave directly. Called by one thread at a time.
    public func gather(_ body: () -> Void) {
        state.withLock { $0.isOpen = true }
        body()
        state.withLock { state in
            state.isOpen = false
            state.leave()
            state.lane = nil
        }
    }

    /// Adds a reply; false when the batch is closed.
    func add(_ reply: BusMessage, to lane: LaneLink) -> Bool {
        state.withLock { state in
            guard state.isOpen else { return false }
            if state.lane !== lane || state.replies.count >= Self.countMax { state.leave() }
            state.lane = lane
            state.replies.append(.send(reply))
            return true
        }
    }
}
