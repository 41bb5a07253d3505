import Messages
import ParseProtocol

/// `/jobs` and `/cloud_code/jobs`: background jobs, started at once or by schedule (PARSE_PROTOCOL section 11). Master
/// key only.
struct JobsController: Sendable {
    let services: ServiceClient
    let objects: ObjectsController

    private static let scheduleClass = "_JobSchedule"
    private static let statusIdName = headerName("X-Parse-Job-Status-Id")

    /// Starts a job; the body may name it instead of the path.
    func start(
        _ named: String?, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        var parameters = try request.object
        var name = named
        if name == nil { name = parameters.removeValue(forKey: "jobName")?.stringValue }
        guard let name else { throw ParseError(.scriptFailed, "Invalid job.") }
        let reply = try await services.write(
            JobCalls.start, StartJob.with { $0.name = name }, documents: [JSON.object(parameters).serialized],
            for: principal, in: request.call)
        var response = ParseResponse([:])
        response.headers[Self.statusIdName] = try reply.message.statusID
        return response
    }

    /// Stops the waiting and running runs of a job. The objectId of one run's status may stand in place of the name.
    func stop(
        _ name: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        _ = try await services.write(
            JobCalls.stop, StopJob.with { $0.name = name }, for: principal, in: request.call)
        return ParseResponse([:])
    }

    /// All jobs, and the ones with a schedule.
    func names(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let reply = try await services.read(JobCalls.names, JobsRequest(), for: principal, in: request.call)
        let names = try reply.message.names.map(JSON.string)
        let inUse = try await allSchedules(request, principal).compactMap { $0["jobName"] }
        return ParseResponse(["in_use": .array(inUse), "jobs": .array(names)])
    }

    /// Responds with a bare array, as dashboards expect it.
    func schedules(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        ParseResponse(.array(try await allSchedules(request, principal)))
    }

    private func allSchedules(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> [JSON] {
        var options = QueryOptions()
        options.limit = 1000
        options.order = ["createdAt"]
        let answer = try await objects.federation.find(Self.scheduleClass, options, principal, for: request)
        return try JSON(reply: answer, in: request.call)["results"]?.arrayValue ?? []
    }

    /// Creates or changes a schedule: `{"job_schedule": {…}}`.
    func plan(
        _ objectId: String?, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard case .object(let schedule) = try request.object["job_schedule"] else {
            throw ParseError(.invalidJSON, "job_schedule must be an object.")
        }
        var inner = request
        inner.tunnelled = schedule
        guard let objectId else { return try await objects.create(Self.scheduleClass, inner, principal) }
        return try await objects.update(Self.scheduleClass, objectId, inner, principal)
    }

    func forget(
        _ objectId: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        try await objects.delete(Self.scheduleClass, objectId, request, principal)
    }
}
