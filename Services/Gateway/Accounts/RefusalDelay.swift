import ParseProtocol
import Synchronization

/// Decides which refused sign-ins and sign-ups are delayed: the cheap refusals, such as for a locked account, once a
/// network has used up its quota of them. An undelayed client would retry some thousand times a second and take the
/// processor time that other clients' password hashes need. No I/O: time is an argument.
package struct RefusalDelay {
    /// Enough for an office of ten people with locked accounts who each retry once; after that one a second.
    private var buckets = RateBuckets(count: 10, window: .seconds(10))
    private static let pause = Duration.seconds(1)

    package init() {}

    /// - Parameters:
    ///   - network: the network of the request, as `Principal.network`.
    ///   - now: nanoseconds on a monotonic clock.
    /// - Returns: the delay of the refusal; nil when it is sent at once.
    package mutating func pause(for network: String, at now: Int64) -> Duration? {
        let key = network.hashValue
        guard buckets.wait(for: key, at: now) == 0 else { return Self.pause }
        buckets.take(from: key, at: now)
        return nil
    }

    /// Whether the network has used up its quota: its next refusal would be delayed.
    package func isOver(_ network: String, at now: Int64) -> Bool { buckets.wait(for: network.hashValue, at: now) > 0 }
}

/// The delays of all networks, shared by the gateway's requests.
final class SignInRefusalDelays: Sendable {
    private let pace = Mutex(RefusalDelay())
    private let start = ContinuousClock.now

    /// Refuses a request of a batch at once when its network has used up the quota, and asks no service. Delaying each
    /// request of a batch would keep the batch in memory for minutes.
    /// - Throws: `.requestLimitExceeded` (155) in that case.
    func admit(_ request: ParseRequest) throws(ParseError) {
        guard request.isInBatch, pace.withLock({ $0.isOver(request.network, at: now) }) else { return }
        throw .tooManyRequests(
            "Too many refused sign-ins from this address. Please try again in a moment.", retryAfterSeconds: 1)
    }

    /// Delays a refusal that has a retry time. Other refusals already cost a hash, a provider's response or a database
    /// look-up.
    func slowDown(_ error: ParseError, of request: ParseRequest) async {
        guard error.retryAfterSeconds != nil else { return }
        let pause = pace.withLock { $0.pause(for: request.network, at: now) }
        // The delay also holds the connection, which has one request in flight.
        if let pause, !request.isInBatch { try? await Task.sleep(for: pause) }
    }

    private var now: Int64 { Int64((ContinuousClock.now - start) / .nanoseconds(1)) }
}
