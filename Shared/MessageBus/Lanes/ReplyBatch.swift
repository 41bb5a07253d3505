import Synchronization

/// Collects consecutive replies of one thread, such as those to the writes of one commit. Their lane gets them
/// together, so that its thread and all later threads wake up once for the whole batch.
public final class ReplyBatch: Sendable {
    @TaskLocal static var current: ReplyBatch?

    /// Limit of replies per batch. The first one waits some microseconds for each of the others.
    private static let countMax = 32

    private struct State {
        var lane: LaneLink?
        var replies: [LaneLink.Work] = []
        var isOpen = true

        mutating func leave() {
            lane?.thread.mailbox.post(contentsOf: replies)
            replies.removeAll(keepingCapacity: true)
        }
    }

    private let state = Mutex(State())

    private init() {}

    /// Runs `body` and sends the replies that it gives at its end, or earlier when there are many or they are for
    /// different lanes. A task started by `body` that outlives it sends its replies directly.
    public static func gather(_ body: () -> Void) {
        let batch = ReplyBatch()
        $current.withValue(batch, operation: body)
        batch.state.withLock { state in
            state.isOpen = false
            state.leave()
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
