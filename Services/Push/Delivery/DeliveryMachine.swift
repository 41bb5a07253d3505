import ParseProtocol

/// The decisions about one delivery, without I/O.
///
/// waiting → sending → sent | failed | dead token, and back to waiting when another attempt makes sense.
package struct DeliveryMachine: Sendable {
    private enum State { case waiting, sending, ended }

    /// The next step of a delivery.
    package enum Step: Sendable, Hashable {
        case send
        case sent
        case failed(String)
        /// The device has no such token any more; the installation loses it.
        case tokenIsDead(String)
        case again(at: Timestamp, reason: String)
    }

    private var state = State.waiting
    private let attempts: Int
    private let endsAt: Timestamp
    private let expiresAt: Timestamp?
    private let isCancelled: Bool

    /// A provider that is down for longer than a day makes news old.
    private static let triedFor = Duration.seconds(86_400)
    private static let pauseMax = Duration.seconds(600)
    /// A peer that asks for more patience than this is not believed.
    private static let retryAfterMax = Duration.seconds(3600)

    package init(_ delivery: Delivery) {
        attempts = delivery.attempts
        expiresAt = delivery.expiresAt
        endsAt = delivery.expiresAt ?? delivery.madeAt.advanced(by: Self.triedFor)
        isCancelled = delivery.isCancelled
    }

    /// Its turn has come.
    package mutating func start(now: Timestamp) -> Step {
        precondition(state == .waiting, "A delivery starts once.")
        if isCancelled { return end(.failed("Cancelled")) }
        if let expiresAt, expiresAt <= now { return end(.failed("Expired")) }
        state = .sending
        return .send
    }

    package mutating func answered(_ answer: ProviderAnswer, now: Timestamp) -> Step {
        precondition(state == .sending, "Only what was sent is answered.")
        switch answer {
        case .accepted: return end(.sent)
        case .unsupported(let reason): return end(.failed(reason))
        case .none(let reason): return again(reason, nil, now)
        case .refused(let status, let reason, let retryAfter):
            switch (status, reason) {
            case (410, _), (400, "BadDeviceToken"), (400, "Unregistered"): return end(.tokenIsDead(reason))
            // Our own credentials are refused: the notification is good, and an operator can mend it.
            case (403, "ExpiredProviderToken"), (403, "InvalidProviderToken"), (403, "MissingProviderToken"),
                (429, _), (408, _), (500..., _):
                return again(reason, retryAfter, now)
            default: return end(.failed(reason))
            }
        }
    }

    private mutating func end(_ step: Step) -> Step {
        state = .ended
        return step
    }

    private mutating func again(_ reason: String, _ retryAfter: Duration?, _ now: Timestamp) -> Step {
        let pause = max(Self.pause(afterAttempts: attempts + 1), min(retryAfter ?? .zero, Self.retryAfterMax))
        let next = now.advanced(by: pause)
        guard next < endsAt else { return end(.failed(expiresAt == nil ? reason : "Expired")) }
        state = .waiting
        return .again(at: next, reason: reason)
    }

    /// Doubles from one second to ten minutes.
    private static func pause(afterAttempts attempts: Int) -> Duration {
        min(pauseMax, .seconds(1 << min(max(attempts - 1, 0), 10)))
    }
}
