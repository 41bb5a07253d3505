/// Whether the bucket is asked at all, and what is told of it, without I/O. While nobody answers, requests fail at once
/// and one from time to time tries: who waits holds memory and connections of the whole shop.
package struct BucketHealth {
    /// The sides of a bucket that are well or not by themselves: a key may allow the one and not the other.
    package enum Kind: Sendable {
        case reading, writing
    }

    /// Requests in a row that nobody answered, before those after them are not sent.
    package static let failuresMax = 3
    private static let pauses: ClosedRange<Duration> = .seconds(1)...(.seconds(15))

    private var failures = 0
    private var pause = pauses.lowerBound
    /// The time of the next try, while nobody answers.
    private var nextTry: Duration?
    /// What is wrong, by what was asked for last.
    private var troubles: [Kind: BucketTrouble] = [:]

    package init() {}

    /// What is wrong at the moment; nil when nothing is.
    package var trouble: BucketTrouble? { troubles[.writing] ?? troubles[.reading] }

    /// Whether the last requests were all answered and nothing is wrong.
    package var isWell: Bool { failures == 0 && troubles.isEmpty }

    /// Whether a request may be sent now.
    /// - Parameter now: of a clock that only goes forward.
    package mutating func admits(at now: Duration) -> Bool {
        guard let next = nextTry else { return true }
        guard now >= next else { return false }
        // The others wait for what becomes of this one.
        nextTry = now + pause
        return true
    }

    /// Whether a request would not be sent now.
    package func waits(at now: Duration) -> Bool { nextTry.map { now < $0 } ?? false }

    /// A request got the answer that it deserved.
    package mutating func answered(_ kind: Kind) {
        failures = 0
        pause = Self.pauses.lowerBound
        nextTry = nil
        troubles[.reading] = nil
        if kind == .writing || troubles[.writing]?.isAway == true { troubles[.writing] = nil }
    }

    /// A request failed, all its attempts included.
    package mutating func failed(_ kind: Kind, _ trouble: BucketTrouble, at now: Duration) {
        switch trouble {
        case .missing: answered(.reading)
        case .different: break
        case .refused(let code):
            // Somebody is there.
            failures = 0
            nextTry = nil
            // Without the right to list, S3 says this of an object that is not there.
            guard kind == .writing || code != "AccessDenied" else { return }
            troubles[kind] = trouble
        case .away:
            failures += 1
            guard failures >= Self.failuresMax else { return }
            troubles[kind] = trouble
            nextTry = now + pause
            pause = min(pause * 2, Self.pauses.upperBound)
        }
    }
}

extension BucketTrouble {
    fileprivate var isAway: Bool {
        if case .away = self { return true }
        return false
    }
}
