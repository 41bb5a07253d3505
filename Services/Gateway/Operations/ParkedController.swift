import MessageBus
import Messages
import ParseProtocol

/// `/operations/parked`: work that was refused for good, such as mails that a server rejected. Each service decides
/// which of its kinds the caller may see and change.
struct ParkedController: Sendable {
    let broker: Broker
    let services: ServiceClient

    /// The time to wait for a service that does not reply.
    private static let timeout = Duration.seconds(3)
    /// The areas that own a kind.
    private static let areas: [OperatorArea] = [.orders, .support, .developers]

    /// The newest items of each kind, newest first; the number of all by service and kind; the services that did not
    /// reply.
    func list(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        try Self.requireOperator(principal)
        let seen = broker.services
        // Without cloud code there is no such process.
        let asked = ObjectCalls.performers.filter { $0 != "cloud" || seen[$0]?.replicas.isEmpty == false }
        let context = request.call
        let answers = await withTaskGroup(of: (String, JSON?).self) { group in
            for name in asked { group.addTask { (name, await parked(in: name, principal, context)) } }
            return await group.reduce(into: [String: JSON]()) { $0[$1.0] = $1.1 }
        }
        var items: [JSON] = []
        var counts: [String: JSON] = [:]
        for (name, answer) in answers {
            counts[name] = answer["counts"]
            for var item in answer["items"]?.arrayValue ?? [] {
                item["service"] = .string(name)
                items.append(item)
            }
        }
        // Times in one format sort as texts.
        items.sort { ($0["since"]?.stringValue ?? "") > ($1["since"]?.stringValue ?? "") }
        return ParseResponse([
            "results": .array(items), "counts": .object(counts),
            "unanswered": .array(asked.filter { answers[$0] == nil }.map(JSON.string)),
        ])
    }

    /// Has an item done again, or drops it.
    /// - Throws: `.validationError` (142) for an unknown service or kind, `.objectNotFound` (101) for an item that
    ///   is not parked, `.operationForbidden` (119) for one of another area.
    func change(
        _ verb: ParkedVerb, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        try Self.requireOperator(principal)
        let body = try request.object
        guard let service = body["service"]?.stringValue, ObjectCalls.performers.contains(service) else {
            throw ParseError(
                .validationError, "service must be one of \(ObjectCalls.performers.joined(separator: ", ")).")
        }
        let parameters: JSON = ["kind": body["kind"] ?? .null, "id": body["id"] ?? .null]
        let reply = try await services.write(
            ObjectCalls(of: service).parked, .with { $0.name = verb.rawValue }, documents: [parameters.serialized],
            for: principal, in: request.call)
        return ParseResponse(body: try reply.document)
    }

    private static func requireOperator(_ principal: Principal) throws(ParseError) {
        guard principal.runs(areas) else {
            throw ParseError(.operationForbidden, "Only members of the role \(adminsRole) may do this.")
        }
    }

    /// Nil when the service does not reply.
    private func parked(in service: String, _ principal: Principal, _ context: CallContext) async -> JSON? {
        let reply = try? await services.send(
            ObjectCalls(of: service).parked, FunctionRequest.with { $0.name = ParkedVerb.list.rawValue },
            [Array("{}".utf8)], principal, context, timeout: Self.timeout)
        return try? reply.map { try JSON(reply: try $0.document, in: context) }
    }
}
