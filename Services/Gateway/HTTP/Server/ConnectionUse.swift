import NIOCore

/// Whether a connection is used, and when it is to be closed because it is not, or because the gateway ends. Pure: it
/// is told what is read and written.
///
/// Only who waits for a client watches the time: an answer may take as long as it takes.
package struct ConnectionUse {
    package enum Step: Equatable {
        case goesOn
        /// At this time the connection is looked at again.
        case look(at: NIODeadline)
        case close
    }

    private let idleMax: TimeAmount
    /// Requests that were read, as far as their heads, and not yet answered.
    private var open = 0
    private var isReading = false
    private var isEnding = false
    private var lastUse: NIODeadline

    /// - Parameter idleMax: time in which nothing comes from a client that is waited for.
    package init(idleMax: TimeAmount, now: NIODeadline) {
        self.idleMax = idleMax
        lastUse = now
    }

    /// The time at which an unused connection is looked at.
    package var end: NIODeadline { lastUse + idleMax }

    package mutating func headArrived(now: NIODeadline) {
        lastUse = now
        isReading = true
        open += 1
    }

    package mutating func bodyArrived(now: NIODeadline) { lastUse = now }

    package mutating func endArrived(now: NIODeadline) {
        lastUse = now
        isReading = false
    }

    /// An answer is written to its end.
    package mutating func answered(now: NIODeadline) -> Step {
        // What is no HTTP is answered, too, and was perhaps no request.
        open = max(0, open - 1)
        guard open == 0 else { return .goesOn }
        guard !isEnding else { return .close }
        lastUse = now
        return .look(at: end)
    }

    /// The time has come to look at it.
    package func looked(now: NIODeadline) -> Step {
        // The answer's end sets the next time.
        guard isReading || open == 0 else { return .goesOn }
        return now >= end ? .close : .look(at: end)
    }

    /// The gateway ends.
    package mutating func ends() -> Step {
        isEnding = true
        return open == 0 ? .close : .goesOn
    }
}
