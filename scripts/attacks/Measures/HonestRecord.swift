import Synchronization

/// The record of what the shoppers met while they shopped.
final class HonestRecord: Sendable {
    enum Kind: Sendable {
        /// Everything that an app waits for while it is used.
        case ordinary
        /// Signing in and signing up by password: its hash takes longer than the bound for the others.
        case password
    }

    struct Result: Sendable {
        var ordinary = Latencies()
        var passwords = Latencies()
        /// Requests that were answered as they should.
        var answered = 0
        /// Answers of 429, which were waited out.
        var delayed = 0
        var errors: [String: Int] = [:]

        var errorCount: Int { errors.values.reduce(0, +) }
    }

    private let state = Mutex(Result())

    /// The mean pause between a shopper's requests.
    static let interval = Duration.milliseconds(200)

    func answered(_ kind: Kind, after time: Duration) { note(kind, time) { $0.answered += 1 } }

    func delayed() { state.withLock { $0.delayed += 1 } }

    /// - Parameter problem: what was asked for and what came; the first hundred kinds are told apart.
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
            }
            change(&$0)
        }
    }

    var result: Result { state.withLock { $0 } }
}
