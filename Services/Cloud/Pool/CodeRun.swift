import MessageBus
import ParseProtocol

/// A call of cloud code, with the client to which its cost is charged.
package struct CodeRun: Sendable {
    /// The function, the job, or the trigger and its class, for the log.
    package let name: String
    /// The number of enclosing cloud code calls; 0 for a client's call.
    package let depth: Int
    /// The members of `run` except `t` and `id`, as a JSON object.
    package var text: [UInt8]
    /// When the call is cancelled, also while it waits for a process. Once a process has the call, `limit` may end it
    /// earlier.
    package var deadline: BusClock.Milliseconds
    /// The code's time limit in milliseconds, from the moment a process gets the call; nil: only `deadline` applies.
    package var limit: BusClock.Milliseconds?
    package var traceId = ""
    package var trace: TraceContext?
    /// The network of the waiting client.
    package var network = ""
    /// The network whose budget in the pool is used; nil for operators and jobs.
    package var share: ClientNetwork?
    package var budget: RequestBudget?
    /// The objectId of a job's `_JobStatus`; empty for other calls.
    package var jobId = ""
    /// Receives a job's progress messages, on the pool's thread.
    package var onProgress: (@Sendable (String) -> Void)?

    package init(name: String, depth: Int, text: [UInt8], deadline: BusClock.Milliseconds) {
        self.name = name
        self.depth = depth
        self.text = text
        self.deadline = deadline
    }
}

/// A request made by cloud code.
package struct CodeAsk: Sendable {
    let process: PoolMachine.ProcessID
    /// Its number in the process.
    let number: Int64
    /// 0 outside of any call.
    let runId: PoolMachine.RunID
    /// The enclosing call; nil for requests outside of calls, or long after their call.
    package let run: CodeRun?
    /// The unparsed frame.
    package let text: [UInt8]
}
