import DequeModule
import Synchronization

/// The texts that wait for a client which reads slower than they arrive. No I/O.
package struct LiveQueue<Text> {
    private let bytesMax: Int
    private var waiting: Deque<(text: Text, bytes: Int)> = []
    package private(set) var bytes = 0

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    package var isEmpty: Bool { waiting.isEmpty }

    /// - Returns: false when the queue is full; the client then has to reconnect, so that it never misses an event
    ///   silently.
    package mutating func append(_ text: Text, bytes count: Int) -> Bool {
        // The first text passes at any size: an object with its original may be larger than the limit.
        guard waiting.isEmpty || bytes + count <= bytesMax else { return false }
        waiting.append((text, count))
        bytes += count
        return true
    }

    package mutating func next() -> Text? {
        guard let first = waiting.popFirst() else { return nil }
        bytes -= first.bytes
        // An idle connection holds no memory.
        if waiting.isEmpty { waiting = [] }
        return first.text
    }

    package mutating func removeAll() {
        waiting = []
        bytes = 0
    }
}

/// The bytes that wait for all clients together. The sum of all queues' limits may exceed this limit. When it is
/// reached, clients with waiting texts have to reconnect.
package final class LiveBacklog: Sendable {
    /// A third of the memory for HTTP responses.
    package static let bytesMax = 128 << 20

    private let bytes = Atomic<Int>(0)

    package init() {}

    /// Adds bytes that wait, or subtracts bytes that no longer do.
    /// - Returns: whether the sum is within the limit.
    @discardableResult
    package func add(_ count: Int) -> Bool {
        bytes.wrappingAdd(count, ordering: .relaxed).newValue <= Self.bytesMax
    }
}
