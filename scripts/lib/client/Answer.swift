import NIOCore
import ParseProtocol

/// An answer of the suite.
package struct Answer: Sendable {
    /// The status code, 200 to 599.
    package var status: Int
    /// Seconds in the Retry-After header.
    package var retryAfterSeconds: Int?
    /// The name and value of each cookie in the answer.
    package var cookies: [String] = []
    /// Whether the server closes the connection afterwards.
    package var closes = false
    /// The first bytes of the body, up to `bodyBytesKept`.
    package var body: [UInt8] = []
    /// The total size of the body.
    package var bodyBytes = 0

    /// The body as JSON; nil when it is not JSON, or was not kept completely.
    package var json: JSON? { try? JSON(parsing: body) }
    /// The body as text.
    package var text: String { String(decoding: body, as: UTF8.self) }
}

/// Why bytes are not a valid HTTP/1.1 response.
package struct AnswerError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// Reads answers from a connection's bytes (RFC 9112): a state machine without I/O.
package struct AnswerReader {
    private enum State {
        case head
        case body(left: Int)
        case chunkSize
        case chunk(left: Int)
        case chunkEnd
        case trailer
    }
    private var state = State.head
    private var answer = Answer(status: 0)
    /// Maximum bytes of a body that are kept; further bytes are only counted.
    private let bodyBytesKept: Int

    /// - Parameter bodyBytesKept: maximum bytes of each body that are kept.
    package init(bodyBytesKept: Int) { self.bodyBytesKept = bodyBytesKept }

    /// The next complete answer; nil when more bytes are needed.
    /// - Throws: `AnswerError` for invalid bytes.
    package mutating func next(_ input: inout ByteBuffer) throws -> Answer? {
        while true {
            switch state {
            case .head:
                guard let lines = headLines(&input) else { return nil }
                try begin(lines)
            case .body(let left):
                let rest = left - take(left, &input)
                state = .body(left: rest)
                guard rest == 0 else { return nil }
                return finish()
            case .chunkSize:
                guard let line = line(&input) else { return nil }
                guard let size = Int(line.prefix { $0 != ";" }.filter { $0 != " " }, radix: 16) else {
                    throw AnswerError("A chunk has no size.")
                }
                state = size == 0 ? .trailer : .chunk(left: size)
            case .chunk(let left):
                let rest = left - take(left, &input)
                state = rest == 0 ? .chunkEnd : .chunk(left: rest)
                guard rest == 0 else { return nil }
            case .chunkEnd:
                guard line(&input) != nil else { return nil }
                state = .chunkSize
            case .trailer:
                guard let line = line(&input) else { return nil }
                if line.isEmpty { return finish() }
            }
        }
    }

    private mutating func begin(_ lines: [Substring]) throws {
        let words = (lines.first ?? "").split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw AnswerError("Not an answer: \(lines.first?.prefix(100) ?? "")")
        }
        guard status >= 200 else { return }  // 100 Continue: the final answer follows.
        answer = Answer(status: status)
        var length = 0, isChunked = false
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            switch line[..<colon].lowercased() {
            case "content-length": length = Int(value) ?? 0
            case "transfer-encoding": isChunked = value.lowercased().contains("chunked")
            case "connection": answer.closes = value.lowercased().contains("close")
            case "retry-after": answer.retryAfterSeconds = Int(value)
            case "set-cookie": answer.cookies.append(String(value.prefix { $0 != ";" }))
            default: break
            }
        }
        state = isChunked ? .chunkSize : .body(left: status == 204 || status == 304 ? 0 : length)
    }

    private mutating func finish() -> Answer {
        state = .head
        return answer
    }

    private mutating func take(_ count: Int, _ input: inout ByteBuffer) -> Int {
        let count = min(count, input.readableBytes)
        let kept = min(count, bodyBytesKept - answer.body.count)
        if kept > 0 { answer.body += input.readableBytesView.prefix(kept) }
        input.moveReaderIndex(forwardBy: count)
        answer.bodyBytes += count
        return count
    }

    private func headLines(_ input: inout ByteBuffer) -> [Substring]? {
        let view = input.readableBytesView
        guard let end = view.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let text = String(decoding: view[..<end.lowerBound], as: UTF8.self)
        input.moveReaderIndex(to: end.upperBound)
        return text.split(separator: "\r\n")
    }

    private func line(_ input: inout ByteBuffer) -> String? {
        let view = input.readableBytesView
        guard let end = view.firstRange(of: Array("\r\n".utf8)) else { return nil }
        let text = String(decoding: view[..<end.lowerBound], as: UTF8.self)
        input.moveReaderIndex(to: end.upperBound)
        return text
    }
}
