import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// The code's jobs in this process. Each is started at most once, and its result is kept until the catalog has asked
/// for it.
final class CodeJobs: Sendable {
    /// The pool of the current version.
    private let pool: Mutex<NodePool>
    private let limit: Duration
    private let book = Mutex(JobStates())

    /// - Parameter limit: a job's time limit.
    init(pool: NodePool, limit: Duration) {
        self.pool = Mutex(pool)
        self.limit = limit
    }

    /// Switches to another version of the code: running jobs end, and later ones run in its pool.
    func move(to other: NodePool) {
        let old = pool.withLock { pool in
            defer { pool = other }
            return pool
        }
        old.cancelJobs()
    }

    /// Starts or cancels a job as requested, and returns its state.
    /// - Parameter parameters: a JSON object; nil for none.
    /// - Throws: `.serviceUnavailable` (2) for a job that should start while the service stops.
    func answer(_ question: CodeJob, parameters: JSON?) throws(ParseError) -> CodeJobState {
        if question.stops { pool.withLock(\.self).cancel(job: question.id) }
        if question.begins {
            guard !book.withLock({ $0.refuses(question.id) }) else {
                throw ParseError(.serviceUnavailable, "The cloud service is stopping.")
            }
            begin(question, parameters ?? [:])
        }
        return book.withLock { $0.state(of: question.id) }
    }

    /// Ends all jobs when the service stops; its processes finish their calls. A job that continued could overlap with
    /// the next run of its name, which another process starts.
    func stop() {
        book.withLock { $0.close() }
        pool.withLock(\.self).cancelJobs()
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
        run.onProgress = { [self] message in book.withLock { $0.tell(question.id, message) } }
        let pool = pool.withLock(\.self)
        Task { [self, run] in
            let outcome = await pool.run(run)
            book.withLock { $0.end(question.id, outcome) }
        }
    }
}

/// The states of jobs, by the objectId of their `_JobStatus`. No I/O.
package struct JobStates {
    /// Maximum finished jobs that are remembered. The catalog asks within a second and stores the answer.
    package static let endedMax = 1_000
    /// Maximum Unicode scalars of a message, of at most four bytes each. Characters are not counted, because one can
    /// consist of any number of scalars.
    package static let messageMax = 8_192

    private var states: [String: CodeJobState] = [:]
    private var ended: [String] = []
    private var isClosed = false

    package init() {}

    /// Refuses further jobs.
    package mutating func close() { isClosed = true }

    /// Whether a job is unknown and may not start.
    package func refuses(_ id: String) -> Bool { isClosed && states[id] == nil }

    /// - Returns: false when the job is already known, or refused.
    package mutating func begin(_ id: String) -> Bool {
        guard states[id] == nil, !isClosed else { return false }
        states[id] = CodeJobState.with { $0.phase = .running }
        return true
    }

    /// Stores a job's progress message.
    package mutating func tell(_ id: String, _ message: String) {
        guard states[id]?.phase == .running else { return }
        states[id]?.message = Self.cut(message)
    }

    /// Stores a job's result. Without a final message, the last progress message stays.
    package mutating func end(_ id: String, _ outcome: RunOutcome) {
        guard states[id]?.phase == .running else { return }
        switch outcome {
        case .result(let result):
            states[id]?.phase = .succeeded
            let text = Self.text(of: result)
            if !text.isEmpty { states[id]?.message = Self.cut(text) }
        case .failed(let failure): fail(id, failure.message)
        case .ended(let text), .notRun(let text): fail(id, text)
        }
        ended.append(id)
        if ended.count > Self.endedMax { states[ended.removeFirst()] = nil }
    }

    private mutating func fail(_ id: String, _ text: String) {
        states[id]?.phase = .failed
        states[id]?.message = Self.cut(text)
    }

    private static func cut(_ text: String) -> String { String(text.unicodeScalars.prefix(messageMax)) }

    /// The state of a job.
    package func state(of id: String) -> CodeJobState { states[id] ?? CodeJobState() }

    private static func text(of result: [UInt8]) -> String {
        guard let json = try? JSON(parsing: result), !json.isNull else { return "" }
        return json.stringValue ?? String(decoding: result, as: UTF8.self)
    }
}
