import DequeModule
import Messages
import ParseProtocol

/// The events that wait for cloud code (`afterLiveQueryEvent`), in the order of each subscription. No I/O, except for
/// the common backlog counter: `LiveHub` guards it with a lock and makes its calls.
///
/// Several calls of one subscription may be in flight; their outcomes are delivered in the order of the events. All
/// receivers of the same event with the same session and the same `keys` share one call.
package struct LiveTriggerQueue {
    /// A call of cloud code about one event.
    package struct Call: Sendable {
        package let number: UInt64
        package let event: LiveDelivery
        /// One of the receivers; the others have the same rights.
        package let subscription: LiveSubscription
    }

    /// The outcome of an event.
    package enum Outcome: Sendable {
        /// The event is delivered, as it is or with the code's changes.
        case deliver(LiveDelivery)
        /// The code suppressed the event.
        case withheld
        /// The code refused the event; the subscription continues.
        case refused(LiveProblem)
        /// The code could not be called: the subscription ends, so that no event is sent without the code's check.
        case ended(LiveProblem)
    }

    /// The result of an event or of a call.
    package struct Step {
        /// The messages to deliver, in order.
        package var deliveries: SubscriptionRegistry.Deliveries = []
        /// The calls to make now.
        package var calls: [Call] = []
        /// The subscriptions that end with this step; `deliveries` has the reason.
        package var over: [LiveSubscription] = []
    }

    private struct Line {
        let subscription: LiveSubscription
        var slots: Deque<Slot> = []
    }

    private struct Slot {
        /// The pending call; nil when the message is final.
        var call: UInt64?
        var message: LiveMessage?
        var bytes = 0
    }

    private struct Asked {
        let call: Call
        var waiting: [LiveSubscription]
        var hasBegun = false
    }

    /// Events that differ in their receivers only.
    private struct Group: Hashable {
        let className: String
        let position: UInt64
        let kind: LiveNotice.Kind
        let token: String?
        let isMaster: Bool
        let keys: [String]
        let hidden: [String]
    }

    /// Concurrent calls: some more than the processes of cloud code run at once, and far fewer than may wait there for
    /// functions and other triggers.
    package static let callsAtOnce = 32
    /// Calls that may wait; past the limit the affected subscriptions end and their clients reconnect.
    package static let waitingMax = 4096

    private let bytesMax: Int
    private let backlog: LiveBacklog
    private var lines: [ObjectIdentifier: Line] = [:]
    /// Waiting bytes by connection.
    private var bytes: [ObjectIdentifier: Int] = [:]
    private var asked: [UInt64: Asked] = [:]
    private var queue: Deque<UInt64> = []
    private var running = 0
    private var last: UInt64 = 0

    /// - Parameters:
    ///   - bytesMax: bytes that may wait for one connection; the same limit as for a slow client.
    ///   - backlog: the bytes that wait for all clients.
    package init(bytesMax: Int, backlog: LiveBacklog) {
        self.bytesMax = bytesMax
        self.backlog = backlog
    }

    /// Whether no event and no call is waiting.
    package var isEmpty: Bool { lines.isEmpty && asked.isEmpty }

    // MARK: Queueing

    /// Takes messages to deliver.
    /// - Parameter asks: whether cloud code is called for the events of a class.
    package mutating func take(_ deliveries: SubscriptionRegistry.Deliveries, asks: (String) -> Bool) -> Step {
        var step = Step()
        var groups: [Group: [UInt64]] = [:]
        // Receivers of one notice are adjacent, so the result for the last class is reused.
        var lastClass: (className: String, isAsked: Bool)?
        for (subscription, message) in deliveries where !subscription.isOver {
            let id = ObjectIdentifier(subscription)
            if lastClass?.className != subscription.className {
                lastClass = (subscription.className, asks(subscription.className))
            }
            if case .event(let event) = message, lastClass?.isAsked == true {
                guard hasRoom(for: event, of: subscription) else {
                    end(subscription, Self.tooSlow, &step)
                    continue
                }
                let number = ask(event, subscription, &groups)
                if !append(Slot(call: number, bytes: event.bytes), subscription) {
                    end(subscription, Self.tooSlow, &step)
                }
            } else if lines[id] != nil {
                append(Slot(message: message), subscription)
            } else {
                step.deliveries.append((subscription, message))
            }
        }
        step.calls = begin()
        return step
    }

    /// The trigger backlog shares the limit of the client's queue.
    private func hasRoom(for event: LiveDelivery, of subscription: LiveSubscription) -> Bool {
        guard asked.count < Self.waitingMax else { return false }
        // The first event passes at any size, as in `LiveQueue`.
        let waiting = bytes[ObjectIdentifier(subscription.sink)] ?? 0
        return waiting == 0 || waiting + event.bytes <= bytesMax
    }

    /// - Returns: whether the common backlog is within its limit.
    @discardableResult
    private mutating func append(_ slot: Slot, _ subscription: LiveSubscription) -> Bool {
        lines[ObjectIdentifier(subscription), default: Line(subscription: subscription)].slots.append(slot)
        let isAlone = bytes[ObjectIdentifier(subscription.sink)] == nil
        return count(slot.bytes, subscription) || isAlone
    }

    private mutating func ask(
        _ event: LiveDelivery, _ subscription: LiveSubscription, _ groups: inout [Group: [UInt64]]
    ) -> UInt64 {
        let group = Group(
            className: subscription.className, position: event.cursor.position, kind: event.kind,
            token: subscription.credentials.sessionToken, isMaster: subscription.admitted.master,
            keys: subscription.query.keys, hidden: event.hidden)
        let pending = groups[group]?.first {
            asked[$0]?.call.event.object == event.object && asked[$0]?.call.event.original == event.original
        }
        if let pending {
            asked[pending]?.waiting.append(subscription)
            return pending
        }
        last += 1
        groups[group, default: []].append(last)
        let call = Call(number: last, event: event, subscription: subscription)
        asked[last] = Asked(call: call, waiting: [subscription])
        queue.append(last)
        return last
    }

    // MARK: Delivery

    /// Handles the outcome of a call.
    package mutating func finish(_ number: UInt64, _ outcome: Outcome) -> Step {
        var step = Step()
        running -= 1
        if let done = asked.removeValue(forKey: number) {
            for subscription in done.waiting { fill(number, outcome, done.call.event, subscription, &step) }
        }
        step.calls = begin()
        return step
    }

    private mutating func fill(
        _ number: UInt64, _ outcome: Outcome, _ event: LiveDelivery, _ subscription: LiveSubscription,
        _ step: inout Step
    ) {
        let id = ObjectIdentifier(subscription)
        // A subscription that has ended in the meantime has no line.
        guard let index = lines[id]?.slots.firstIndex(where: { $0.call == number }) else { return }
        let message: LiveMessage?
        switch outcome {
        case .deliver(let event): message = .event(event)
        case .withheld: message = nil
        case .refused(let problem): message = .refused(problem, event.cursor)
        case .ended(let problem): message = .ended(problem)
        }
        lines[id]?.slots[index].call = nil
        lines[id]?.slots[index].message = message
        drain(subscription, &step)
    }

    private mutating func drain(_ subscription: LiveSubscription, _ step: inout Step) {
        let id = ObjectIdentifier(subscription)
        while let slot = lines[id]?.slots.first, slot.call == nil {
            if case .ended(let problem)? = slot.message { return end(subscription, problem, &step) }
            lines[id]?.slots.removeFirst()
            count(-slot.bytes, subscription)
            if let message = slot.message { step.deliveries.append((subscription, message)) }
        }
        if lines[id]?.slots.isEmpty == true { lines[id] = nil }
    }

    private mutating func end(_ subscription: LiveSubscription, _ problem: LiveProblem, _ step: inout Step) {
        subscription.end()
        forget(subscription)
        step.deliveries.append((subscription, subscription.end(by: problem)))
        step.over.append(subscription)
    }

    /// Removes an ended subscription.
    package mutating func forget(_ subscription: LiveSubscription) {
        guard let line = lines.removeValue(forKey: ObjectIdentifier(subscription)) else { return }
        count(-line.slots.reduce(0) { $0 + $1.bytes }, subscription)
        for number in line.slots.compactMap(\.call) {
            asked[number]?.waiting.removeAll { $0 === subscription }
            // A call without receivers is not started.
            if let waits = asked[number], waits.waiting.isEmpty, !waits.hasBegun { asked[number] = nil }
        }
    }

    private mutating func begin() -> [Call] {
        var calls: [Call] = []
        while running < Self.callsAtOnce, let number = queue.popFirst() {
            guard let call = asked[number]?.call else { continue }
            asked[number]?.hasBegun = true
            running += 1
            calls.append(call)
        }
        return calls
    }

    @discardableResult
    private mutating func count(_ change: Int, _ subscription: LiveSubscription) -> Bool {
        let id = ObjectIdentifier(subscription.sink)
        let now = (bytes[id] ?? 0) + change
        bytes[id] = now > 0 ? now : nil
        return backlog.add(change)
    }

    private static let tooSlow = LiveProblem(
        155, "Cloud code is too slow for the events. Connect again.", reconnects: true)
}
