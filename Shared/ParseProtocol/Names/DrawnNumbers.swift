import Glibc

/// Random numbers of the system, drawn some at a time: one system call for 32 of them. Each is given once.
struct DrawnNumbers: RandomNumberGenerator {
    private var left: [UInt64] = []

    /// 256 bytes are the most that the system gives at once (getentropy(3)).
    private static let count = 256 / MemoryLayout<UInt64>.size

    mutating func next() -> UInt64 {
        if left.isEmpty { draw() }
        return left.removeLast()
    }

    private mutating func draw() {
        left = [UInt64](repeating: 0, count: Self.count)
        let result = left.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) }
        // As Swift's own generator: there is no id without it, and a system that has none fails for everything.
        precondition(result == 0, "The system gives no random numbers.")
    }
}
