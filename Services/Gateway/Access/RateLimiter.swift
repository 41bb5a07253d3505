import NIOCore
import ParseProtocol
import Synchronization

/// Counts requests against `SATCHEL_RATE_LIMITS`. In memory: a restart of the gateway starts anew, and each of several
/// counts what comes to it (docs/gateways.md).
final class RateLimiter: Sendable {
    /// By whom a request is made, as far as it is known.
    struct Keys {
        let address: SocketAddress?
        var userId = ""
        var sessionToken = ""
    }

    /// The stage of what is known of a request: at first where it comes from, later who makes it.
    enum Stage { case address, person }

    private let rules: [RateRule]
    /// Without rules nobody needs to know which route it is.
    var isOff: Bool { rules.isEmpty }
    private let buckets: Mutex<[RateBuckets]>
    /// Nanoseconds on a clock that nobody sets.
    private let now: @Sendable () -> Int64

    init(_ rules: [RateRule], now: @escaping @Sendable () -> Int64 = RateLimiter.nanoseconds) {
        self.rules = rules
        buckets = Mutex(rules.map { RateBuckets(count: $0.count, window: $0.window) })
        self.now = now
    }

    private static let start = ContinuousClock.now
    private static let nanoseconds: @Sendable () -> Int64 = {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Counts a request, unless it is refused.
    /// - Returns: the seconds after which to come again, or nil when the request is admitted.
    func refusal(_ stage: Stage, _ method: String, _ route: String, _ keys: Keys, isMaster: Bool) -> Int? {
        guard !rules.isEmpty else { return nil }
        let applied = rules.indices.filter { index in
            let rule = rules[index]
            return stage == rule.zone.stage && (!isMaster || rule.includesMaster)
                && rule.method.map { $0 == method } ?? true && rule.pattern.matches(route)
        }
        guard !applied.isEmpty else { return nil }
        let counted = applied.map { (rule: $0, key: rules[$0].zone.key(keys)) }
        let now = now()
        let wait = buckets.withLock { buckets in
            let wait = counted.reduce(0) { max($0, buckets[$1.rule].wait(for: $1.key, at: now)) }
            // A refused request costs nothing: one rule does not make another stricter.
            if wait == 0 { for (rule, key) in counted { buckets[rule].take(from: key, at: now) } }
            return wait
        }
        return wait == 0 ? nil : Int(wait / 1_000_000_000) + 1
    }
}

extension RateRule.Zone {
    fileprivate var stage: RateLimiter.Stage {
        switch self {
        case .ip, .global: .address
        case .user, .session: .person
        }
    }

    /// Without a user or session the address counts, in a key of its own: what is not known is nobody's excuse.
    fileprivate func key(_ keys: RateLimiter.Keys) -> Int {
        var hasher = Hasher()
        switch self {
        case .user where !keys.userId.isEmpty: hasher.combine(keys.userId)
        case .session where !keys.sessionToken.isEmpty: hasher.combine(keys.sessionToken)
        case .global: hasher.combine(0)
        case .ip, .user, .session: hasher.combine(keys.address.map(Network.customer) ?? [])
        }
        return hasher.finalize()
    }
}
