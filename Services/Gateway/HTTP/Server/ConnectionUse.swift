import NIOCore

/// Decides when a connection is closed: because it is idle, or because the gateway stops. No I/O: `ConnectionGuard`
/// reports reads and writes.
///
/// While the gateway works on a response, no timeout runs.
package struct ConnectionUse {
    package enum Step: Equatable {
        case goesOn
        /// Check the connection again at this time.
        case check(at: NIODeadline)
        case close
    }

    private let idleMax: TimeAmount
    /// Requests whose heads were read and that have no response yet.
    package private(set) var open = 0
    private var isReading = false
    private var isEnding = false
    private var lastUse: NIODeadline

    /// - Parameter idleMax: the timeout.
    package init(idleMax: TimeAmount, now: NIODeadline) {
        self.idleMax = idleMax
        lastUse = now
    }

    /// The time at which an idle connection is closed.
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

    /// The end of a response was written.
    package mutating func answered(now: NIODeadline) -> Step {
        // Invalid HTTP is answered too, and may have had no head.
        open = max(0, open - 1)
        guard open == 0 else { return .goesOn }
        guard !isEnding else { return .close }
        lastUse = now
        return .check(at: end)
    }

    /// The time of a check has come.
    package func checked(now: NIODeadline) -> Step {
        // The end of the response sets the next time.
        guard isReading || open == 0 else { return .goesOn }
        return now >= end ? .close : .check(at: end)
    }

    /// The gateway stops.
    package mutating func ends() -> Step {
        isEnding = true
        return open == 0 ? .close : .goesOn
    }
}
