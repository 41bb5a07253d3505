import Synchronization

/// The shoppers' measurements.
final class ShopperRecord: Sendable {
    enum Kind: Sendable {
        /// Every request for which an app's user waits, except the kinds below.
        case ordinary
        /// Sign-in and sign-up by password: the hash alone takes longer than the limit for other requests.
        case password
        /// A live query event, measured from the request that causes it.
        case event
    }

    struct Result: Sendable {
        var ordinary = Latencies()
        var passwords = Latencies()
        var events = Latencies()
        /// Requests with the expected answer.
        var answered = 0
        /// Answers with 429; the shopper waited and repeated the request.
        var delayed = 0
        var errors: [String: Int] = [:]

        var errorCount: Int { errors.values.reduce(0, +) }
    }

    private let state = Mutex(Result())

    /// Mean delay between a shopper's requests.
    static let interval = Duration.milliseconds(200)

    func answered(_ kind: Kind, after time: Duration) { note(kind, time) { $0.answered += 1 } }

    func delayed() { state.withLock { $0.delayed += 1 } }

    /// - Parameter problem: the request and its answer; the first hundred kinds are counted separately.
    func failed(_ kind: Kind, after time: Duration, _ problem: String) {
        note(kind, time) {
            let name = $0.errors[problem] != nil || $0.errors.count < 100 ? problem : "others"
            $0.errors[name, default: 0] += 1
        }
    }

    private func note(_ kind: Kind, _ time: Duration, _ change: (inout Result) -> Void) {
        state.withLock {
            switch kind {
            case .ordinary: $0.ordinary.add(time, interval: Self.interval)
            case .password: $0.passwords.add(time, interval: .seconds(60))
            case .event: $0.events.add(time, interval: Listener.pause)
            }
            change(&$0)
        }
    }

    var result: Result { state.withLock { $0 } }
}
