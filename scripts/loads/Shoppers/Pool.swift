import DequeModule
import HeapModule

/// A request that is to start at a moment that was fixed beforehand.
package struct Due: Sendable, Equatable {
    /// Index of its phase.
    package var phase: Int
    /// Seconds since the run's beginning.
    package var start: Double

    /// A request of a phase.
    package init(phase: Int, start: Double) { (self.phase, self.start) = (phase, start) }
}

/// The crowd of shoppers, of which each has one request under way at most. It decides who makes the request that is
/// due: whoever has thought as long as he wanted, else somebody new, else whoever still thinks. If all wait for answers
/// the request waits too, and its time counts on.
package struct Pool<Person: Sendable>: Sendable {
    /// Who makes a request.
    package enum Decision: Sendable {
        case someone(Person)
        /// Somebody new, with his number from 0.
        case newcomer(Int)
        /// Nobody yet: the next who is free gets it.
        case nobody
    }

    private struct Thinker: Comparable, Sendable {
        let until: Double
        let person: Person

        static func < (one: Thinker, other: Thinker) -> Bool { one.until < other.until }
        static func == (one: Thinker, other: Thinker) -> Bool { one.until == other.until }
    }

    private var thinkers = Heap<Thinker>()
    private var waiting = Deque<Due>()
    private let most: Int
    /// Shoppers in all.
    package private(set) var count = 0
    /// Requests for which a shopper had to think less than he wanted, because there are no more shoppers.
    package private(set) var hurried = 0

    /// - Parameter most: shoppers at most, 1 or more.
    package init(most: Int) { self.most = most }

    /// Requests that wait for a shopper.
    package var waitingCount: Int { waiting.count }

    /// Decides who makes a request.
    /// - Parameter now: seconds since the run's beginning.
    package mutating func due(_ due: Due, now: Double) -> Decision {
        let hasThought = thinkers.min.map { $0.until <= now } ?? false
        if !hasThought, count < most {
            count += 1
            return .newcomer(count - 1)
        }
        guard let thinker = thinkers.popMin() else {
            waiting.append(due)
            return .nobody
        }
        if !hasThought { hurried += 1 }
        return .someone(thinker.person)
    }

    /// Takes a shopper back who has his answer.
    /// - Parameter until: when he has thought about it, in seconds since the run's beginning.
    /// - Returns: a request that has waited, which he makes at once; nil when he may think.
    package mutating func free(_ person: Person, thinksUntil until: Double) -> Due? {
        if let due = waiting.popFirst() { return due }
        thinkers.insert(Thinker(until: until, person: person))
        return nil
    }
}
