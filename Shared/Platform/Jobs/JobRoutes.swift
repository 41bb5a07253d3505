import MessageBus
import Messages
import ServiceKit

/// The name of the platform's own job.
let fileSweep = "sweepFiles"

/// The message kinds for jobs (Shared/Messages/Protos/jobs.proto), and the jobs themselves.
func installJobs(_ host: ServiceHost, _ lifecycle: FileLifecycle, _ jobs: [Job], _ routes: inout ServiceRoutes) throws {
    let runner = try JobRunner(
        jobs + [
            // Leftovers of crashes and broken uploads are removed automatically later; this job is for a disk that is
            // full now.
            Job(name: fileSweep) { _ in "\(try await lifecycle.sweepAbandoned()) files removed." }
        ], host: host)
    routes.read(JobCalls.names) { _, _, reader in
        let names = Set(runner.jobs.keys).union(try CodeHooks.jobs(in: reader))
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
