import ParseProtocol
import Synchronization
import TestSupport

/// Clients that ask again and again, each after its last answer, and what became of each request.
final class Traffic: Sendable {
    /// A request and its answer.
    struct Attempt: Sendable {
        let number: Int64
        let answer: ParseClient.Answer
        let took: Duration
    }

    private struct State {
        var isOver = false
        var last: Int64 = 0
        var attempts: [Attempt] = []
    }

    private let state = Mutex(State())

    /// What has been answered so far.
    var attempts: [Attempt] { state.withLock { $0.attempts } }

    /// Lets so many clients ask until `stop`.
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

    /// Waits until the requests that were made by now are answered: one that hangs is not hidden by others.
    func untilEachHasAnswer() async throws {
        let last = state.withLock(\.last)
        try await eventually("request \(last) and those before are answered", within: .seconds(60)) {
            attempts.count { $0.number <= last } == last
        }
    }

    /// Every client ends with the answer that it waits for.
    func stop() { state.withLock { $0.isOver = true } }

    /// Waits until so many more requests were answered.
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

    /// Makes one request and notes what became of it.
    func attempt(
        _ number: Int64, _ request: @Sendable (Int64) async throws -> ParseClient.Answer
    ) async throws -> ParseClient.Answer {
        let start = ContinuousClock.now
        let answer = try await request(number)
        let attempt = Attempt(number: number, answer: answer, took: .now - start)
        state.withLock { $0.attempts.append(attempt) }
        return answer
    }
}

extension [Traffic.Attempt] {
    /// The answers of each kind, as `503` or, where a request failed with an error of Parse's, `503/2`.
    var kinds: Set<String> {
        Set(map { attempt in "\(attempt.answer.status)" + (attempt.answer.code.map { "/\($0)" } ?? "") })
    }

    /// What failed, in words.
    var failures: [String] {
        filter { $0.answer.status >= 300 }.prefix(5).map { "\($0.took): \($0.answer.text.prefix(200))" }
    }

    /// The longest that anybody waited.
    var longest: Duration { map(\.took).max() ?? .zero }
}
