import ParseProtocol

/// One client's side of the protocol: what becomes of its messages. Pure: it is told what arrives and when.
package struct LiveSession {
    /// The step that follows from a message.
    package enum Action: Equatable {
        /// Check the keys; `connected` or `refused` follows.
        case connect(LiveConnect)
        /// Ends the subscription that has the requestId, if there is one, and begins this one.
        case subscribe(LiveSubscribing)
        case unsubscribe(requestId: Int64)
        case refuse(LiveProblem)
        /// After the problem is told the connection ends.
        case end(LiveProblem)
    }

    private enum State { case fresh, connecting, connected, over }

    /// Messages at once, and the nanoseconds in which they come back: an app that starts sends some dozens.
    private static let messages = TokenBucket(count: 300, window: 60_000_000_000)

    private let subscriptionsMax: Int
    private var state = State.fresh
    private var requestIds: Set<Int64> = []
    private var fullAt: Int64 = .min

    package init(subscriptionsMax: Int) { self.subscriptionsMax = subscriptionsMax }

    package var isConnected: Bool { state == .connected }
    /// Whether anything may still be told.
    package var isOver: Bool { state == .over }

    /// - Parameter now: nanoseconds of a clock that nobody sets.
    package mutating func received(_ text: [UInt8], now: Int64) -> Action? {
        guard state != .over else { return nil }
        guard Self.messages.wait(fullAt: fullAt, at: now) == 0 else {
            return end(LiveProblem(155, "Too many messages. Connect again later.", reconnects: true))
        }
        fullAt = Self.messages.fullAt(from: max(fullAt, now), at: now)
        do {
            return action(for: try LiveRequest(text))
        } catch {
            return .refuse(error)
        }
    }

    private mutating func action(for request: LiveRequest) -> Action {
        switch (request, state) {
        case (.connect(let connect), .fresh):
            state = .connecting
            return .connect(connect)
        case (.connect, _): return .refuse(.schema("This connection has been connected."))
        case (.subscribe(let subscribing), .connected):
            guard requestIds.contains(subscribing.requestId) || requestIds.count < subscriptionsMax else {
                return .refuse(
                    LiveProblem(
                        155, "A connection has at most \(subscriptionsMax) subscriptions.",
                        requestId: subscribing.requestId))
            }
            requestIds.insert(subscribing.requestId)
            return .subscribe(subscribing)
        case (.update(let subscribing), .connected):
            guard requestIds.contains(subscribing.requestId) else {
                return .refuse(.noSubscription(subscribing.requestId))
            }
            return .subscribe(subscribing)
        case (.unsubscribe(let id), .connected):
            guard requestIds.remove(id) != nil else { return .refuse(.noSubscription(id)) }
            return .unsubscribe(requestId: id)
        case (.subscribe, _), (.update, _), (.unsubscribe, _): return .refuse(.notConnected)
        }
    }

    /// The keys are right.
    package mutating func connected() { if state == .connecting { state = .connected } }

    /// A subscription is over, or never came to be.
    package mutating func ended(_ requestId: Int64) { requestIds.remove(requestId) }

    package mutating func end(_ problem: LiveProblem) -> Action {
        state = .over
        return .end(problem)
    }

    /// The connection is closed.
    package mutating func closed() { state = .over }
}
