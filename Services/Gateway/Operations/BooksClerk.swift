import Books
import Logging
import Messages
import ParseProtocol
import ProcessKit
import Synchronization

/// Checks the books once a day, and when an operator asks for it. Each gateway has its own last report.
package final class BooksClerk: ProcessPart {
    /// When a gateway checks by itself: an hour after its start, then every day.
    package struct Times: Sendable {
        let first: Duration
        let every: Duration
        /// Between two looks at what is wrong: longer than messages between services travel.
        let pause: Duration

        package init(first: Duration = .seconds(3600), every: Duration = .seconds(86_400), pause: Duration = .seconds(5)) {
            self.first = first
            self.every = every
            self.pause = pause
        }
    }

    private struct State {
        var isRunning = false
        var report: BookReport?
    }

    private let source: any BookSource
    private let times: Times
    private let logger: Logger
    private let state = Mutex(State())

    package init(_ source: any BookSource, times: Times = Times(), logger: Logger) {
        self.source = source
        self.times = times
        self.logger = logger
    }

    /// `report` is null before the first check of this gateway.
    package var json: JSON {
        let (isRunning, report) = state.withLock { ($0.isRunning, $0.report) }
        return ["isRunning": .bool(isRunning), "report": report?.json ?? .null]
    }

    /// Starts a check, unless one is running.
    package func begin() {
        if take() { Task { await check() } }
    }

    package func run(until end: ProcessEnd) async throws {
        var pause = times.first
        while !end.isRequested, !Task.isCancelled {
            await end.cancels { [pause] in try await Task.sleep(for: pause) }
            pause = times.every
            guard !end.isRequested, !Task.isCancelled, take() else { continue }
            await end.cancels { await self.check() }
        }
    }

    private func take() -> Bool {
        state.withLock { state in
            guard !state.isRunning else { return false }
            state.isRunning = true
            return true
        }
    }

    private static let loggedMax = 20

    private func check() async {
        let report = await BookAudit(source, now: { .now }, pause: times.pause).run()
        guard !Task.isCancelled else { return state.withLock { $0.isRunning = false } }
        state.withLock { $0 = State(report: report) }
        for finding in report.findings.prefix(Self.loggedMax) {
            logger.error(
                "The books are wrong.",
                metadata: [
                    "books.check": "\(finding.check)", "books.row": "\(finding.row)", "books.found": "\(finding.found)",
                ])
        }
        logger.notice(
            "The books were checked.",
            metadata: ["books.state": "\(report.state)", "books.wrong": "\(report.findings.count)"])
    }
}

/// The books of the running services.
struct ServiceBookSource: BookSource {
    let services: ServiceClient

    /// A check of a large database reads all of it.
    private static let timeout = Duration.seconds(300)

    func answer(_ question: JSON, by service: String) async throws -> JSON {
        let context = CallContext()
        let reply = try await services.send(
            ObjectCalls(of: service).books, FunctionRequest(), [question.serialized], .ofHooks, context,
            timeout: Self.timeout)
        return try JSON(reply: try reply.document, in: context)
    }
}
