import ObjectStore
import ParseProtocol
import ProcessKit
import Synchronization

/// The quotas and limits of clients in a service (`ServiceHost.quotas`). Each writing replica counts quotas in its
/// memory, so a restart resets them. Limits on stored data survive restarts.
///
/// Operators are not counted.
public final class Quotas: SchemaQuota, Sendable {
    /// The quotas and limits in effect.
    public let settings: QuotaSettings
    /// By `QuotaKind.rawValue`.
    private let buckets: Mutex<[[(group: Group, buckets: RateBuckets)]]>
    /// Nanoseconds of a monotonic clock.
    private let now: @Sendable () -> Int64
    let disk: DiskSpace?

    /// Quotas that never refuse.
    public static let unlimited = Quotas((try? QuotaSettings("off")) ?? QuotaSettings(), dataDirectory: nil)

    /// - Parameter dataDirectory: the directory whose free disk space is checked; nil disables the check.
    public convenience init(
        _ settings: QuotaSettings, dataDirectory: String?, now: @escaping @Sendable () -> Int64 = Quotas.nanoseconds
    ) {
        let disk = dataDirectory.map { DiskSpace(path: $0, freeBytesMin: settings.ceiling(.diskFreeBytesMin)) }
        self.init(settings, disk: disk, now: now)
    }

    private init(_ settings: QuotaSettings, disk: DiskSpace?, now: @escaping @Sendable () -> Int64) {
        self.settings = settings
        self.now = now
        self.disk = disk
        buckets = Mutex(QuotaKind.allCases.map { Self.buckets(of: $0, settings) })
    }

    private static func buckets(
        of pace: QuotaKind, _ settings: QuotaSettings
    ) -> [(group: Group, buckets: RateBuckets)] {
        var all: [(group: Group, buckets: RateBuckets)] = []
        for (zone, rate) in settings.rates[pace] ?? [:] {
            for group in Group.groups(of: zone, pace) {
                all.append(
                    (group, RateBuckets(count: group.count(of: rate.count), window: .seconds(rate.seconds))))
            }
        }
        return all
    }

    /// The quotas from the suite's settings.
    /// - Throws: `StartupProblem` for an invalid setting.
    convenience init(_ configuration: ServiceConfiguration) throws {
        var settings = try QuotaSettings(configuration.settings.text("satchel.quotas", default: ""))
        settings.isSchemaClosed = try ClientSchema(configuration.settings) == .closed
        self.init(settings, dataDirectory: configuration.dataDirectory)
    }

    private static let start = ContinuousClock.now
    /// Nanoseconds of a monotonic clock, since the first call in this process.
    public static let nanoseconds: @Sendable () -> Int64 = {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Quotas that count nothing, with the same limits and disk space check.
    public var uncounted: any SchemaQuota { Quotas(settings.withoutRates, disk: disk, now: now) }

    /// Charges a caller's additions to its quotas. If one quota is exhausted, none is charged.
    /// - Throws: `.requestLimitExceeded` (155) with the seconds until the quota suffices.
    public func take(_ wanted: [(pace: QuotaKind, count: Int)], by caller: Caller) throws {
        guard !caller.isOperator else { return }
        let now = now()
        let refusal = buckets.withLock { buckets -> (QuotaKind, Int64)? in
            for (pace, count) in wanted where count > 0 {
                for rule in buckets[pace.rawValue] {
                    guard let key = rule.group.key(caller) else { continue }
                    let wait = rule.buckets.wait(for: key, tokens: count, at: now)
                    if wait > 0 { return (pace, wait) }
                }
            }
            for (pace, count) in wanted where count > 0 {
                for index in buckets[pace.rawValue].indices {
                    guard let key = buckets[pace.rawValue][index].group.key(caller) else { continue }
                    buckets[pace.rawValue][index].buckets.take(from: key, tokens: count, at: now)
                }
            }
            return nil
        }
        guard let (pace, wait) = refusal else { return }
        Metric.quotaRefusals.count(("quota", pace.name))
        let seconds = Int(wait / 1_000_000_000) + 1
        throw ParseError.tooManyRequests(
            "Too many \(pace.noun) at once. Try again in \(seconds) s.", retryAfterSeconds: seconds)
    }

    /// Charges `count` additions of one kind.
    /// - Throws: `.requestLimitExceeded` (155) with the seconds until the quota suffices.
    public func take(_ count: Int = 1, of pace: QuotaKind, by caller: Caller) throws {
        try take([(pace, count)], by: caller)
    }

    /// Whether a client may add one to the existing `count`.
    public func admits(_ count: Int, below ceiling: ClientLimit, by caller: Caller) -> Bool {
        caller.isOperator || count < settings.ceiling(ceiling)
    }

    /// - Throws: `.serviceUnavailable` (2) when free disk space is so low that only operators may add data.
    public func requireDiskSpace(for caller: Caller) throws {
        guard !caller.isOperator, let disk, !disk.hasRoom(at: now()) else { return }
        throw ParseError(.serviceUnavailable, "There is no room for more at the moment. Try again later.")
    }
}

extension Quotas {
    /// Used fraction of a global quota that raises an alarm.
    private static let alarmShare = 0.8

    /// A sentence that lists the global quotas that are mostly used; empty when there are none.
    public var alarm: String {
        let now = now()
        let names = buckets.withLock { buckets in
            QuotaKind.allCases.filter { pace in
                buckets[pace.rawValue].contains { group, buckets in
                    (group == .strangers || group == .all) && buckets.usedShare(of: 0, at: now) >= Self.alarmShare
                }
            }
        }.map(\.name)
        guard !names.isEmpty else { return "" }
        return "Clients have used most of SATCHEL_QUOTAS per global: \(names.joined(separator: ", "))."
    }
}

/// The clients that share one bucket.
private enum Group {
    case near, wide, user, strangers, all

    static func groups(of zone: QuotaKind.Zone, _ pace: QuotaKind) -> [Group] {
        switch zone {
        case .ip: [.near, .wide]
        case .user: [.user]
        case .global: pace.keepsReserve ? [.strangers, .all] : [.all]
        }
    }

    func count(of count: Int) -> Int {
        switch self {
        case .wide: count * ClientNetwork.wideFactor
        // The last quarter is reserved for established customers.
        case .strangers: max(1, count - count / 4)
        case .near, .user, .all: count
        }
    }

    /// The key of the caller's bucket; nil if the group does not include the caller.
    func key(_ caller: Caller) -> Int? {
        switch self {
        case .near: caller.network.hashValue
        case .wide: ClientNetwork(caller.network).wide.hashValue
        case .user: caller.userId?.hashValue
        case .strangers: caller.isEstablished ? nil : 0
        case .all: 0
        }
    }
}

extension StoreTransaction {
    /// The quotas of the service; unlimited for a store without a service.
    public var quotas: Quotas { allowance as? Quotas ?? .unlimited }
}
