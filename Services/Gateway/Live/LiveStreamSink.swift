import NIOCore
import ParseProtocol
import Synchronization

/// Passes messages from the hub to an event stream.
package final class LiveStreamSink: LiveSink {
    private let continuation: AsyncStream<ByteBuffer>.Continuation
    private let subscription = Mutex<LiveSubscription?>(nil)
    private let bytesMax: Int
    private let backlog: LiveBacklog
    private let waitingBytes = Atomic<Int>(0)

    /// - Parameters:
    ///   - bytesMax: bytes that may wait for a slow client; past them its stream ends.
    ///   - backlog: the bytes that wait for all clients.
    package init(_ continuation: AsyncStream<ByteBuffer>.Continuation, bytesMax: Int, backlog: LiveBacklog) {
        self.continuation = continuation
        self.bytesMax = bytesMax
        self.backlog = backlog
    }

    deinit { backlog.add(-waitingBytes.load(ordering: .relaxed)) }

    func own(_ subscription: LiveSubscription) { self.subscription.withLock { $0 = subscription } }

    /// Takes the subscription out. The subscription holds this object, so the reference cycle has to be broken here.
    func disown() -> [LiveSubscription] {
        subscription.withLock { subscription in
            defer { subscription = nil }
            return [subscription].compactMap(\.self)
        }
    }

    package func deliver(_ messages: SubscriptionRegistry.Deliveries.SubSequence) {
        for (_, message) in messages {
            switch message {
            case .subscribed(let cursor, let missed):
                send("subscribed", cursor, #"{"missed":\#(missed)}"#)
            case .event(let event):
                send(event.kind.name, event.cursor, Self.data(event))
            case .refused(let problem, let cursor):
                // With the event's cursor, so that a returning client does not request the event again.
                send("error", cursor, Self.data(problem))
            case .ended(let problem):
                send("error", nil, Self.data(problem))
                continuation.finish()
            case .loggedOut: continuation.finish()
            }
        }
    }

    package func stop() { continuation.finish() }

    /// Sends a comment, which clients ignore. A client with waiting events needs none.
    func comment() {
        if waitingBytes.load(ordering: .relaxed) == 0 { put(ByteBuffer(string: ":\n\n")) }
    }

    /// Records that the client has read so many bytes.
    func taken(_ bytes: Int) {
        waitingBytes.wrappingSubtract(bytes, ordering: .relaxed)
        backlog.add(-bytes)
    }

    /// Serialized JSON has no line breaks.
    private func send(_ name: String, _ cursor: LiveCursor?, _ data: String) {
        let id = cursor.map { "id: \($0.text)\n" } ?? ""
        put(ByteBuffer(string: "event: \(name)\n\(id)data: \(data)\n\n"))
    }

    private func put(_ text: ByteBuffer) {
        let count = text.readableBytes
        let waiting = waitingBytes.wrappingAdd(count, ordering: .relaxed).newValue
        // The first text passes at any size, as in `LiveQueue`.
        let hasRoom = backlog.add(count)
        if waiting == count || hasRoom && waiting <= bytesMax, case .enqueued = continuation.yield(text) { return }
        // A stream that has ended takes no text, and its client may take long to read the earlier ones.
        taken(count)
        // The client returns with the cursor of the last event that it received.
        continuation.finish()
    }

    private static func data(_ event: LiveDelivery) -> String {
        let original = event.original.map { #","original":"# + String(decoding: $0, as: UTF8.self) } ?? ""
        return #"{"object":"# + String(decoding: event.object, as: UTF8.self) + original + "}"
    }

    private static func data(_ problem: LiveProblem) -> String {
        let json: JSON = [
            "code": .int(Int64(problem.code)), "error": .string(problem.message),
            "reconnect": .bool(problem.reconnects),
        ]
        return json.serializedText
    }
}
