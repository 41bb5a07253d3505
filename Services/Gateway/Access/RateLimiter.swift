import NIOCore
import ParseProtocol
import Synchronization

/// Counts requests against `SATCHEL_RATE_LIMITS`. The counts are in memory: a restart of the gateway resets them, and
/// each of several gateways counts its own requests (docs/guides/gateways.md).
final class RateLimiter: Sendable {
    /// The identity of the client, as far as it is known.
    struct Keys {
        let address: SocketAddress?
        var userId = ""
        var sessionToken = ""
    }

    /// The stage at which a rule applies: by address before the session is resolved, by person after it.
    enum Stage { case address, person }

    private let rules: [RateRule]
    /// Without rules the route need not be determined.
    var isOff: Bool { rules.isEmpty }
    private let buckets: Mutex<[RateBuckets]>
    /// Nanoseconds on a monotonic clock.
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

    /// Counts a request, unless a rule refuses it.
    /// - Returns: the seconds after which the client may retry, or nil when the request is admitted.
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
            // A refused request is not counted: one rule must not make another stricter.
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

    /// Without a user or session the address counts, under a separate key, so that anonymous requests are limited as
    /// well.
    fileprivate func key(_ keys: RateLimiter.Keys) -> Int {
        var hasher = Hasher()
        switch self {
        case .user where !keys.userId.isEmpty: hasher.combine(keys.userId)
        case .session where !keys.sessionToken.isEmpty: hasher.combine(keys.sessionToken)
        case .global: hasher.combine(0)
        case .ip, .user, .session: hasher.combine(keys.address.map(Network.clientBytes) ?? [])
        }
        return hasher.finalize()
    }
}
