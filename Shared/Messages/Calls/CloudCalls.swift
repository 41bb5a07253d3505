/// The calls of `cloud`, which runs cloud code, and the code's requests to the gateway.
public enum CloudCalls {
    /// Runs a function or a trigger. Sender: gateway.
    public static let run = Call<RunCode, CodeOutcome>("cloud.run.v1")
    /// Starts, inspects or ends a job of the code. Sender: catalog.
    public static let job = Call<CodeJob, CodeJobState>("cloud.job.v1")
    /// A request made by the code. Sender: cloud; the gateway itself answers.
    public static let ask = Call<CodeRequest, CodeAnswer>("gateway.request.v1")

    static let all: [any DeclaredCall] = [run, job, ask]
}
