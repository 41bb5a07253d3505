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

    /// Whether the network had its share, so that its next refusal would wait.
    package func isOver(_ network: String, at now: Int64) -> Bool { buckets.wait(for: network.hashValue, at: now) > 0 }
}

/// The pace of all networks, shared by the gateway's requests.
final class RefusedSignIns: Sendable {
    private let pace = Mutex(RefusalPace())
    private let start = ContinuousClock.now

    /// A batch is told at once, and past its network's share nobody is asked: with a wait for each of its requests it
    /// would keep what it brought in memory for minutes.
    /// - Throws: `.requestLimitExceeded` (155) then.
    func admit(_ request: ParseRequest) throws(ParseError) {
        guard request.isInBatch, pace.withLock({ $0.isOver(request.network, at: now) }) else { return }
        throw .tooManyRequests(
            "Too many refused sign-ins from this address. Please try again in a moment.", retryAfterSeconds: 1)
    }

    /// Waits before a refusal is told that says when to come again: the others took a hash, a provider's answer or a
    /// look into the store.
    func slowDown(_ error: ParseError, of request: ParseRequest) async {
        guard error.retryAfterSeconds != nil else { return }
        let pause = pace.withLock { $0.pause(for: request.network, at: now) }
        // The connection waits with it, and a connection has one request under way.
        if let pause, !request.isInBatch { try? await Task.sleep(for: pause) }
    }

    private var now: Int64 { Int64((ContinuousClock.now - start) / .nanoseconds(1)) }
}
