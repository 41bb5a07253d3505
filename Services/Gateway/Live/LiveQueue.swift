import DequeModule
import Synchronization

/// The texts that wait for a client which does not take them as fast as they come. Pure.
package struct LiveQueue<Text> {
    private let bytesMax: Int
    private var waiting: Deque<(text: Text, bytes: Int)> = []
    package private(set) var bytes = 0

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    package var isEmpty: Bool { waiting.isEmpty }

    /// - Returns: false when there is no room; the client is then told to connect anew rather than that it misses one
    ///   without knowing.
    package mutating func append(_ text: Text, bytes count: Int) -> Bool {
        // One that is alone passes whatever its size: an object and what it was may be larger than the bound.
        guard waiting.isEmpty || bytes + count <= bytesMax else { return false }
        waiting.append((text, count))
        bytes += count
        return true
    }

    package mutating func next() -> Text? {
        guard let first = waiting.popFirst() else { return nil }
        bytes -= first.bytes
        // A quiet connection keeps no room.
        if waiting.isEmpty { waiting = [] }
        return first.text
    }

    package mutating func removeAll() {
        waiting = []
        bytes = 0
    }
}

/// The bytes that wait for all clients together. Each may have as much as its queue holds, but not all of them at once:
/// then those that have something waiting are told to connect anew.
package final class LiveBacklog: Sendable {
    /// A third of what answers of HTTP may take.
    package static let bytesMax = 128 << 20

    private let bytes = Atomic<Int>(0)

    package init() {}

    /// Counts what waits from now on, or does no longer.
    /// - Returns: whether there is room for it.
    @discardableResult
    package func add(_ count: Int) -> Bool {
        bytes.wrappingAdd(count, ordering: .relaxed).newValue <= Self.bytesMax
    }
}
