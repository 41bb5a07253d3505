/// Decides whether the listener accepts connections, by the file descriptors that the process has left. No I/O.
///
/// The last descriptors are reserved for connections of services, log files and webhooks. A connection that cannot be
/// accepted leaves the listener readable; an event loop that only retries would spin.
package struct AcceptLimit {
    package enum Action: Equatable {
        case none
        /// Accept nothing until `resume`.
        /// - Parameter shouldReport: false when the last pause was logged a short time ago.
        case pause(shouldReport: Bool)
        case resume
    }

    /// Reserved descriptors: an eighth of all, between these bounds. A service has two connections for each replica.
    private static let reservedMin = 32
    private static let reservedMax = 256
    /// A pause is logged only if the last one ended more than this many seconds ago.
    private static let quietSeconds = 60.0

    private var isPaused = false
    private var resumedAt: Double?

    package init() {}

    /// Connections were accepted, or the interval between two checks of a pause is over.
    /// - Parameters:
    ///   - lowestFree: the lowest free descriptor, which the next connection would get; nil when none is free.
    ///   - descriptorsMax: the limit of the process (`RLIMIT_NOFILE`).
    ///   - now: seconds of a monotonic clock.
    package mutating func checked(lowestFree: Int?, of descriptorsMax: Int, now: Double) -> Action {
        let reserved = min(Self.reservedMax, max(Self.reservedMin, descriptorsMax / 8))
        guard let lowestFree, lowestFree < descriptorsMax - reserved else { return pause(now) }
        guard isPaused else { return .none }
        isPaused = false
        resumedAt = now
        return .resume
    }

    /// A connection could not be accepted.
    package mutating func failed(now: Double) -> Action { pause(now) }

    private mutating func pause(_ now: Double) -> Action {
        guard !isPaused else { return .none }
        isPaused = true
        return .pause(shouldReport: resumedAt.map { now - $0 > Self.quietSeconds } ?? true)
    }
}
