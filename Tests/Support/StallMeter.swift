import Foundation
import Synchronization

/// A stopwatch that leaves out the time in which the whole machine stood still.
package struct StallMeter: Sendable {
    private let start: ContinuousClock.Instant
    private let stalledBefore: Duration

    package init() {
        start = .now
        stalledBefore = Sleeper.shared.stalled(at: start)
    }

    /// The time since the start in which the machine stood still.
    package var stalled: Duration { stalled(at: .now) }
    /// The rest of the time since the start.
    package var elapsed: Duration {
        let now = ContinuousClock.now
        return now - start - stalled(at: now)
    }

    private func stalled(at now: ContinuousClock.Instant) -> Duration {
        min(now - start, Sleeper.shared.stalled(at: now) - stalledBefore)
    }
}

/// A thread that sleeps for 10 ms at a time and adds up by how much it overslept.
private final class Sleeper: Sendable {
    static let shared = Sleeper()

    private struct State {
        var stalled = Duration.zero
        var wakesAt = ContinuousClock.now
    }

    private static let nap = Duration.milliseconds(10)
    /// A thread that only sleeps gets a processor sooner than that, however busy the processors are: a product that
    /// keeps all of them busy gains no time.
    private static let stallMin = Duration.milliseconds(200)

    private let state = Mutex(State())

    private init() {
        Thread.detachNewThread { [self] in
            while true {
                state.withLock { state in
                    let now = ContinuousClock.now
                    state.stalled += Self.overslept(state, at: now)
                    state.wakesAt = now + Self.nap
                }
                Thread.sleep(forTimeInterval: Self.nap / .seconds(1))
            }
        }
    }

    private static func overslept(_ state: State, at now: ContinuousClock.Instant) -> Duration {
        let late = now - state.wakesAt
        return late < stallMin ? .zero : late
    }

    /// Includes the present nap: after a stall the caller may run before this thread does.
    func stalled(at now: ContinuousClock.Instant) -> Duration {
        state.withLock { $0.stalled + Self.overslept($0, at: now) }
    }
}
