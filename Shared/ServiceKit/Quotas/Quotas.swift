import ObjectStore
import ParseProtocol
import ProcessKit
import Synchronization

/// The bounds of what clients may add to a service, counted in its writer's memory: a restart forgives what was
/// counted, never what is stored.
///
/// Operators are not counted.
public final class Quotas: SchemaAllowance, Sendable {
    /// The rates and ceilings that hold.
    public let settings: QuotaSettings
    /// By `Pace.rawValue`.
    private let buckets: Mutex<[[(zone: Pace.Zone, buckets: RateBuckets)]]>
    /// Nanoseconds on a clock that nobody sets.
    private let now: @Sendable () -> Int64
    let disk: DiskSpace?

    /// Quotas that refuse nobody anything.
    public static let unlimited = Quotas((try? QuotaSettings("off")) ?? QuotaSettings(), dataDirectory: nil)

    /// - Parameter dataDirectory: where free space is asked for; nil: nowhere.
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
        buckets = Mutex(
            Pace.allCases.map { pace in
                (settings.rates[pace] ?? [:]).map {
                    ($0.key, RateBuckets(count: $0.value.count, window: .seconds($0.value.seconds)))
                }
            })
    }

    /// The suite's settings.
    /// - Throws: `StartupProblem` for one that means nothing.
    convenience init(_ configuration: ServiceConfiguration) throws {
        var settings = try QuotaSettings(configuration.settings.text("satchel.quotas", default: ""))
        settings.isSchemaClosed = try ClientSchema(configuration.settings) == .closed
        self.init(settings, dataDirectory: configuration.dataDirectory)
    }

    private static let start = ContinuousClock.now
    /// Nanoseconds since the process first asked, on a clock that nobody sets.
    public static let nanoseconds: @Sendable () -> Int64 = {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Paces take nothing there; ceilings and the disk's room hold.
    public var uncounted: any SchemaAllowance { Quotas(settings.withoutRates, disk: disk, now: now) }

    /// Counts what a caller adds. When one pace is used up nothing is counted.
    /// - Throws: `.requestLimitExceeded` (155) with the seconds after which there is room again.
    public func take(_ wanted: [(pace: Pace, count: Int)], by caller: Caller) throws {
        guard !caller.isOperator else { return }
        let now = now()
        let refusal = buckets.withLock { buckets -> (Pace, Int64)? in
            for (pace, count) in wanted where count > 0 {
                for rule in buckets[pace.rawValue] {
                    guard let key = rule.zone.key(caller) else { continue }
                    let wait = rule.buckets.wait(for: key, tokens: count, at: now)
                    if wait > 0 { return (pace, wait) }
                }
            }
            for (pace, count) in wanted where count > 0 {
                for index in buckets[pace.rawValue].indices {
                    guard let key = buckets[pace.rawValue][index].zone.key(caller) else { continue }
                    buckets[pace.rawValue][index].buckets.take(from: key, tokens: count, at: now)
                }
            }
            return nil
        }
        guard let (pace, wait) = refusal else { return }
        let seconds = Int(wait / 1_000_000_000) + 1
        throw ParseError.tooManyRequests(
            "Too many \(pace.noun) at once. Try again in \(seconds) s.", retryAfterSeconds: seconds)
    }

    /// Counts `count` additions of one kind.
    /// - Throws: `.requestLimitExceeded` (155) with the seconds after which there is room again.
    public func take(_ count: Int = 1, of pace: Pace, by caller: Caller) throws {
        try take([(pace, count)], by: caller)
    }

    /// Whether a client may have one more, with so many there.
    public func admits(_ count: Int, below ceiling: Ceiling, by caller: Caller) -> Bool {
        caller.isOperator || count < settings.ceiling(ceiling)
    }

    /// - Throws: `.serviceUnavailable` (2) when the disk is so full that only operators add to it.
    public func requireDiskSpace(for caller: Caller) throws {
        guard !caller.isOperator, let disk, !disk.hasRoom(at: now()) else { return }
        throw ParseError(.serviceUnavailable, "There is no room for more at the moment. Try again later.")
    }
}

extension Pace.Zone {
    /// Nil for whom this does not count.
    fileprivate func key(_ caller: Caller) -> Int? {
        switch self {
        case .ip: caller.network.hashValue
        case .user: caller.userId?.hashValue
        case .global: 0
        }
    }
}

extension StoreTransaction {
    /// The quotas of the service; without any, where a store runs without one.
    public var quotas: Quotas { allowance as? Quotas ?? .unlimited }
}
