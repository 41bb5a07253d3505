import Books
import GatewayService
import Logging
import ParseProtocol
import ProcessKit
import Synchronization
import TestSupport
import Testing

/// When a gateway checks the books.
@Suite struct BooksClerkTests {
    /// Books without rows, in which no check finds anything.
    private final class Empty: BookSource {
        private let count = Mutex(0)
        var asked: Int { count.withLock { $0 } }

        func answer(_ question: JSON, by service: String) async throws -> JSON {
            count.withLock { $0 += 1 }
            return ["rows": question["list"] == nil ? 0 : [], "found": []]
        }
    }

    private static func clerk(_ source: Empty, _ times: BooksClerk.Times) -> BooksClerk {
        BooksClerk(source, times: times, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test func anOperatorStartsACheckAndGetsItsReport() async throws {
        let clerk = Self.clerk(Empty(), .init())
        #expect(clerk.json == ["isRunning": false, "report": .null])
        clerk.begin()
        try await eventually("the check ends") { clerk.json["isRunning"] == false }
        #expect(clerk.json["report"]?["state"] == "clean")
    }

    @Test func theBooksAreCheckedAgainAndAgainUntilTheEnd() async throws {
        let source = Empty()
        let clerk = Self.clerk(source, .init(first: .zero, every: .milliseconds(1), pause: .zero))
        let end = ProcessEnd()
        let running = Task { try await clerk.run(until: end) }
        try await eventually("the first check ends") { clerk.json["report"]?["state"] == "clean" }
        let first = source.asked
        try await eventually("there is another one") { source.asked > 2 * first }
        end.ask()
        try await running.value
    }
}
