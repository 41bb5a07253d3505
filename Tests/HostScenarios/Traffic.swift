import ParseProtocol
import Synchronization
import TestSupport

/// Clients that each send a request after their last answer, and the outcome of each request.
final class Traffic: Sendable {
    /// A request and its answer.
    struct Attempt: Sendable {
        let number: Int64
        let answer: ParseClient.Answer
        let took: Duration
        /// The part of `took` in which the machine stood still.
        let stalled: Duration
    }

    private struct State {
        var isOver = false
        var last: Int64 = 0
        var attempts: [Attempt] = []
    }

    private let state = Mutex(State())

    /// The answered requests so far.
    var attempts: [Attempt] { state.withLock { $0.attempts } }

    /// Runs `clients` clients until `stop`.
    /// - Parameter request: gets the request's number, from 1.
    func run(clients: Int, _ request: @escaping @Sendable (Int64) async throws -> ParseClient.Answer) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<clients {
                group.addTask {
                    while let number = self.next() { _ = try await self.attempt(number, request) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Waits until all requests sent by now are answered, so that other requests do not hide a hanging one.
    func untilEachHasAnswer() async throws {
        let last = state.withLock(\.last)
        try await eventually("request \(last) and those before are answered", within: .seconds(60)) {
            attempts.count { $0.number <= last } == last
        }
    }

    /// Every client ends after its current answer.
    func stop() { state.withLock { $0.isOver = true } }

    /// Waits until `count` more requests were answered.
    func untilAnswered(_ count: Int = 20) async throws {
        let before = attempts.count
        try await eventually("\(count) requests are answered") { attempts.count >= before + count }
    }

    private func next() -> Int64? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            state.last += 1
            return state.last
        }
    }

    /// Sends one request and records its outcome.
    func attempt(
        _ number: Int64, _ request: @Sendable (Int64) async throws -> ParseClient.Answer
    ) async throws -> ParseClient.Answer {
        let (start, meter) = (ContinuousClock.now, StallMeter())
        let answer = try await request(number)
        let attempt = Attempt(number: number, answer: answer, took: .now - start, stalled: meter.stalled)
        state.withLock { $0.attempts.append(attempt) }
        return answer
    }
}

extension [Traffic.Attempt] {
    /// The kinds of answers: the status such as `503`, or, for a Parse error, status and code such as `503/2`.
    var kinds: Set<String> {
        Set(map { attempt in "\(attempt.answer.status)" + (attempt.answer.code.map { "/\($0)" } ?? "") })
    }

    /// The failures as text.
    var failures: [String] {
        filter { $0.answer.status >= 300 }.prefix(5).map { "\($0.took): \($0.answer.text.prefix(200))" }
    }

    /// The longest time of a request.
    var longest: Duration { map(\.took).max() ?? .zero }

    /// The same without the time in which the machine stood still, for an upper limit.
    var longestWithoutStalls: Duration { map { $0.took - $0.stalled }.max() ?? .zero }
}
