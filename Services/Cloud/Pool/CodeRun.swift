import MessageBus

/// A call of cloud code, and on whose account it is.
package struct CodeRun: Sendable {
    /// The function, the job, or the trigger and its class, for the log.
    package let name: String
    /// The calls of cloud code that it is inside of; 0 for a client's.
    package let depth: Int
    /// The members of `run` beside `t` and `id`, as a JSON object.
    package let text: [UInt8]
    /// The time at which it is ended, wherever it is; the end of `limit` once a process has it.
    package var deadline: BusClock.Milliseconds
    /// How long the code may take, in milliseconds from the moment at which a process gets the call; nil for as long as
    /// `deadline` allows.
    package var limit: BusClock.Milliseconds?
    package var traceId = ""
    /// The network of the client that waits for it.
    package var network = ""
    package var budget: RequestBudget?
    /// Of a job: the objectId of its `_JobStatus`; empty for others.
    package var jobId = ""
    /// Hears what a job says of its progress, on the pool's thread.
    package var told: (@Sendable (String) -> Void)?

    package init(name: String, depth: Int, text: [UInt8], deadline: BusClock.Milliseconds) {
        self.name = name
        self.depth = depth
        self.text = text
        self.deadline = deadline
    }
}

/// A request that cloud code makes.
package struct CodeAsk: Sendable {
    let process: PoolMachine.ProcessID
    /// Its number in the process.
    let number: Int64
    /// 0 outside of any call.
    let runId: PoolMachine.RunID
    /// The call that it is made inside of; nil for what the code does by itself, or long after its call.
    package let run: CodeRun?
    /// The frame as it came.
    package let text: [UInt8]
}
