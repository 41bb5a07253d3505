import HTTPTypes
import NIOCore
import NIOHTTP1

/// The requests of one connection, which are answered one at a time, in their order. No I/O: the handler reports the
/// parts that arrive and the ends of responses, and carries out the actions.
package struct ConnectionRequests {
    package enum Action {
        /// Begin to answer a request. Its body follows with the next actions.
        case begin(HTTPRequest)
        case body(ByteBuffer)
        /// - error: why the body is incomplete; nil for a complete body, and when the client ended the stream.
        case bodyEnds((any Error)?)
        /// Answer 400 to invalid HTTP, then close the gateway's side of the connection.
        case refuse
        /// Close the gateway's side of the connection when all written bytes have left.
        case end
        /// Close the connection. `ConnectionGuard` lets written bytes leave first.
        case close
    }

    /// The reason why no more parts arrive.
    package enum InputEnd {
        /// The client has closed its side of the connection.
        case closed
        /// Invalid HTTP, or the connection's failure.
        case failed(any Error)
    }

    private enum State {
        case idle
        /// - isLast: the client has asked to close the connection after the response.
        case answering(Reading, isLast: Bool)
        /// Drops the rest of the body of an answered request.
        case dropping
        /// Drops all parts.
        case over
    }

    /// The state of the body of the request that is being answered.
    private enum Reading {
        case goesOn, done, broken
    }

    /// Waiting parts behind a request at which the reading of the socket stops.
    private static let waitingMax = 10

    /// The largest capacity of an empty queue. A larger queue is replaced: a client that pipelines thousands of
    /// requests would otherwise leave megabytes allocated.
    private static let retainedParts = 64

    private var state = State.idle
    /// Parts that arrived behind the request that is being answered.
    private var waiting = CircularBuffer<HTTPRequestPart>()
    private var inputEnd: InputEnd?

    package init() {}

    /// Whether so many parts wait that the handler must not read the socket.
    package var isFull: Bool { waiting.count >= Self.waitingMax }

    /// Whether a request is being answered.
    package var isAnswering: Bool { if case .answering = state { true } else { false } }

    // MARK: Events

    /// A part of a request has arrived.
    package mutating func arrived(_ part: HTTPRequestPart) {
        if case .over = state { return }
        waiting.append(part)
    }

    /// No more parts arrive. Only the first reason counts.
    package mutating func inputEnded(_ end: InputEnd) {
        if inputEnd == nil { inputEnd = end }
    }

    /// The response was sent, and the client has taken most of it.
    package mutating func answered() -> Action? {
        guard case .answering(let reading, let isLast) = state else { return nil }
        if isLast { return over(.end) }
        switch reading {
        case .done: state = .idle
        case .goesOn: state = .dropping
        // Nothing more is sent: the client would take it for the response to its next request.
        case .broken: return over(.end)
        }
        return nil
    }

    /// The task failed. Before the head was sent the client may still get 400; otherwise the connection is closed.
    /// - Parameters:
    ///   - error: invalid HTTP is refused; any other error closes the connection.
    ///   - hasSentHead: whether the head of a response was sent.
    package mutating func failed(_ error: any Error, hasSentHead: Bool) -> Action? {
        guard case .answering = state else { return nil }
        return over(error is HTTPParserError && !hasSentHead ? .refuse : .close)
    }

    /// The connection is closed.
    package mutating func closed() { _ = over(.close) }

    // MARK: Actions

    /// The next action; nil when the connection waits for an event.
    package mutating func next() -> Action? {
        while true {
            switch state {
            case .over, .answering(.done, _), .answering(.broken, _): return nil
            case .idle, .dropping, .answering(.goesOn, _): break
            }
            guard let part = waiting.popFirst() else {
                if waiting.capacity > Self.retainedParts { waiting = CircularBuffer() }
                return inputEnd.flatMap { atEnd($0) }
            }
            if let action = take(part) { return action }
        }
    }

    private mutating func take(_ part: HTTPRequestPart) -> Action? {
        switch (state, part) {
        case (.idle, .head(let head)):
            state = .answering(.goesOn, isLast: Self.endsConnection(head))
            return .begin(head)
        case (.answering(_, _), .body(let buffer)): return .body(buffer)
        case (.answering(_, let isLast), .end):
            state = .answering(.done, isLast: isLast)
            return .bodyEnds(nil)
        case (.dropping, .body): return nil
        case (.dropping, .end):
            state = .idle
            return nil
        // NIO could not decode the head. It has reported the error already and still delivers the other parts.
        default: return over(.close)
        }
    }

    private mutating func atEnd(_ end: InputEnd) -> Action? {
        switch (state, end) {
        case (.answering(_, let isLast), _):
            state = .answering(.broken, isLast: isLast)
            if case .failed(let error) = end { return .bodyEnds(error) }
            return .bodyEnds(nil)
        case (_, .closed): return over(.end)
        case (.idle, .failed(let error)): return over(error is HTTPParserError ? .refuse : .close)
        case (_, .failed(let error)): return over(error is HTTPParserError ? .end : .close)
        }
    }

    private mutating func over(_ action: Action) -> Action {
        state = .over
        waiting = CircularBuffer()
        return action
    }

    /// Whether a client asks to close the connection after the response (RFC 9112, section 9.6).
    private static func endsConnection(_ head: HTTPRequest) -> Bool {
        guard let options = head.headerFields[.connection] else { return false }
        return options.lowercased().split(separator: ",").contains {
            $0.trimmingPrefix { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" } == "close"
        }
    }
}
