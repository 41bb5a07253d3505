import Synchronization

/// The replies that one thread gives in a row, such as those to the writes of one commit. Their lane gets them
/// together: its thread wakes up once for all of them, and so does every thread that they pass on their way.
public final class ReplyBatch: Sendable {
    @TaskLocal static var current: ReplyBatch?

    /// Replies that leave together at most. The first waits for the last, some microseconds for each.
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

    /// Runs `body` and sends the replies that it gives: at its end, or sooner when there are many of them or they are
    /// for several lanes. A task that `body` begins sends its own at once when it outlives it.
    public static func gather(_ body: () -> Void) {
        let batch = ReplyBatch()
        $current.withValue(batch, operation: body)
        batch.state.withLock { state in
            state.isOpen = false
            state.leave()
        }
    }

    /// Adds a reply; false when the batch has left.
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
