/// The calls about background jobs, which `catalog` runs.
public enum JobCalls {
    /// The names of all jobs. Sender: gateway.
    public static let names = Call<JobsRequest, JobsReply>("catalog.jobs.v1")
    /// Starts a job. Sender: gateway.
    public static let start = Call<StartJob, StartJobReply>("catalog.startJob.v1")
    /// Stops runs of a job. Sender: gateway.
    public static let stop = Call<StopJob, Accepted>("catalog.stopJob.v1")

    static let all: [any DeclaredCall] = [names, start, stop]
}
