import DequeModule
import ParseProtocol

/// The undecoded messages of one connection, in order. No I/O.
///
/// A small message is decoded on the event loop. A larger one queues with the large JSON bodies of HTTP requests
/// (`BodyQueues`), and a task decodes it. Until then the later messages wait, and the socket is not read.
package struct LiveInbox {
    /// Bytes up to which a message is decoded at once. Messages of apps have some hundred.
    package static let quickBytes = 1 << 10

    private var waiting: Deque<[UInt8]> = []
    /// True while a task decodes a message.
    package private(set) var isBusy = false

    package init() {}

    package mutating func append(_ text: [UInt8]) { waiting.append(text) }

    /// The next message; nil while a task decodes an earlier one.
    /// - Returns: the text, and whether a task must decode it; that task ends with `decoded`.
    package mutating func next() -> (text: [UInt8], isLarge: Bool)? {
        guard !isBusy, let text = waiting.popFirst() else { return nil }
        isBusy = text.count > Self.quickBytes
        return (text, isBusy)
    }

    /// Called when the task has ended.
    package mutating func decoded() { isBusy = false }

    package mutating func removeAll() { waiting = [] }
}
