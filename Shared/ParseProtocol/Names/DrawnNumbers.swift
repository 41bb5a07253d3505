import Glibc

/// Random numbers from the system, fetched 32 at a time with one system call. Each is returned once.
struct DrawnNumbers: RandomNumberGenerator {
    private var left: [UInt64] = []

    /// 256 bytes are the maximum per call (getentropy(3)).
    private static let count = 256 / MemoryLayout<UInt64>.size

    mutating func next() -> UInt64 {
        if left.isEmpty { draw() }
        return left.removeLast()
    }

    private mutating func draw() {
        left = [UInt64](repeating: 0, count: Self.count)
        let result = left.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) }
        // As in Swift's own generator: without random numbers there are no ids, and nothing else would work on such a
        // system.
        precondition(result == 0, "The system gives no random numbers.")
    }
}
