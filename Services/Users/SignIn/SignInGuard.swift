import ParseProtocol

/// An attempt to access an account: the account and the client.
package struct SignInAttempt: Hashable, Sendable {
    /// A user's id, or `SignInSubject.unknown`.
    package let account: String
    /// In the form of `Principal.network`; empty without a client.
    package let network: String
    /// The known device or network of the account; nil for an unknown client.
    package let device: String?

    package init(account: String, network: String, device: String?) {
        self.account = account
        self.network = network
        self.device = device
    }

    /// The client in the queue for password hashing.
    var hashingClient: HashingClient {
        device.map { HashingClient("device:\(account):\($0)", isKnown: true) } ?? HashingClient(network: network)
    }
}

/// Decides about attempts by earlier failures. It slows down guessing clients but not the owner, whose devices have
/// separate counters.
package struct SignInGuard {
    package enum Verdict: Equatable, Sendable {
        case admitted
        /// Only with the second factor's code, because unknown clients try the account from many places. The error
        /// applies without a code.
        case admittedWithCode(else: ParseError)
        /// The network has failures on many accounts; it gets one attempt per interval.
        case paced
        case refused(ParseError)
    }

    package enum Step: Sendable { case password, code }

    private let attempt: SignInAttempt

    package init(_ attempt: SignInAttempt) { self.attempt = attempt }

    /// The subjects whose counters `verdict` needs.
    package func judged(by step: Step) -> [SignInSubject] {
        if let device = attempt.device { return [.device(attempt.account, device: device)] }
        let account = attempt.account
        switch step {
        case .password:
            return [.place(account, network: attempt.network), .account(account), .network(attempt.network)]
        case .code: return [.place(account, network: attempt.network), .codes(account)]
        }
    }

    /// - Parameter counters: the counters of `judged`; missing ones are zero.
    package func verdict(
        on step: Step, _ counters: [SignInSubject: SignInCounter], at now: Timestamp
    ) -> Verdict {
        var verdict = Verdict.admitted
        for subject in judged(by: step) {
            guard let counter = counters[subject], counter.failures >= subject.failuresMax, counter.endsAt > now else {
                continue
            }
            switch subject {
            case .account: verdict = .admittedWithCode(else: SignInGuard.locked(until: counter.endsAt, now: now))
            case .network, .proofs: if verdict == .admitted { verdict = .paced }
            case .place, .device, .codes, .owner: return .refused(SignInGuard.locked(until: counter.endsAt, now: now))
            }
        }
        return verdict
    }

    /// The subjects charged for a wrong password or code. A known device's failures only lock that device and count
    /// towards the lock for unknown clients.
    package func counted(for step: Step) -> [SignInSubject] {
        switch (attempt.device, step) {
        case (let device?, .password): [.device(attempt.account, device: device), .account(attempt.account)]
        case (let device?, .code): [.device(attempt.account, device: device)]
        case (nil, .password), (nil, .code): judged(by: step)
        }
    }

    /// The subjects whose counters a correct password (and code, if required) resets. Counters of other clients remain.
    package var cleared: [SignInSubject] {
        if let device = attempt.device { return [.device(attempt.account, device: device)] }
        return [.place(attempt.account, network: attempt.network)]
    }

    /// The error while a subject must wait; whole minutes, rounded up.
    package static func locked(until end: Timestamp, now: Timestamp) -> ParseError {
        let minutes = max(1, (end.milliseconds - now.milliseconds + 59_999) / 60_000)
        var error = ParseError(
            .objectNotFound,
            "Your account is locked due to multiple failed login attempts. Please try again after \(minutes) minute(s)."
        )
        error.retryAfterSeconds = Int(minutes) * 60
        return error
    }

    package static func slowedDown(seconds: Int) -> ParseError {
        .tooManyRequests(
            "Too many failed sign-ins from this address. Please try again in a moment.", retryAfterSeconds: seconds)
    }
}

/// The times of the next allowed attempts of networks with too many failures.
package struct NetworkRateLimit {
    private var nextAt: [String: Double] = [:]

    /// Seconds between attempts: 90 in 15 minutes.
    package static let pause = 10.0
    /// Limit of networks. Each caused 30 password hashes to get here; beyond the limit the record starts over.
    private static let networksMax = 4096

    package init() {}

    /// - Parameter now: seconds of a monotonic clock.
    /// - Returns: nil when the network may try now, else the seconds to wait.
    package mutating func wait(of network: String, at now: Double) -> Int? {
        if let next = nextAt[network], next > now { return max(1, Int((next - now).rounded(.up))) }
        if nextAt.count >= Self.networksMax, nextAt[network] == nil {
            nextAt = nextAt.filter { $0.value > now }
            if nextAt.count >= Self.networksMax { nextAt = [:] }
        }
        nextAt[network] = now + Self.pause
        return nil
    }
}
