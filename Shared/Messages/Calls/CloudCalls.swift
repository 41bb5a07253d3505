/// Cloud code, which `cloud` runs, and the requests that it makes of the gateway meanwhile.
public enum CloudCalls {
    /// Runs a function or a trigger. Sender: gateway.
    public static let run = Call<RunCode, CodeOutcome>("cloud.run.v1")
    /// Begins, looks at or ends a job of the code. Sender: catalog.
    public static let job = Call<CodeJob, CodeJobState>("cloud.job.v1")
    /// A request of the code's own. Sender: cloud; the gateway itself answers.
    public static let ask = Call<CodeRequest, CodeAnswer>("gateway.request.v1")

    static let all: [any DeclaredCall] = [run, job, ask]
}
