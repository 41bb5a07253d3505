import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// The jobs of the code that this process was told to begin: each is begun once, and its end is kept until nobody asks
/// for it any more.
final class CodeJobs: Sendable {
    /// That of the version that runs.
    private let pool: Mutex<NodePool>
    private let limit: Duration
    private let book = Mutex(JobBook())

    /// - Parameter limit: how long a job may take.
    init(pool: NodePool, limit: Duration) {
        self.pool = Mutex(pool)
        self.limit = limit
    }

    /// Another version of the code runs: the jobs of the old one end, and later ones are its own.
    func move(to other: NodePool) {
        let old = pool.withLock { pool in
            defer { pool = other }
            return pool
        }
        old.cancelJobs()
    }

    /// Begins or ends a job as the question wants it.
    /// - Parameter parameters: a JSON object; nil for none.
    /// - Throws: `.serviceUnavailable` (2) for a job that is to be begun while the service stops.
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

    /// The service ends, and its processes go on for calls alone: the next service's jobs of the same names must not
    /// meet these.
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
        run.told = { [self] message in book.withLock { $0.tell(question.id, message) } }
        let pool = pool.withLock(\.self)
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
    /// Unicode's scalars of a message, of at most four bytes each. A character may have any number of them.
    package static let messageMax = 8_192

    private var states: [String: CodeJobState] = [:]
    private var ended: [String] = []
    private var isClosed = false

    package init() {}

    /// No further job is begun.
    package mutating func close() { isClosed = true }

    /// Whether a job is neither known nor to be begun.
    package func refuses(_ id: String) -> Bool { isClosed && states[id] == nil }

    /// - Returns: false for one that is known already, or refused.
    package mutating func begin(_ id: String) -> Bool {
        guard states[id] == nil, !isClosed else { return false }
        states[id] = CodeJobState.with { $0.phase = .running }
        return true
    }

    /// A job says how far it is.
    package mutating func tell(_ id: String, _ message: String) {
        guard states[id]?.phase == .running else { return }
        states[id]?.message = Self.cut(message)
    }

    /// A job has ended. Without a text of its own, what it said last stays.
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

    /// What is known of a job.
    package func state(of id: String) -> CodeJobState { states[id] ?? CodeJobState() }

    private static func text(of result: [UInt8]) -> String {
        guard let json = try? JSON(parsing: result), !json.isNull else { return "" }
        return json.stringValue ?? String(decoding: result, as: UTF8.self)
    }
}
