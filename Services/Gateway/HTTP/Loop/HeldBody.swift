/// The body of a small request, until it is complete. No I/O.
package struct HeldBody {
    package enum Step: Equatable {
        /// The request has not ended.
        case more
        /// The request has ended, and its body has the announced length.
        case whole
        /// The body differs from its announced length: a task answers the request.
        case mismatch
    }

    /// The announced length in bytes.
    package let count: Int
    package private(set) var bytes: [UInt8] = []

    /// - Parameter count: the announced length in bytes; 0 for a request without a body.
    package init(count: Int) { self.count = count }

    /// Adds the next part.
    package mutating func add(_ part: some Collection<UInt8>) -> Step {
        guard part.count <= count - bytes.count else { return .mismatch }
        if bytes.isEmpty { bytes.reserveCapacity(count) }
        bytes.append(contentsOf: part)
        return .more
    }

    /// The request has ended. `ConnectionRequests` has dropped any trailers.
    package func ended() -> Step { bytes.count == count ? .whole : .mismatch }
}
