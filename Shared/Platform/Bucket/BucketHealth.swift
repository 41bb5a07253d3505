import ServiceKit

/// A circuit breaker for the bucket, without I/O. While the bucket does not answer, requests fail at once and only an
/// occasional one tests it: waiting requests would hold memory and connections of the whole shop.
package struct BucketHealth {
    /// The operations whose health is tracked separately: a key may allow one and not the other.
    package enum Kind: Sendable {
        case reading, writing
    }

    /// Consecutive unanswered requests after which further requests are not sent.
    package static let failuresMax = 3
    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(15))

    private var failures = 0
    /// When the next test request may be sent; nil while the bucket answers.
    private var nextTry: Duration?
    /// The current problems, by kind of request.
    private var troubles: [Kind: BucketTrouble] = [:]

    package init() {}

    /// The current problem; nil when there is none.
    package var trouble: BucketTrouble? { troubles[.writing] ?? troubles[.reading] }

    /// Whether the latest requests were answered and there is no problem.
    package var isWell: Bool { failures == 0 && troubles.isEmpty }

    /// Whether a request may be sent now.
    /// - Parameter now: from a monotonic clock.
    package mutating func admits(at now: Duration) -> Bool {
        guard let next = nextTry else { return true }
        guard now >= next else { return false }
        // Other requests are held back until this one has a result.
        nextTry = now + Self.backoff.pause(afterFailures: failures - Self.failuresMax + 2)
        return true
    }

    /// Whether a request would not be sent now.
    package func waits(at now: Duration) -> Bool { nextTry.map { now < $0 } ?? false }

    /// A request succeeded.
    package mutating func answered(_ kind: Kind) {
        failures = 0
        nextTry = nil
        troubles[.reading] = nil
        if kind == .writing || troubles[.writing]?.isAway == true { troubles[.writing] = nil }
    }

    /// A request failed after all its attempts.
    package mutating func failed(_ kind: Kind, _ trouble: BucketTrouble, at now: Duration) {
        switch trouble {
        case .missing: answered(.reading)
        case .different: break
        case .refused(let code):
            // The server is reachable.
            failures = 0
            nextTry = nil
            // Without permission to list, S3 answers `AccessDenied` for a missing object.
            guard kind == .writing || code != "AccessDenied" else { return }
            troubles[kind] = trouble
        case .away:
            failures += 1
            guard failures >= Self.failuresMax else { return }
            troubles[kind] = trouble
            nextTry = now + Self.backoff.pause(afterFailures: failures - Self.failuresMax + 1)
        }
    }
}

extension BucketTrouble {
    fileprivate var isAway: Bool {
        if case .away = self { return true }
        return false
    }
}
