import MessageBus
import Messages
import ServiceKit

/// The names of the catalog's own jobs.
let catalogJobs: Set<String> = [RatingRecount.name, "sweepFiles"]

/// The kinds about jobs (Shared/Messages/Protos/jobs.proto), and the jobs themselves.
func installJobs(_ host: ServiceHost, _ keeper: FileKeeper, _ routes: inout ServiceRoutes) throws {
    let recount = RatingRecount(store: host.store)
    let runner = try JobRunner(
        [
            Job(name: RatingRecount.name, run: recount.run),
            // What crashes and broken uploads leave goes by itself in time; this is for a disk that is full now.
            Job(name: "sweepFiles") { _ in "\(try await keeper.sweepAbandoned()) files removed." },
        ], host: host)
    precondition(Set(runner.jobs.keys) == catalogJobs, "Schedules know other jobs than there are.")
    routes.read(JobCalls.names) { _, _, reader in
        let names = catalogJobs.union(try CodeHooks.jobs(in: reader))
        return JobsReply.with { $0.names = names.sorted() }
    }
    routes.write(JobCalls.start) { message, request, transaction in
        try request.requireMaster(or: .developers)
        let id = try runner.start(message.name, request.document(), source: "api", in: transaction)
        try host.audit.note(
            .init("job.start", "_JobStatus", id, after: ["jobName": .string(message.name)]), by: request,
            in: transaction)
        return StartJobReply.with { $0.statusID = id }
    }
    routes.accept(JobCalls.stop) { message, request, transaction in
        try request.requireMaster(or: .developers)
        try runner.stop(message.name, in: transaction)
        try host.audit.note(.init("job.stop", "_JobStatus", message.name), by: request, in: transaction)
    }
    runner.keepRunning()
}
