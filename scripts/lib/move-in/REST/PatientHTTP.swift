import Outbound

/// What sends requests: `OutboundClient`, or a test's double.
protocol HTTPTransport: Sendable {
    func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundResponse
}

extension OutboundClient: HTTPTransport {}

/// Sends idempotent requests, and repeats requests that failed for a passing reason: no connection, 429 and 5xx.
struct PatientHTTP: Sendable {
    private let transport: any HTTPTransport
    private let pause: @Sendable (Duration) async throws -> Void

    /// - Parameter pause: waits between attempts.
    init(
        _ transport: any HTTPTransport,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        (self.transport, self.pause) = (transport, pause)
    }

    /// - Parameter name: of the request in messages.
    /// - Returns: a response below 500 other than 429.
    /// - Throws: `AnswerTooLarge`; `MoveInError` after the last attempt.
    func send(_ request: OutboundRequest, _ name: String) async throws -> OutboundResponse {
        var request = request
        request.isRepeatable = true
        var attempt = 1
        while true {
            let problem: String
            var asked: Int?
            do throws(OutboundFailure) {
                let response = try await transport.send(request)
                guard response.status == 429 || response.status >= 500 else { return response }
                let text = String(decoding: response.body.prefix(Self.shownBytesMax), as: UTF8.self)
                problem = "the answer is \(response.status): \(text)"
                asked = response.headers["retry-after"].flatMap { Int($0) }
            } catch {
                switch error.reason {
                case .cancelled: throw CancellationError()
                case .answerTooLarge: throw AnswerTooLarge()
                case .refused: throw MoveInError("\(name) cannot be sent: \(error.detail)")
                case .unreachable, .timedOut, .broken, .mailRefused: problem = "there is no answer (\(error.reason))"
                }
            }
            guard let wait = Retry.pause(after: attempt, asked: asked) else {
                throw MoveInError("\(name): \(problem). It was tried \(attempt) times; run again later.")
            }
            try await pause(wait)
            attempt += 1
        }
    }

    /// Bytes of an answer that messages show.
    static let shownBytesMax = 300
}

/// The answer has more bytes than the request takes.
struct AnswerTooLarge: Error, CustomStringConvertible {
    let description = "An answer is too large to read."
}
