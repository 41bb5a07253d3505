import Cryptography
import Foundation
import Messages
import ParseProtocol

/// The subscriptions of this gateway, by the numbers under which services know them. No I/O: `LiveHub` guards it with a
/// lock and sends the resulting messages.
///
/// A service's number is used once. When the rights of a client may have changed, the gateway asks the service to hold
/// the number: events matched before are still delivered, and no event is matched under it afterwards. The subscription
/// continues under a new number with the new rights, from the position of the hold.
package struct SubscriptionRegistry {
    /// One number of a subscription at its service.
    private struct Entry {
        let subscription: LiveSubscription
        /// The position up to which the client has received events.
        let cursor: LiveCursor?
        /// The number that this one replaces; 0 for none.
        let replaces: UInt64
        /// Nil until the service has replied.
        var feed: UInt64?
        /// Messages that arrived before the service's reply.
        var waiting: [LiveMessage] = []
        var userId = ""
        /// The rights may differ from the ones in the request to the service.
        var isStale = false
        /// The number of the last poll reply with events under this number; nil while it is active.
        var retiresAt: UInt64?
    }

    private struct Service {
        var feed: UInt64 = 0
        var taken: UInt64 = 0
        var count = 0
        var isAsking = false
    }

    /// A subscription that continues under a new number.
    package struct Renewal {
        package let subscription: LiveSubscription
        package let replaces: UInt64
    }

    /// Whether the caches of sessions and triggers include all changes by other gateways (`CacheLease`).
    package struct Trust {
        let sessions: Bool
        let classes: Bool

        package init(sessions: Bool = true, classes: Bool = true) {
            self.sessions = sessions
            self.classes = classes
        }

        /// Whether a subscription may get events that were matched under its rights.
        func holds(for subscription: LiveSubscription) -> Bool {
            classes && (sessions || subscription.credentials.sessionToken == nil)
        }
    }

    package typealias Deliveries = [(subscription: LiveSubscription, message: LiveMessage)]

    /// The result of a service's reply.
    package enum ReplyResult {
        case deliver(Deliveries)
        /// The rights may have changed in the meantime: the service has to be asked again.
        case again
    }

    /// Messages that may wait for the reply to a subscription.
    private static let waitingMax = 1000
    static let reconnect = LiveProblem(
        2, "Events may have been missed. Connect again and query the objects again.", reconnects: true)

    private var entries: [UInt64: Entry] = [:]
    private var numbers: [ObjectIdentifier: Set<UInt64>] = [:]
    private var byUser: [String: Set<UInt64>] = [:]
    /// Numbers whose session is not resolved yet.
    private var unidentified: Set<UInt64> = []
    /// Numbers that are removed after the poll reply in their `retiresAt`.
    private var retiring: Set<UInt64> = []
    private var services: [String: Service] = [:]
    private var last: UInt64 = 0

    package init() {}

    package var count: Int { entries.count }

    /// Whether the number is registered.
    package func has(_ number: UInt64) -> Bool { entries[number] != nil }

    // MARK: Beginning

    /// - Parameters:
    ///   - cursor: the position up to which the client has received events.
    ///   - replaces: the number that the new one replaces; 0 for none.
    /// - Returns: the number for the request to the service.
    package mutating func begin(
        _ subscription: LiveSubscription, after cursor: LiveCursor?, replacing replaces: UInt64 = 0
    ) -> UInt64 {
        last += 1
        entries[last] = Entry(subscription: subscription, cursor: cursor, replaces: replaces)
        numbers[ObjectIdentifier(subscription), default: []].insert(last)
        unidentified.insert(last)
        services[subscription.service, default: Service()].count += 1
        return last
    }

    /// True when polling of the service has to start now; then the caller starts it.
    package mutating func startsPolling(_ service: String) -> Bool {
        guard services[service]?.isAsking == false else { return false }
        services[service]?.isAsking = true
        return true
    }

    /// Records the user of the session. Until then any change of sessions may affect it.
    /// - Returns: false when the rights may have changed in the meantime, or the subscription has ended.
    package mutating func identify(_ number: UInt64, _ userId: String) -> Bool {
        guard let entry = entries[number], !entry.isStale else { return false }
        entries[number]?.userId = userId
        unidentified.remove(number)
        byUser[userId, default: []].insert(number)
        return true
    }

    /// Handles the service's reply.
    package mutating func began(_ number: UInt64, _ answer: LiveSubscribed) -> ReplyResult {
        guard var entry = entries[number] else { return .deliver([]) }
        let subscription = entry.subscription
        let service = services[subscription.service] ?? Service()
        // Nothing was confirmed to the client yet. The waiting messages were matched under rights that may be outdated.
        guard !entry.isStale else {
            remove(number)
            return .again
        }
        let isRenewal = entry.replaces != 0
        guard service.feed == 0 || service.feed == answer.feed, entry.waiting.count <= Self.waitingMax,
            !(isRenewal && answer.missed)
        else {
            for number in numbers[ObjectIdentifier(subscription)] ?? [] { remove(number) }
            return .deliver([(subscription, .ended(Self.reconnect))])
        }
        if service.feed == 0 { services[subscription.service]?.feed = answer.feed }
        entry.feed = answer.feed
        var messages: Deliveries = []
        if isRenewal {
            retire(entry.replaces, at: answer.sent)
        } else {
            let position = answer.missed ? answer.position : entry.cursor?.position ?? answer.position
            let cursor = LiveCursor(feed: answer.feed, position: position)
            messages.append((subscription, .subscribed(cursor, missed: answer.missed)))
        }
        messages += entry.waiting.map { (subscription, $0) }
        let isOver = entry.waiting.contains { if case .ended = $0 { true } else { false } }
        entry.waiting = []
        entries[number] = entry
        if isOver { remove(number) }
        return .deliver(messages)
    }

    // MARK: Ending

    /// - Returns: the numbers that the service may drop.
    @discardableResult
    package mutating func end(_ subscription: LiveSubscription) -> [UInt64] {
        let all = numbers[ObjectIdentifier(subscription)] ?? []
        all.forEach { remove($0) }
        return all.sorted()
    }

    /// - Returns: whether the number was registered.
    @discardableResult
    package mutating func end(_ number: UInt64) -> Bool {
        defer { remove(number) }
        return entries[number] != nil
    }

    private mutating func retire(_ number: UInt64, at sent: UInt64) {
        guard let entry = entries[number] else { return }
        guard services[entry.subscription.service]?.taken ?? 0 < sent else { return remove(number) }
        entries[number]?.retiresAt = sent
        retiring.insert(number)
    }

    private mutating func remove(_ number: UInt64) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        let identity = ObjectIdentifier(entry.subscription)
        numbers[identity]?.remove(number)
        if numbers[identity]?.isEmpty == true { numbers[identity] = nil }
        byUser[entry.userId]?.remove(number)
        if byUser[entry.userId]?.isEmpty == true { byUser[entry.userId] = nil }
        retiring.remove(number)
        unidentified.remove(number)
        services[entry.subscription.service]?.count -= 1
    }

    // MARK: Rights

    /// Handles an invalidation of sessions.
    /// - Returns: the subscriptions to renew, each with the number that its service has to hold now.
    package mutating func forget(_ forget: Forget) -> [Renewal] {
        var affected = Set<UInt64>()
        if forget.everything {
            affected = Set(entries.keys)
        } else {
            affected = unidentified
            for userId in forget.userIds { affected.formUnion(byUser[userId] ?? []) }
        }
        if !forget.loggedOut.isEmpty {
            let ended = Set(forget.loggedOut)
            for subscription in affected.compactMap({ entries[$0]?.subscription }) {
                guard let token = subscription.credentials.sessionToken else { continue }
                if ended.contains(Data(SHA256.hash(data: Data(token.utf8)))) { subscription.logOut() }
            }
        }
        var renewals: [Renewal] = []
        for number in affected.sorted() {
            guard let entry = entries[number], !entry.isStale, entry.retiresAt == nil,
                entry.subscription.credentials.sessionToken != nil
            else { continue }
            entries[number]?.isStale = true
            // A subscription without a reply yet is requested again by its pending request.
            if entry.feed != nil { renewals.append(Renewal(subscription: entry.subscription, replaces: number)) }
        }
        return renewals
    }

    /// The active subscriptions whose rights may have changed.
    func withSessions(in forget: Forget) -> [LiveSubscription] {
        guard forget.everything else { return [] }
        return entries.values.filter { $0.feed != nil && $0.subscription.credentials.sessionToken != nil }
            .map(\.subscription)
    }

    /// Every subscription with a session.
    var withSessions: [LiveSubscription] {
        entries.values.map(\.subscription).filter { $0.credentials.sessionToken != nil }
    }

    /// The connections without duplicates.
    var sinks: [any LiveSink] {
        var sinks: [ObjectIdentifier: any LiveSink] = [:]
        for entry in entries.values { sinks[ObjectIdentifier(entry.subscription.sink)] = entry.subscription.sink }
        return Array(sinks.values)
    }

    // MARK: Polling

    /// The state for the next poll of a service; nil when it has no subscriptions.
    package mutating func question(_ service: String) -> (feed: UInt64, taken: UInt64)? {
        guard let state = services[service], state.count > 0 else {
            services[service] = nil
            return nil
        }
        return (state.feed, state.taken)
    }

    /// Maps a poll reply to messages for subscriptions.
    /// - Parameters:
    ///   - documents: the objects of the notices, with the URLs of files.
    ///   - trust: when it does not hold, a subscription ends, and its client reconnects.
    ///   - policy: the trigger status of a class now.
    /// - Returns: the messages to deliver, and numbers that the service may drop.
    package mutating func take(
        _ news: LiveNews, _ documents: [[UInt8]], of service: String, trust: Trust = Trust(),
        policy: (String) -> LiveTriggerPolicy
    ) -> (deliveries: Deliveries, strangers: [UInt64]) {
        guard var state = services[service] else { return ([], []) }
        var deliveries: Deliveries = []
        if state.feed != 0, state.feed != news.feed {
            // The writer was replaced, or it dropped events.
            for (number, entry) in entries where entry.subscription.service == service {
                guard let feed = entry.feed, feed != news.feed else { continue }
                deliveries.append((entry.subscription, .ended(Self.reconnect)))
                remove(number)
            }
            services[service]?.feed = news.feed
            services[service]?.taken = 0
            return (deliveries, [])
        }
        var strangers: [UInt64] = []
        // Receivers of one notice are adjacent, so the result for the last class is reused.
        var lastClass: (className: String, policy: LiveTriggerPolicy)?
        for notice in news.notices {
            let message = Self.message(notice, documents, news.feed)
            for number in notice.subscriptions {
                guard let entry = entries[number] else {
                    strangers.append(number)
                    continue
                }
                guard trust.holds(for: entry.subscription) else {
                    deliver(.ended(Self.reconnect), to: number, entry, &deliveries)
                    strangers.append(number)
                    continue
                }
                let className = entry.subscription.className
                if lastClass?.className != className { lastClass = (className, policy(className)) }
                let ends = lastClass?.policy.ends(entry.subscription) ?? false
                deliver(ends ? Self.closed(entry.subscription) : message, to: number, entry, &deliveries)
            }
        }
        state = services[service] ?? state
        state.feed = news.feed
        state.taken = news.sent
        services[service] = state
        for number in retiring where entries[number]?.subscription.service == service {
            if let end = entries[number]?.retiresAt, end <= news.sent { remove(number) }
        }
        return (deliveries, strangers)
    }

    private mutating func deliver(
        _ message: LiveMessage, to number: UInt64, _ entry: Entry, _ deliveries: inout Deliveries
    ) {
        guard entry.feed != nil else {
            if entry.waiting.count <= Self.waitingMax { entries[number]?.waiting.append(message) }
            return
        }
        deliveries.append((entry.subscription, message))
        if case .ended = message { remove(number) }
    }

    private static func closed(_ subscription: LiveSubscription) -> LiveMessage {
        .ended(LiveProblem(LiveAccess.closed(subscription.className), requestId: subscription.requestId))
    }

    private static func message(_ notice: LiveNotice, _ documents: [[UInt8]], _ feed: UInt64) -> LiveMessage {
        func document(_ number: UInt32) -> [UInt8]? {
            let index = Int(number) - 1
            return documents.indices.contains(index) ? documents[index] : nil
        }
        guard notice.kind != .ended else {
            return .ended(LiveProblem(Int(notice.code), notice.message))
        }
        return .event(
            LiveDelivery(
                kind: notice.kind, cursor: LiveCursor(feed: feed, position: notice.position),
                object: document(notice.object) ?? Array("{}".utf8), original: document(notice.original),
                hidden: notice.hidden))
    }
}
