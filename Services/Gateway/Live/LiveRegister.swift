import Messages
import ParseProtocol

/// The subscriptions of this gateway, by the numbers under which services know them. Pure: `LiveHub` guards it and
/// sends what it decides.
///
/// A service's number is used once. When the rights of a client may have changed, its number is forgotten at once, so
/// that nothing that was decided before goes out any more; under its new rights it gets another number and begins where
/// the old one stopped.
package struct LiveRegister {
    /// What a service knows of the subscription.
    private struct Entry {
        let subscription: LiveSubscription
        /// Nil until the service has answered.
        var feed: UInt64?
        /// What came while the service had not answered.
        var waiting: [LiveMessage] = []
        /// Of changes up to it everything was told; nil before it is known where it begins.
        var seen: UInt64?
        /// The number of the news with which all is told that the subscription began with.
        var completeAt: UInt64 = 0
        var userId = ""
        /// The rights may be others than those with which the service was asked.
        var isStale = false
    }

    private struct Service {
        var feed: UInt64 = 0
        var taken: UInt64 = 0
        var position: UInt64 = 0
        var count = 0
        var isAsking = false
    }

    /// Where a subscription goes on under other rights.
    package struct Renewal {
        package let subscription: LiveSubscription
        package let after: LiveCursor
    }

    package typealias Told = [(subscription: LiveSubscription, message: LiveMessage)]

    /// Messages that may wait for the answer to a subscription.
    private static let waitingMax = 1000
    private static let reconnect = LiveProblem(
        2, "Something may have been missed. Connect again and ask for the objects anew.", reconnects: true)

    private var entries: [UInt64: Entry] = [:]
    private var numbers: [ObjectIdentifier: UInt64] = [:]
    private var byUser: [String: Set<UInt64>] = [:]
    private var services: [String: Service] = [:]
    private var last: UInt64 = 0

    package init() {}

    package var count: Int { entries.count }

    // MARK: Beginning

    /// - Returns: the number under which the service is asked.
    package mutating func begin(_ subscription: LiveSubscription, after cursor: LiveCursor?) -> UInt64 {
        last += 1
        entries[last] = Entry(subscription: subscription, seen: cursor?.position)
        numbers[ObjectIdentifier(subscription)] = last
        services[subscription.service, default: Service()].count += 1
        return last
    }

    /// Whether the news of a service have to be asked for from now on; then the caller does.
    package mutating func startsAsking(_ service: String) -> Bool {
        guard services[service]?.isAsking == false else { return false }
        services[service]?.isAsking = true
        return true
    }

    /// Says whose session it is. Until then any change of sessions may be its own.
    /// - Returns: false when the rights may have changed meanwhile.
    package mutating func identify(_ number: UInt64, _ userId: String) -> Bool {
        guard let entry = entries[number], !entry.isStale else { return false }
        entries[number]?.userId = userId
        byUser[userId, default: []].insert(number)
        return true
    }

    /// The service has answered.
    /// - Parameter told: whether the client is told that its subscription has begun.
    /// - Returns: what is told, or where it begins anew because the rights may have changed meanwhile.
    package mutating func began(
        _ number: UInt64, _ answer: LiveSubscribed, tells told: Bool
    ) -> (told: Told, renewal: Renewal?) {
        guard var entry = entries[number] else { return ([], nil) }
        let subscription = entry.subscription
        let service = services[subscription.service] ?? Service()
        guard service.feed == 0 || service.feed == answer.feed, entry.waiting.count <= Self.waitingMax,
            told || !answer.missed
        else {
            remove(number)
            return ([(subscription, .ended(Self.reconnect))], nil)
        }
        if service.feed == 0 { services[subscription.service]?.feed = answer.feed }
        if entry.isStale {
            let seen = answer.missed ? answer.position : entry.seen ?? answer.position
            let cursor = LiveCursor(feed: answer.feed, position: seen)
            remove(number)
            // The client has heard nothing of it yet; what it has to know is where it begins.
            let messages: Told = told ? [(subscription, .subscribed(cursor, missed: answer.missed))] : []
            return (messages, Renewal(subscription: subscription, after: cursor))
        }
        entry.feed = answer.feed
        entry.completeAt = answer.sent
        let seen = answer.missed ? answer.position : entry.seen ?? answer.position
        entry.seen = seen
        var messages: Told = []
        if told {
            let cursor = LiveCursor(feed: answer.feed, position: seen)
            messages.append((subscription, .subscribed(cursor, missed: answer.missed)))
        }
        messages += entry.waiting.map { (subscription, $0) }
        for case .event(let event) in entry.waiting { entry.seen = max(entry.seen ?? 0, event.cursor.position) }
        let isOver = entry.waiting.contains { if case .ended = $0 { true } else { false } }
        entry.waiting = []
        entries[number] = entry
        if isOver { remove(number) }
        return (messages, nil)
    }

    // MARK: Ending

    /// - Returns: the number that the service may forget.
    @discardableResult
    package mutating func end(_ subscription: LiveSubscription) -> UInt64? {
        guard let number = numbers[ObjectIdentifier(subscription)] else { return nil }
        remove(number)
        return number
    }

    private mutating func remove(_ number: UInt64) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        numbers[ObjectIdentifier(entry.subscription)] = nil
        byUser[entry.userId]?.remove(number)
        if byUser[entry.userId]?.isEmpty == true { byUser[entry.userId] = nil }
        services[entry.subscription.service]?.count -= 1
    }

    // MARK: Rights

    /// Sessions have to be looked up again.
    /// - Returns: the subscriptions that go on when that is done, and the numbers that their services may forget.
    package mutating func forget(
        _ forget: Forget
    ) -> (renewals: [Renewal], numbers: [(service: String, number: UInt64)]) {
        var affected = Set<UInt64>()
        if forget.everything {
            affected = Set(entries.keys)
        } else {
            for userId in forget.userIds { affected.formUnion(byUser[userId] ?? []) }
            // Of whom it is not known yet whose session it is.
            for (number, entry) in entries where entry.feed == nil && entry.userId.isEmpty { affected.insert(number) }
        }
        var renewals: [Renewal] = []
        var numbers: [(service: String, number: UInt64)] = []
        for number in affected {
            guard let entry = entries[number], entry.subscription.credentials.sessionToken != nil else { continue }
            guard let feed = entry.feed else {
                entries[number]?.isStale = true
                continue
            }
            let service = services[entry.subscription.service] ?? Service()
            // News of all before are told once those are taken that it began with.
            let told = entry.seen ?? 0
            let seen = service.taken >= entry.completeAt ? max(told, service.position) : told
            renewals.append(Renewal(subscription: entry.subscription, after: LiveCursor(feed: feed, position: seen)))
            numbers.append((entry.subscription.service, number))
            remove(number)
        }
        return (renewals, numbers)
    }

    /// Every subscription with a session.
    var withSessions: [LiveSubscription] {
        entries.values.map(\.subscription).filter { $0.credentials.sessionToken != nil }
    }

    /// Every connection, each once.
    var sinks: [any LiveSink] {
        var sinks: [ObjectIdentifier: any LiveSink] = [:]
        for entry in entries.values { sinks[ObjectIdentifier(entry.subscription.sink)] = entry.subscription.sink }
        return Array(sinks.values)
    }

    // MARK: News

    /// The next question for news of a service; nil when nobody wants any.
    package mutating func question(_ service: String) -> (feed: UInt64, taken: UInt64)? {
        guard let state = services[service], state.count > 0 else {
            services[service] = nil
            return nil
        }
        return (state.feed, state.taken)
    }

    /// What the news mean for subscriptions.
    /// - Parameters:
    ///   - documents: what notices show, with the URLs of files.
    ///   - isHooked: whether a class has got a webhook that changes what may be shown.
    /// - Returns: what is told, and numbers that the service may forget.
    package mutating func take(
        _ news: LiveNews, _ documents: [[UInt8]], of service: String, isHooked: (String) -> Bool
    ) -> (told: Told, strangers: [UInt64]) {
        guard var state = services[service] else { return ([], []) }
        var told: Told = []
        if state.feed != 0, state.feed != news.feed {
            // Another writer, or one that had to drop something.
            for (number, entry) in entries where entry.subscription.service == service {
                guard let feed = entry.feed, feed != news.feed else { continue }
                told.append((entry.subscription, .ended(Self.reconnect)))
                remove(number)
            }
            services[service]?.feed = news.feed
            services[service]?.taken = 0
            services[service]?.position = 0
            return (told, [])
        }
        var strangers: [UInt64] = []
        for notice in news.notices {
            let message = Self.message(notice, documents, news.feed)
            for number in notice.subscriptions {
                guard let entry = entries[number] else {
                    strangers.append(number)
                    continue
                }
                let message = isHooked(entry.subscription.wish.className) ? Self.hooked(entry.subscription) : message
                deliver(message, to: number, entry, at: notice.position, &told)
            }
        }
        state = services[service] ?? state
        state.feed = news.feed
        state.taken = news.sent
        state.position = max(state.position, news.position)
        services[service] = state
        return (told, strangers)
    }

    private mutating func deliver(
        _ message: LiveMessage, to number: UInt64, _ entry: Entry, at position: UInt64, _ told: inout Told
    ) {
        guard entry.feed != nil else {
            if entry.waiting.count <= Self.waitingMax { entries[number]?.waiting.append(message) }
            return
        }
        told.append((entry.subscription, message))
        entries[number]?.seen = max(entry.seen ?? 0, position)
        if case .ended = message { remove(number) }
    }

    private static func hooked(_ subscription: LiveSubscription) -> LiveMessage {
        .ended(LiveProblem(LiveAccess.hooked(subscription.wish.className), requestId: subscription.requestId))
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
                object: document(notice.object) ?? Array("{}".utf8), original: document(notice.original)))
    }
}
