import ProcessKit
import Synchronization
import Testing

/// The parts of a process: when they start and end, and how errors propagate.
@Suite struct ProcessPartsTests {
    /// The order of events.
    private final class Record: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock(\.self) }
        func note(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private struct Failure: Error, Equatable {}

    /// A part that ends on request, or as configured.
    private struct Part: ProcessPart {
        enum Fate {
            case waits, returns, fails, failsAtItsEnd
        }

        let name: String
        let record: Record
        var fate = Fate.waits
        /// Signalled when the part runs.
        var began = ProcessEnd()

        func run(until end: ProcessEnd) async throws {
            began.ask()
            switch fate {
            case .returns: return
            case .fails: throw Failure()
            case .waits, .failsAtItsEnd: await end.wait()
            }
            record.note(Task.isCancelled ? "\(name) was cancelled" : "\(name) ended")
            if fate == .failsAtItsEnd { throw Failure() }
        }
    }

    @Test func theLastOneEndsFirst() async throws {
        let record = Record()
        let parts = ["broker", "reporter", "server", "hub"].map { Part(name: $0, record: record) }
        let end = ProcessEnd()
        async let life: Void = ProcessParts.run(parts, until: end)
        for part in parts { await part.began.wait() }
        #expect(record.all.isEmpty)
        end.ask()
        end.ask()
        try await life
        #expect(record.all == ["hub ended", "server ended", "reporter ended", "broker ended"])
    }

    @Test func anEndBeforeTheStartStillRunsThePart() async throws {
        let record = Record()
        let end = ProcessEnd()
        end.ask()
        let part = Part(name: "service", record: record)
        try await ProcessParts.run([part], until: end)
        #expect(part.began.isRequested)
        #expect(record.all == ["service ended"])
    }

    @Test func anErrorEndsAllParts() async {
        let record = Record()
        let broker = Part(name: "broker", record: record)
        await #expect(throws: Failure()) {
            try await ProcessParts.run(
                [broker, Part(name: "server", record: record, fate: .fails)], until: ProcessEnd())
        }
        #expect(record.all == ["broker was cancelled"])
    }

    @Test func anErrorAtTheEndIsTheProcesss() async {
        let record = Record()
        let end = ProcessEnd()
        end.ask()
        await #expect(throws: Failure()) {
            try await ProcessParts.run(
                [
                    Part(name: "broker", record: record),
                    Part(name: "server", record: record, fate: .failsAtItsEnd),
                ], until: end)
        }
        #expect(record.all.first == "server ended")
    }

    @Test func noPartEndsByItself() async {
        let record = Record()
        await #expect(throws: ProcessParts.EndedByItself.self) {
            try await ProcessParts.run(
                [Part(name: "broker", record: record), Part(name: "server", record: record, fate: .returns)],
                until: ProcessEnd())
        }
    }

    @Test func workEndsWithTheProcessOrBefore() async {
        let end = ProcessEnd()
        await end.cancels {}
        #expect(!end.isRequested)
        let began = ProcessEnd()
        let cancelled = ProcessEnd()
        async let work: Void = end.cancels {
            began.ask()
            // This end is never requested.
            await ProcessEnd().wait()
            if Task.isCancelled { cancelled.ask() }
        }
        await began.wait()
        end.ask()
        await work
        #expect(cancelled.isRequested)
    }

    @Test func aPauseIsCutShortByTheEnd() async {
        let end = ProcessEnd()
        #expect(await !end.arrives(within: .milliseconds(1)))
        end.ask()
        #expect(await end.arrives(within: .seconds(86_400)))
    }
}
