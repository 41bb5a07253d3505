import ParseProtocol
import Synchronization

/// Decides which refusals of sign-ins and sign-ups are held back: those that cost whoever asks nothing, such as of an
/// account that is locked, once a network had its share of them. Else it asks again at once, some thousand times a
/// second, and takes from others the processors' time that their passwords' hashes need. Pure: time is an argument.
package struct RefusalPace {
    /// An office with a locked account each for ten people, who try once more; then one a second.
    private var buckets = RateBuckets(count: 10, window: .seconds(10))
    private static let pause = Duration.seconds(1)

    package init() {}

    /// - Parameters:
    ///   - network: where the request comes from, as `Principal.network`.
    ///   - now: nanoseconds on a clock that nobody sets.
    /// - Returns: how long the refusal waits; nil when it is told at once.
    package mutating func pause(for network: String, at now: Int64) -> Duration? {
        let key = network.hashValue
        guard buckets.wait(for: key, at: now) == 0 else { return Self.pause }
        buckets.take(from: key, at: now)
        return nil
    }
}

/// The pace of all networks, shared by the gateway's requests.
final class RefusedSignIns: Sendable {
    private let pace = Mutex(RefusalPace())
    private let start = ContinuousClock.now

    /// Waits before a refusal is told that says when to come again: the others took a hash, a provider's answer or a
    /// look into the store.
    func slowDown(_ error: ParseError, _ network: String) async {
        guard error.retryAfterSeconds != nil else { return }
        let now = Int64((ContinuousClock.now - start) / .nanoseconds(1))
        // The connection waits with it, and a connection has one request under way.
        if let pause = pace.withLock({ $0.pause(for: network, at: now) }) { try? await Task.sleep(for: pause) }
    }
}
