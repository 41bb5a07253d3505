import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// The jobs of the code that this process was told to begin: each is begun once, and its end is kept until nobody asks
/// for it any more.
final class CodeJobs: Sendable {
    private let pool: NodePool
    private let limit: Duration
    private let book = Mutex(JobBook())

    /// - Parameter limit: how long a job may take.
    init(pool: NodePool, limit: Duration) {
        self.pool = pool
        self.limit = limit
    }

    /// Begins or ends a job as the question wants it.
    /// - Parameter parameters: a JSON object; nil for none.
    func answer(_ question: CodeJob, parameters: JSON?) -> CodeJobState {
        if question.stops { pool.cancel(job: question.id) }
        if question.begins { begin(question, parameters ?? [:]) }
        return book.withLock { $0.state(of: question.id) }
    }

    private func begin(_ question: CodeJob, _ parameters: JSON) {
        guard book.withLock({ $0.begin(question.id) }) else { return }
        let text: JSON = [
            "kind": "job", "name": .string(question.name), "params": parameters, "jobId": .string(question.id),
            "request": ["master": true],
        ]
        var run = CodeRun(
            name: question.name, depth: 0, text: text.serialized, deadline: BusClock.now + limit.milliseconds)
        run.jobId = question.id
        run.told = { [self] message in book.withLock { $0.tell(question.id, message) } }
        Task { [self, run] in
            let outcome = await pool.run(run)
            book.withLock { $0.end(question.id, outcome) }
        }
    }
}

/// The states of jobs, by the objectId of their `_JobStatus`. No I/O.
package struct JobBook {
    /// Jobs that have ended and are still known. The catalog asks within a second and keeps the answer.
    package static let endedMax = 1_000
    /// Characters of a message.
    package static let messageMax = 8_192

    private var states: [String: CodeJobState] = [:]
    private var ended: [String] = []

    package init() {}

    /// - Returns: false for one that is known already.
    package mutating func begin(_ id: String) -> Bool {
        guard states[id] == nil else { return false }
        states[id] = CodeJobState.with { $0.phase = .running }
        return true
    }

    /// A job says how far it is.
    package mutating func tell(_ id: String, _ message: String) {
        guard states[id]?.phase == .running else { return }
        states[id]?.message = String(message.prefix(Self.messageMax))
    }

    /// A job has ended. Without a text of its own, what it said last stays.
    package mutating func end(_ id: String, _ outcome: RunOutcome) {
        guard states[id]?.phase == .running else { return }
        switch outcome {
        case .result(let result):
            states[id]?.phase = .succeeded
            let text = Self.text(of: result)
            if !text.isEmpty { states[id]?.message = String(text.prefix(Self.messageMax)) }
        case .failed(let failure): fail(id, failure.message)
        case .ended(let text), .notRun(let text): fail(id, text)
        }
        ended.append(id)
        if ended.count > Self.endedMax { states[ended.removeFirst()] = nil }
    }

    private mutating func fail(_ id: String, _ text: String) {
        states[id]?.phase = .failed
        states[id]?.message = String(text.prefix(Self.messageMax))
    }

    /// What is known of a job.
    package func state(of id: String) -> CodeJobState { states[id] ?? CodeJobState() }

    private static func text(of result: [UInt8]) -> String {
        guard let json = try? JSON(parsing: result), !json.isNull else { return "" }
        return json.stringValue ?? String(decoding: result, as: UTF8.self)
    }
}
