import ParseProtocol

/// The protocol state of one connection. No I/O: messages and times are arguments.
package struct LiveSession {
    /// The action that follows a message.
    package enum Action: Equatable {
        /// Check the keys; the caller then calls `connected` or refuses.
        case connect(LiveConnect)
        /// End the subscription with this requestId, if there is one, and begin this one.
        case subscribe(LiveSubscribing)
        case unsubscribe(requestId: Int64)
        case refuse(LiveProblem)
        /// Send the problem and close the connection.
        case end(LiveProblem)
    }

    private enum State { case fresh, connecting, connected, over }

    /// The burst of messages, and the nanoseconds in which it refills: a starting app sends some dozens.
    private static let messages = TokenBucket(count: 300, window: 60_000_000_000)

    private let subscriptionsMax: Int
    private var state = State.fresh
    private var requestIds: Set<Int64> = []
    private var fullAt: Int64 = .min

    package init(subscriptionsMax: Int) { self.subscriptionsMax = subscriptionsMax }

    package var isConnected: Bool { state == .connected }
    /// Whether no further message may be sent.
    package var isOver: Bool { state == .over }

    /// Counts a message and decodes it.
    /// - Parameter now: nanoseconds on a monotonic clock.
    package mutating func received(_ text: [UInt8], now: Int64) -> Action? {
        arrived(now: now) ?? decoded(LiveRequest.decode(text))
    }

    /// Counts a message before it is decoded.
    /// - Parameter now: nanoseconds on a monotonic clock.
    /// - Returns: the action that ends the connection when there were too many messages; else nil.
    package mutating func arrived(now: Int64) -> Action? {
        guard state != .over else { return nil }
        guard Self.messages.wait(fullAt: fullAt, at: now) == 0 else {
            return end(LiveProblem(155, "Too many messages. Connect again later.", reconnects: true))
        }
        fullAt = Self.messages.fullAt(from: max(fullAt, now), at: now)
        return nil
    }

    package mutating func decoded(_ request: Result<LiveRequest, LiveProblem>) -> Action? {
        guard state != .over else { return nil }
        switch request {
        case .success(let request): return action(for: request)
        // The client reconnects when it sends the next message without the member.
        case .failure(let problem) where problem == .additionalProperties: return .refuse(problem)
        // A client that must reconnect sent a message that was not even decoded.
        case .failure(let problem): return problem.reconnects ? end(problem) : .refuse(problem)
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

    /// Called when the keys are valid.
    package mutating func connected() { if state == .connecting { state = .connected } }

    /// Called when a subscription has ended or failed.
    package mutating func ended(_ requestId: Int64) { requestIds.remove(requestId) }

    package mutating func end(_ problem: LiveProblem) -> Action {
        state = .over
        return .end(problem)
    }

    /// Called when the connection is closed.
    package mutating func closed() { state = .over }
}
