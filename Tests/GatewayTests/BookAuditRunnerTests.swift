import Books
import GatewayService
import InMemoryLogging
import Logging
import ParseProtocol
import ProcessKit
import Synchronization
import TestSupport
import Testing

/// When a gateway checks the books.
@Suite struct BookAuditRunnerTests {
    /// Books without rows, in which no check finds anything.
    private final class Empty: BookSource {
        private let count = Mutex(0)
        var asked: Int { count.withLock { $0 } }

        func answer(_ question: JSON, by service: String) async throws -> JSON {
            count.withLock { $0 += 1 }
            return ["rows": question["list"] == nil ? 0 : [], "found": []]
        }
    }

    /// Mail does not answer.
    private struct WithoutMail: BookSource {
        let books = Empty()

        func answer(_ question: JSON, by service: String) async throws -> JSON {
            guard service != "mail" else { throw ParseError(.timeout, "The query took too long.") }
            return try await books.answer(question, by: service)
        }
    }

    private static func runner(
        _ source: any BookSource, _ times: BookAuditRunner.Times, log: any LogHandler = SwiftLogNoOpLogHandler()
    ) -> BookAuditRunner {
        BookAuditRunner(source, times: times, logger: Logger(label: "test") { _ in log })
    }

    @Test func anOperatorStartsACheckAndGetsItsReport() async throws {
        let runner = Self.runner(Empty(), .init())
        #expect(runner.json == ["isRunning": false, "check": .null, "report": .null])
        var checks: Set<String> = []
        for number in 1...3 {
            runner.begin()
            let check = runner.json["check"]?.stringValue
            try await eventually("the check ends") { runner.json["isRunning"] == false }
            #expect(runner.json["check"]?.stringValue == check, "The report is that of this check.")
            #expect(runner.json["report"]?["state"] == "clean")
            checks.insert(try #require(check))
            #expect(checks.count == number)
        }
    }

    @Test func aServiceThatIsNotCheckedIsAnErrorInTheLog() async throws {
        let log = InMemoryLogHandler()
        let runner = Self.runner(WithoutMail(), .init(), log: log)
        runner.begin()
        try await eventually("the check ends") { runner.json["isRunning"] == false }
        #expect(runner.json["report"]?["state"] == "incomplete")
        let errors = log.entries.filter { $0.level == .error }
        #expect(errors.map { $0.metadata["books.service"]?.description } == ["mail"])
        #expect(errors.map { $0.metadata["error"]?.description } == ["The query took too long."])
    }

    @Test func theBooksAreCheckedAgainAndAgainUntilTheEnd() async throws {
        let source = Empty()
        let runner = Self.runner(source, .init(first: .zero, every: .milliseconds(1), pause: .zero))
        let end = ProcessEnd()
        let running = Task { try await runner.run(until: end) }
        try await eventually("the first check ends") { runner.json["report"]?["state"] == "clean" }
        let first = source.asked
        try await eventually("there is another one") { source.asked > 2 * first }
        end.ask()
        try await running.value
    }
}
