import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The platform's classes, for the plan of the service that hosts it.
package let platformClasses: [ClassDefinition] = [.requestClaim, .jobStatus, .jobSchedule]

/// The rules of the platform's classes.
/// - Parameter jobs: the host's own jobs.
package func platformRules(jobs: [Job]) -> [String: any ClassRules] {
    [
        "_JobStatus": JobStatusRules(),
        "_JobSchedule": JobScheduleRules(jobs: Set(jobs.map(\.name)).union([fileSweep])),
    ]
}

/// Registers the platform's message kinds and background work.
/// - Parameter jobs: the host's own jobs, as for `platformRules`.
/// - Throws: `StartupProblem`.
package func buildPlatform(
    _ host: ServiceHost, _ routes: inout ServiceRoutes, _ files: FileStorage, jobs: [Job]
) throws -> FileLifecycle {
    routes.read(framed: CatalogCalls.config) { _, request, reader in
        try BusReply(ConfigReply(), documents: [ConfigParameters.answer(in: reader, caller: request.caller)])
    }
    routes.accept(CatalogCalls.setConfig) { _, request, transaction in
        try request.requireMaster(or: .developers)
        let change = try request.document()
        if !request.isFromAdmin { try ConfigParameters.requireVisible(change, in: transaction) }
        let before = try ConfigParameters.all(in: transaction)
        let wasHidden = try ConfigParameters.hidden(in: transaction)
        try ConfigParameters.apply(change, in: transaction)
        transaction.noteChange(ofClass: ChangeSubject.configClass, "")
        let hidden = try ConfigParameters.hidden(in: transaction).union(wasHidden)
        let after = try ConfigParameters.all(in: transaction)
        try host.audit.note(
            .init("config", "_GlobalConfig", before: before, after: after, hiding: hidden), by: request,
            in: transaction)
    }
    routes.accept(CatalogCalls.claimRequest) { message, _, transaction in
        try RequestClaims.claim(message, in: transaction)
    }
    routes.accept(CatalogCalls.releaseRequest) { message, _, transaction in
        try RequestClaims.release(message.requestID, in: transaction)
    }
    routes.write(CatalogCalls.beginWrite, keyed: false) { message, request, transaction in
        try KeyedAnswers.begin(message, by: request.caller, in: transaction)
    }
    routes.read(CatalogCalls.writeState) { message, _, reader in try KeyedAnswers.state(message, in: reader) }
    routes.write(CatalogCalls.endWrite, keyed: false) { message, request, transaction in
        try KeyedAnswers.end(message, by: request.caller, in: transaction)
    }
    host.limitStoredTimes(BucketDeletions.waits)
    let lifecycle = installFiles(host, files, &routes)
    installHooks(host, &routes)
    try installJobs(host, lifecycle, jobs, &routes)
    return lifecycle
}
