import ParseProtocol
import ServiceKit

/// The state machine of one delivery. No I/O.
///
/// waiting → sending → sent | failed | refused | dead token, and back to waiting when a retry makes sense.
package struct DeliveryMachine: Sendable {
    private enum State { case waiting, sending, ended }

    /// The next step of a delivery.
    package enum Step: Sendable, Hashable {
        case send
        case sent
        /// It would come too late, or no provider reaches the device.
        case failed(String)
        /// The provider refuses it for a reason that an operator may remove; it is parked.
        case refused(String)
        /// The device no longer has this token; the installation loses it.
        case tokenIsDead(String)
        case again(at: Timestamp, reason: String)
    }

    private var state = State.waiting
    private let attempts: Int
    private let endsAt: Timestamp
    private let expiresAt: Timestamp?
    private let isCancelled: Bool

    /// After a day of failed attempts the notification is out of date.
    private static let retryWindow = Duration.seconds(86_400)
    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(600))
    /// Longest `Retry-After` that is respected.
    private static let retryAfterMax = Duration.seconds(3600)

    package init(_ delivery: Delivery) {
        attempts = delivery.attempts
        expiresAt = delivery.expiresAt
        endsAt = delivery.expiresAt ?? delivery.madeAt.advanced(by: Self.retryWindow)
        isCancelled = delivery.isCancelled
    }

    /// The delivery is due.
    package mutating func start(now: Timestamp) -> Step {
        precondition(state == .waiting, "A delivery starts once.")
        if isCancelled { return end(.failed("Cancelled")) }
        if let expiresAt, expiresAt <= now { return end(.failed("Expired")) }
        state = .sending
        return .send
    }

    package mutating func answered(_ answer: ProviderAnswer, now: Timestamp) -> Step {
        precondition(state == .sending, "Only a sent delivery gets an answer.")
        switch answer {
        case .accepted: return end(.sent)
        case .unsupported(let reason): return end(.failed(reason))
        case .none(let reason): return again(reason, nil, now)
        case .refused(let status, let reason, let retryAfter):
            switch (status, reason) {
            case (410, _), (400, "BadDeviceToken"), (400, "Unregistered"): return end(.tokenIsDead(reason))
            // The provider refuses the shop's own credentials: the notification is valid, and an operator can fix the
            // credentials.
            case (403, "ExpiredProviderToken"), (403, "InvalidProviderToken"), (403, "MissingProviderToken"),
                (429, _), (408, _), (500..., _):
                return again(reason, retryAfter, now)
            default: return end(.refused(reason))
            }
        }
    }

    private mutating func end(_ step: Step) -> Step {
        state = .ended
        return step
    }

    private mutating func again(_ reason: String, _ retryAfter: Duration?, _ now: Timestamp) -> Step {
        let pause = max(Self.backoff.pause(afterFailures: attempts + 1), min(retryAfter ?? .zero, Self.retryAfterMax))
        let next = now.advanced(by: pause)
        guard next < endsAt else { return end(expiresAt == nil ? .refused(reason) : .failed("Expired")) }
        state = .waiting
        return .again(at: next, reason: reason)
    }
}
