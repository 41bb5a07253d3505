import DequeModule
import HeapModule

/// A request scheduled for a fixed time.
package struct Due: Sendable, Equatable {
    /// Index of its phase.
    package var phase: Int
    /// Seconds since the start of the run.
    package var start: Double

    /// A request of a phase.
    package init(phase: Int, start: Double) { (self.phase, self.start) = (phase, start) }
}

/// The crowd of shoppers, each with at most one request in flight. It assigns a due request to a shopper whose
/// thinking time is over, or else to a new shopper, or else to one still thinking. If all shoppers wait for answers,
/// the request waits too, and its time keeps counting.
package struct Pool<Person: Sendable>: Sendable {
    /// The shopper who sends a request.
    package enum Decision: Sendable {
        case someone(Person)
        /// A new shopper, with a number from 0.
        case newcomer(Int)
        /// No shopper is free: the next free one gets it.
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
    /// Total shoppers.
    package private(set) var count = 0
    /// Requests for which a shopper's thinking time was cut short, because the maximum of shoppers was reached.
    package private(set) var hurried = 0

    /// - Parameter most: maximum shoppers, 1 or more.
    package init(most: Int) { self.most = most }

    /// Requests that wait for a shopper.
    package var waitingCount: Int { waiting.count }

    /// Assigns a request to a shopper.
    /// - Parameter now: seconds since the start of the run.
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

    /// Returns a shopper to the crowd after an answer.
    /// - Parameter until: the end of the thinking time, in seconds since the start of the run.
    /// - Returns: a waiting request for this shopper to send at once; nil when none waits.
    package mutating func free(_ person: Person, thinksUntil until: Double) -> Due? {
        if let due = waiting.popFirst() { return due }
        thinkers.insert(Thinker(until: until, person: person))
        return nil
    }
}
