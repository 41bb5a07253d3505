import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// The requests of one connection, of which one at a time is answered, in the order in which they came. Pure: it is
/// told what arrives and what became of an answer, and is asked what is to be done.
package struct RequestLine {
    package enum Action {
        /// The request's answer is to be made. Its body comes with the next actions.
        case begin(HTTPRequest)
        case body(ByteBuffer)
        /// - error: why the body has no end; nil when it has, or when the client ended the stream before it.
        case bodyEnds((any Error)?)
        /// What is no HTTP is answered with 400; then our side of the connection ends.
        case refuse
        /// Our side of the connection ends when all that was written has left.
        case end
        /// The connection ends at once.
        case close
    }

    /// The reason for which nothing more comes.
    package enum InputEnd {
        /// The client has ended its side of the connection.
        case closed
        /// Something that is no HTTP, or the connection's failure.
        case failed(any Error)
    }

    private enum State {
        case idle
        /// - isLast: the client has asked for the connection's end behind the answer.
        case answering(Reading, isLast: Bool)
        /// The rest of the body of a request that is answered comes, and is dropped.
        case dropping
        /// Whatever comes is dropped.
        case over
    }

    /// The part of the body that has come of a request that is being answered.
    private enum Reading {
        case goesOn, done, broken
    }

    /// Parts that wait behind a request before the socket is not read any more.
    private static let waitingMax = 10

    private var state = State.idle
    /// What came behind the request that is being answered.
    private var waiting = CircularBuffer<HTTPRequestPart>()
    private var inputEnd: InputEnd?

    /// A connection over which nothing has come.
    package init() {}

    /// Whether so much waits that the socket is not to be read.
    package var isFull: Bool { waiting.count >= Self.waitingMax }

    /// Whether a request is being answered.
    package var isAnswering: Bool { if case .answering = state { true } else { false } }

    // MARK: Events

    /// A part of a request came.
    package mutating func arrived(_ part: HTTPRequestPart) {
        if case .over = state { return }
        waiting.append(part)
    }

    /// Nothing comes any more. Of several reasons the first counts.
    package mutating func inputEnded(_ end: InputEnd) {
        if inputEnd == nil { inputEnd = end }
    }

    /// The answer to the request is with the client, or as good as.
    package mutating func answered() -> Action? {
        guard case .answering(let reading, let isLast) = state else { return nil }
        if isLast { return over(.end) }
        switch reading {
        case .done: state = .idle
        case .goesOn: state = .dropping
        // A second answer would be taken for that to another request.
        case .broken: return over(.end)
        }
        return nil
    }

    /// The request has no answer.
    /// - Parameters:
    ///   - error: why; what is no HTTP is refused, with anything else the connection ends.
    ///   - hasBegun: whether something of an answer was sent.
    package mutating func failed(_ error: any Error, hasBegun: Bool) -> Action? {
        guard case .answering = state else { return nil }
        return over(error is HTTPParserError && !hasBegun ? .refuse : .close)
    }

    /// The connection is closed.
    package mutating func closed() { _ = over(.close) }

    // MARK: Actions

    /// What is to be done now; nil when something has to happen first.
    package mutating func next() -> Action? {
        while true {
            switch state {
            case .over, .answering(.done, _), .answering(.broken, _): return nil
            case .idle, .dropping, .answering(.goesOn, _): break
            }
            guard let part = waiting.popFirst() else { return inputEnd.flatMap { atEnd($0) } }
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
        // A head that could not be decoded is missing; its error comes before what follows it.
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

    /// Whether a client asks for the end of the connection behind the answer (RFC 9112, section 9.6).
    private static func endsConnection(_ head: HTTPRequest) -> Bool {
        guard let options = head.headerFields[.connection] else { return false }
        return options.lowercased().split(separator: ",").contains {
            $0.trimmingPrefix { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" } == "close"
        }
    }
}
