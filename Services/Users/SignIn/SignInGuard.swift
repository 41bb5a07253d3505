import ParseProtocol

/// Somebody who tries to get into an account, as far as it matters whose wrong tries count.
package struct SignInAttempt: Hashable, Sendable {
    /// A user's id, or `SignInSubject.unknown`.
    package let account: String
    /// As `Principal.network`; empty when no client asked.
    package let network: String
    /// The device or network under which the account knows the client; nil for a stranger.
    package let device: String?

    package init(account: String, network: String, device: String?) {
        self.account = account
        self.network = network
        self.device = device
    }

    /// The client that waits for its turn when the password is hashed.
    var hashingClient: HashingClient {
        device.map { HashingClient("device:\(account):\($0)", isKnown: true) } ?? HashingClient("network:\(network)")
    }
}

/// Decides about tries by what went wrong before: it slows whoever guesses, and not the owner, whose devices have
/// counters of their own.
package struct SignInGuard {
    package enum Verdict: Equatable, Sendable {
        case admitted
        /// Only with the code of the second factor: strangers try the account from many places. The error is for those
        /// without.
        case admittedWithCode(else: ParseError)
        /// The network's guesses are spread over many accounts; it gets one try from time to time.
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

    /// - Parameter counters: those of `judged`; missing ones are zero.
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

    /// The subjects that a wrong password or code counts for. A known device's mistakes close nothing but that device's
    /// lane and, like any other, strangers' lane.
    package func counted(for step: Step) -> [SignInSubject] {
        switch (attempt.device, step) {
        case (let device?, .password): [.device(attempt.account, device: device), .account(attempt.account)]
        case (let device?, .code): [.device(attempt.account, device: device)]
        case (nil, .password), (nil, .code): judged(by: step)
        }
    }

    /// The subjects whose counters the right password, with the code if there is one, sets back. What strangers did
    /// elsewhere stays.
    package var cleared: [SignInSubject] {
        if let device = attempt.device { return [.device(attempt.account, device: device)] }
        return [.place(attempt.account, network: attempt.network)]
    }

    /// The answer while a subject has to wait; whole minutes, rounded up.
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

/// The times at which networks that had too many wrong tries get their next one.
package struct NetworkPace {
    private var nextAt: [String: Double] = [:]

    /// Seconds between tries: 90 in a quarter of an hour.
    package static let pause = 10.0
    /// Each had 30 passwords hashed to get here; of more, the first ones start anew.
    private static let networksMax = 4096

    package init() {}

    /// - Parameter now: seconds of a clock that only goes forward.
    /// - Returns: nil when the network may try now, else after how many seconds.
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
