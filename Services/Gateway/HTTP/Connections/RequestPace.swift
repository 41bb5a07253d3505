/// The pace at which a client sends its request, and whether it is fast enough. No I/O: the handler reports what
/// arrives and, once a second, that a second has passed.
///
/// A second counts only if the server was ready to read.
package struct RequestPace {
    package enum Verdict {
        case goesOn
        /// The headers are not complete in time, or the body arrives too slowly.
        case tooSlow
    }

    private enum State {
        case idle
        /// A part of a request's headers has arrived.
        case head(seconds: Int)
        case body(seconds: Int, bytes: Int)
    }

    private let graceSeconds: Int
    private let bytesPerSecondMin: Int
    private var state = State.idle

    package init(graceSeconds: Int, bytesPerSecondMin: Int) {
        self.graceSeconds = graceSeconds
        self.bytesPerSecondMin = bytesPerSecondMin
    }

    /// Whether a request is incomplete: its seconds are counted.
    package var isWatching: Bool { if case .idle = state { false } else { true } }
    /// Whether the headers are complete and the body is not.
    package var isInBody: Bool { if case .body = state { true } else { false } }

    /// Bytes have arrived that may begin a request.
    package mutating func bytesArrived() {
        if case .idle = state { state = .head(seconds: 0) }
    }

    package mutating func headArrived() { state = .body(seconds: 0, bytes: 0) }

    package mutating func bodyArrived(_ count: Int) {
        if case .body(let seconds, let bytes) = state { state = .body(seconds: seconds, bytes: bytes + count) }
    }

    package mutating func endArrived() { state = .idle }

    /// A second has passed in which the server was ready to read.
    package mutating func secondPassed() -> Verdict {
        switch state {
        case .idle: return .goesOn
        case .head(let seconds):
            state = .head(seconds: seconds + 1)
            return seconds + 1 > graceSeconds ? .tooSlow : .goesOn
        case .body(let seconds, let bytes):
            let seconds = seconds + 1
            state = .body(seconds: seconds, bytes: bytes)
            return seconds > graceSeconds && bytes < bytesPerSecondMin * seconds ? .tooSlow : .goesOn
        }
    }
}
