import Foundation
import MessageBus
import Messages
import ParseProtocol

/// `/aggregate/<Class>`: pipelines and distinct values, at the class's owner. Pipelines require the master key; every
/// client that may find the objects may read the distinct values of a field.
struct AggregateController: Sendable {
    let services: ServiceClient
    let federation: Federation

    func run(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard Names.isClassName(className) || ServiceDirectory.masterClasses.contains(className) else {
            throw className.hasPrefix("_") ? .internalClass(className, "find") : .invalidClassName(className)
        }
        let options = try AggregateOptions(request)
        if !principal.master {
            guard options.distinct != nil, options.stages.isEmpty else {
                return .masterKeyNeeded
            }
            try OwnClasses.checkFind(className, principal)
            guard try await HookedRead(request.hooks, className, principal) == nil else {
                throw ParseError(
                    .operationForbidden,
                    "A webhook or cloud code decides what is found in \(className): distinct needs the master key.")
            }
        }
        var message = AggregateRequest()
        message.className = className
        if let field = options.distinct {
            message.distinct = field
            message.where = Data(try await resolved(options.filter, principal, request))
        } else {
            var stages: [JSON] = []
            for stage in options.stages {
                stages.append(try await resolved(stage, principal, request))
            }
            message.pipeline = Data(JSON.array(stages).serialized)
            message.explain = options.explains
        }
        let reply = try await services.read(
            ServiceDirectory.calls(ofClass: className).aggregate, message, for: principal, in: request.call)
        return ParseResponse(body: try reply.document)
    }

    /// A `$match` stage with its sub-queries resolved.
    private func resolved(
        _ stage: JSON, _ principal: Principal, _ request: ParseRequest
    ) async throws(ParseError) -> JSON {
        guard case .object(let members) = stage, members.count == 1, let condition = members["$match"] else {
            return stage
        }
        let text = condition.serialized
        guard SubQueries.mayOccur(in: text) else { return stage }
        return ["$match": try JSON(clientText: try await resolved(text, principal, request))]
    }

    private func resolved(
        _ filter: [UInt8], _ principal: Principal, _ request: ParseRequest
    ) async throws(ParseError) -> [UInt8] {
        guard SubQueries.mayOccur(in: filter) else { return filter }
        var subQueries = SubQueries(federation: federation, principal: principal, request: request)
        return try await subQueries.resolve(filter)
    }
}
