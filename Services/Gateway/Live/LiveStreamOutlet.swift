import NIOCore
import ParseProtocol
import Synchronization

/// The way from the hub to a stream of events.
final class LiveStreamOutlet: LiveSink {
    private let continuation: AsyncStream<ByteBuffer>.Continuation
    private let subscription = Mutex<LiveSubscription?>(nil)

    init(_ continuation: AsyncStream<ByteBuffer>.Continuation) { self.continuation = continuation }

    func own(_ subscription: LiveSubscription) { self.subscription.withLock { $0 = subscription } }

    /// The subscription, which holds this object; nobody else ends the circle.
    func disown() -> [LiveSubscription] {
        subscription.withLock { subscription in
            defer { subscription = nil }
            return [subscription].compactMap(\.self)
        }
    }

    func deliver(_ messages: [(subscription: LiveSubscription, message: LiveMessage)]) {
        for (_, message) in messages {
            switch message {
            case .subscribed(let cursor, let missed):
                send("subscribed", cursor, #"{"missed":\#(missed)}"#)
            case .event(let event):
                send(event.kind.name, event.cursor, Self.data(event))
            case .ended(let problem):
                send("error", nil, Self.data(problem))
                continuation.finish()
            }
        }
    }

    func stop() { continuation.finish() }

    /// Something that clients pass over.
    func comment() { continuation.yield(ByteBuffer(string: ":\n\n")) }

    /// JSON has no line breaks of its own.
    private func send(_ name: String, _ cursor: LiveCursor?, _ data: String) {
        let id = cursor.map { "id: \($0.text)\n" } ?? ""
        if case .dropped = continuation.yield(ByteBuffer(string: "event: \(name)\n\(id)data: \(data)\n\n")) {
            // The client comes back with the last event that it has got.
            continuation.finish()
        }
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
