/// The body of a small request, until all of it is there. Pure.
package struct HeldBody {
    package enum Step: Equatable {
        /// More of it is to come.
        case more
        case whole
        /// It is not what was announced: the request takes the way of all others.
        case unfit
    }

    /// Bytes that were announced.
    package let count: Int
    package private(set) var bytes: [UInt8] = []

    /// - Parameter count: bytes that the request's head announces; 0 for a request without a body.
    package init(count: Int) { self.count = count }

    /// Takes the next part of it.
    package mutating func add(_ part: some Collection<UInt8>) -> Step {
        guard part.count <= count - bytes.count else { return .unfit }
        if bytes.isEmpty { bytes.reserveCapacity(count) }
        bytes.append(contentsOf: part)
        return .more
    }

    /// The end of the request.
    /// - Parameter hasTrailers: whether fields stand behind the body, which no request that is held has.
    package func ended(hasTrailers: Bool) -> Step { bytes.count == count && !hasTrailers ? .whole : .unfit }
}
