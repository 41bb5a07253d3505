import Books
import Foundation
import Logging
import Messages
import ParseProtocol
import ProcessKit
import Synchronization

/// Checks the books once a day, and when an operator asks for it. Each gateway has its own last report.
package final class BookAuditRunner: ProcessPart {
    /// When a gateway checks by itself: in the second hour after its start, then every day. The first pause is random,
    /// so that gateways that start together do not check together.
    package struct Times: Sendable {
        let first: Duration
        let every: Duration
        /// Between two looks at what is wrong: longer than messages between services travel.
        let pause: Duration

        package init(
            first: Duration = .seconds(Int.random(in: 3600...7200)), every: Duration = .seconds(86_400),
            pause: Duration = .seconds(5)
        ) {
            self.first = first
            self.every = every
            self.pause = pause
        }
    }

    private struct State {
        /// The id of the check that runs.
        var running: String?
        /// The last report, and the id of its check.
        var report: BookReport?
        var reported: String?
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

    /// `check` is the id of the check that runs, or of the report's. `report` is null before the first check.
    package var json: JSON {
        let state = state.withLock { $0 }
        return [
            "isRunning": .bool(state.running != nil),
            "check": (state.running ?? state.reported).map(JSON.string) ?? .null, "report": state.report?.json ?? .null,
        ]
    }

    /// The last report; nil before the first check.
    var report: BookReport? { state.withLock { $0.report } }

    /// Starts a check, unless one is running.
    package func begin() {
        if take() { Task { await check() } }
    }

    package func run(until end: ProcessEnd) async throws {
        var pause = times.first
        while await !end.arrives(within: pause) {
            pause = times.every
            if take() { await end.cancels { await self.check() } }
        }
    }

    private func take() -> Bool {
        state.withLock { state in
            guard state.running == nil else { return false }
            state.running = UUID().uuidString
            return true
        }
    }

    private static let loggedMax = 20

    private func check() async {
        let report = await BookAudit(source, now: { .now }, pause: times.pause).run()
        guard !Task.isCancelled else { return state.withLock { $0.running = nil } }
        state.withLock { $0 = State(report: report, reported: $0.running) }
        for finding in report.findings.prefix(Self.loggedMax) {
            logger.error(
                "The books are wrong.",
                metadata: [
                    "books.check": "\(finding.check)", "books.row": "\(finding.row)", "books.found": "\(finding.found)",
                ])
        }
        for (service, reason) in report.missing.sorted(by: { $0.key < $1.key }) {
            logger.error(
                "The books of a service could not be checked.",
                metadata: ["books.service": "\(service)", "error": "\(reason)"])
        }
        logger.notice(
            "The books were checked.",
            metadata: ["books.state": "\(report.state)", "books.wrong": "\(report.findings.count)"])
    }
}

/// The books of the running services.
struct ServiceBookSource: BookSource {
    let services: ServiceClient

    /// A service answers within 290 s.
    private static let timeout = Duration.seconds(300)

    func answer(_ question: JSON, by service: String) async throws -> JSON {
        let context = CallContext()
        let reply = try await services.send(
            ObjectCalls(of: service).books, FunctionRequest(), [question.serialized], .ofHooks, context,
            timeout: Self.timeout)
        return try JSON(reply: try reply.document, in: context)
    }
}
