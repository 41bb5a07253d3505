import Messages
import ParseProtocol

/// The subscriptions of this gateway, by the numbers under which services know them. Pure: `LiveHub` guards it and
/// sends what it decides.
///
/// A service's number is used once. When the rights of a client may have changed, the service is told at once to hold
/// its number: what it decided before still goes out, nothing is decided under it any more. Under its new rights the
/// subscription gets another number and begins where the old one was held.
package struct LiveRegister {
    /// The service's side of the subscription.
    private struct Entry {
        let subscription: LiveSubscription
        /// Where the client stopped listening.
        let cursor: LiveCursor?
        /// The number whose place this one takes; 0 for none.
        let replaces: UInt64
        /// Nil until the service has answered.
        var feed: UInt64?
        /// What came while the service had not answered.
        var waiting: [LiveMessage] = []
        var userId = ""
        /// The rights may be others than those with which the service was asked.
        var isStale = false
        /// The number of the news with which all is told that there is to tell under this one; nil while it goes on.
        var retiresAt: UInt64?
    }

    private struct Service {
        var feed: UInt64 = 0
        var taken: UInt64 = 0
        var count = 0
        var isAsking = false
    }

    /// A subscription that goes on in the place of a number.
    package struct Renewal {
        package let subscription: LiveSubscription
        package let replaces: UInt64
    }

    /// The answer whether what this gateway knows at a moment is all that others have changed (`KnowledgeLease`).
    package struct Trust {
        let sessions: Bool
        let classes: Bool

        package init(sessions: Bool = true, classes: Bool = true) {
            self.sessions = sessions
            self.classes = classes
        }

        /// Whether a subscription may be told what was decided under its rights.
        func holds(for subscription: LiveSubscription) -> Bool {
            classes && (sessions || subscription.credentials.sessionToken == nil)
        }
    }

    package typealias Told = [(subscription: LiveSubscription, message: LiveMessage)]

    /// The consequence of a service's answer.
    package enum Beginning {
        case told(Told)
        /// The rights may have changed meanwhile: it has to be asked again.
        case again
    }

    /// Messages that may wait for the answer to a subscription.
    private static let waitingMax = 1000
    static let reconnect = LiveProblem(
        2, "Something may have been missed. Connect again and ask for the objects anew.", reconnects: true)

    private var entries: [UInt64: Entry] = [:]
    private var numbers: [ObjectIdentifier: Set<UInt64>] = [:]
    private var byUser: [String: Set<UInt64>] = [:]
    /// Numbers of which it is not known yet whose session it is.
    private var unidentified: Set<UInt64> = []
    /// Numbers that are over when the news up to theirs are taken.
    private var retiring: Set<UInt64> = []
    private var services: [String: Service] = [:]
    private var last: UInt64 = 0

    package init() {}

    package var count: Int { entries.count }

    /// Whether somebody waits for what a service tells under a number.
    package func has(_ number: UInt64) -> Bool { entries[number] != nil }

    // MARK: Beginning

    /// - Parameters:
    ///   - cursor: where the client stopped listening.
    ///   - replaces: the number whose place it takes; 0 for none.
    /// - Returns: the number under which the service is asked.
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

    /// Whether the news of a service have to be asked for from now on; then the caller does.
    package mutating func startsAsking(_ service: String) -> Bool {
        guard services[service]?.isAsking == false else { return false }
        services[service]?.isAsking = true
        return true
    }

    /// Says whose session it is. Until then any change of sessions may be its own.
    /// - Returns: false when the rights may have changed meanwhile, or it was ended.
    package mutating func identify(_ number: UInt64, _ userId: String) -> Bool {
        guard let entry = entries[number], !entry.isStale else { return false }
        entries[number]?.userId = userId
        unidentified.remove(number)
        byUser[userId, default: []].insert(number)
        return true
    }

    /// The service has answered.
    package mutating func began(_ number: UInt64, _ answer: LiveSubscribed) -> Beginning {
        guard var entry = entries[number] else { return .told([]) }
        let subscription = entry.subscription
        let service = services[subscription.service] ?? Service()
        // Nothing was promised yet; what waits was decided under rights that may be others by now.
        guard !entry.isStale else {
            remove(number)
            return .again
        }
        let isRenewal = entry.replaces != 0
        guard service.feed == 0 || service.feed == answer.feed, entry.waiting.count <= Self.waitingMax,
            !(isRenewal && answer.missed)
        else {
            for number in numbers[ObjectIdentifier(subscription)] ?? [] { remove(number) }
            return .told([(subscription, .ended(Self.reconnect))])
        }
        if service.feed == 0 { services[subscription.service]?.feed = answer.feed }
        entry.feed = answer.feed
        var messages: Told = []
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
        return .told(messages)
    }

    // MARK: Ending

    /// - Returns: the numbers that the service may forget.
    @discardableResult
    package mutating func end(_ subscription: LiveSubscription) -> [UInt64] {
        let all = numbers[ObjectIdentifier(subscription)] ?? []
        all.forEach { remove($0) }
        return all.sorted()
    }

    /// - Returns: whether the number was there.
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

    /// Sessions have to be looked up again.
    /// - Returns: the subscriptions that go on when that is done, each in the place of a number that its service has to
    ///   hold now.
    package mutating func forget(_ forget: Forget) -> [Renewal] {
        var affected = Set<UInt64>()
        if forget.everything {
            affected = Set(entries.keys)
        } else {
            affected = unidentified
            for userId in forget.userIds { affected.formUnion(byUser[userId] ?? []) }
        }
        var renewals: [Renewal] = []
        for number in affected.sorted() {
            guard let entry = entries[number], !entry.isStale, entry.retiresAt == nil,
                entry.subscription.credentials.sessionToken != nil
            else { continue }
            entries[number]?.isStale = true
            // One that is being asked for is asked for again by whoever asks.
            if entry.feed != nil { renewals.append(Renewal(subscription: entry.subscription, replaces: number)) }
        }
        return renewals
    }

    /// The subscriptions that have begun and whose rights something may have changed.
    func withSessions(in forget: Forget) -> [LiveSubscription] {
        guard forget.everything else { return [] }
        return entries.values.filter { $0.feed != nil && $0.subscription.credentials.sessionToken != nil }
            .map(\.subscription)
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
    ///   - trust: where it does not hold, a subscription ends, and its client comes back.
    ///   - standing: how a class stands by the triggers that there are now.
    /// - Returns: what is told, and numbers that the service may forget.
    package mutating func take(
        _ news: LiveNews, _ documents: [[UInt8]], of service: String, trust: Trust = Trust(),
        standing: (String) -> LiveStanding
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
            return (told, [])
        }
        var strangers: [UInt64] = []
        // Those who are told the same stand together.
        var known: (className: String, standing: LiveStanding)?
        for notice in news.notices {
            let message = Self.message(notice, documents, news.feed)
            for number in notice.subscriptions {
                guard let entry = entries[number] else {
                    strangers.append(number)
                    continue
                }
                guard trust.holds(for: entry.subscription) else {
                    deliver(.ended(Self.reconnect), to: number, entry, &told)
                    strangers.append(number)
                    continue
                }
                let className = entry.subscription.className
                if known?.className != className { known = (className, standing(className)) }
                let ends = known?.standing.ends(entry.subscription) ?? false
                deliver(ends ? Self.closed(entry.subscription) : message, to: number, entry, &told)
            }
        }
        state = services[service] ?? state
        state.feed = news.feed
        state.taken = news.sent
        services[service] = state
        for number in retiring where entries[number]?.subscription.service == service {
            if let end = entries[number]?.retiresAt, end <= news.sent { remove(number) }
        }
        return (told, strangers)
    }

    private mutating func deliver(
        _ message: LiveMessage, to number: UInt64, _ entry: Entry, _ told: inout Told
    ) {
        guard entry.feed != nil else {
            if entry.waiting.count <= Self.waitingMax { entries[number]?.waiting.append(message) }
            return
        }
        told.append((entry.subscription, message))
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
