import MessageBus
import Messages
import ServiceKit

/// The names of the catalog's own jobs.
let catalogJobs: Set<String> = [RatingRecount.name, "sweepFiles"]

/// The message kinds for jobs (Shared/Messages/Protos/jobs.proto), and the jobs themselves.
func installJobs(_ host: ServiceHost, _ keeper: FileKeeper, _ routes: inout ServiceRoutes) throws {
    let recount = RatingRecount(store: host.store)
    let runner = try JobRunner(
        [
            Job(name: RatingRecount.name, run: recount.run),
            // Leftovers of crashes and broken uploads are removed automatically later; this job is for a disk that is
            // full now.
            Job(name: "sweepFiles") { _ in "\(try await keeper.sweepAbandoned()) files removed." },
        ], host: host)
    precondition(Set(runner.jobs.keys) == catalogJobs, "catalogJobs must list all jobs.")
    routes.read(JobCalls.names) { _, _, reader in
        let names = catalogJobs.union(try CodeHooks.jobs(in: reader))
        return JobsReply.with { $0.names = names.sorted() }
    }
    routes.task(framed: JobCalls.start) { message, request in
        try request.requireMaster(or: .developers)
        let parameters = try request.document()
        let reply = try await host.commit(request) { transaction in
            let id = try runner.start(message.name, parameters, source: "api", in: transaction)
            try host.audit.note(
                .init("job.start", "_JobStatus", id, after: ["jobName": .string(message.name)]), by: request,
                in: transaction)
            return try BusReply(StartJobReply.with { $0.statusID = id })
        }
        await runner.waitForEnd(
            of: try StartJobReply(serializedBytes: reply.body).statusID, for: request.share)
        return reply
    }
    routes.accept(JobCalls.stop) { message, request, transaction in
        try request.requireMaster(or: .developers)
        try runner.stop(message.name, in: transaction)
        try host.audit.note(.init("job.stop", "_JobStatus", message.name), by: request, in: transaction)
    }
    runner.keepRunning()
}
