import Messages
import ParseProtocol

/// `/push` and `/push_audiences` (PARSE_PROTOCOL section 9). Both require the master key.
struct PushController: Sendable {
    let services: ServiceClient
    let objects: ObjectsController
    let federation: Federation

    private static let audienceClass = "_Audience"

    /// Sends a push, at once or later. Sub-queries in its condition are resolved at once.
    func send(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        var body = try request.object
        if let condition = body["where"], SubQueries.mayOccur(in: condition.serialized) {
            let filter = condition.stringValue.map { Array($0.utf8) } ?? condition.serialized
            var resolver = SubQueries(federation: federation, principal: principal, request: request)
            let resolved = try await resolver.resolve(filter, of: "_Installation")
            body["where"] = try JSON(reply: resolved, in: request.call)
        }
        let reply = try await services.write(
            PushCalls.send, SendPushRequest(), documents: [JSON.object(body).serialized], for: principal,
            in: request.call)
        var response = ParseResponse(["result": true])
        response.headers[Self.statusIdName] = try reply.message.pushID
        return response
    }

    private static let statusIdName = headerName("X-Parse-Push-Status-Id")

    /// Audiences as objects, except that their condition is a text when written and an object when read.
    func audiences(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let id = request.path.dropFirst().first.map(String.init)
        switch (request.method, id) {
        case (.get, nil):
            var answer = try await objects.find(Self.audienceClass, request, principal)
            var page = try JSON(reply: answer.body, in: request.call)
            page["results"] = .array((page["results"]?.arrayValue ?? []).map(Self.decoded))
            answer.body = page.serialized
            return answer
        case (.get, let id?):
            var answer = try await objects.get(Self.audienceClass, id, request, principal)
            answer.body = Self.decoded(try JSON(reply: answer.body, in: request.call)).serialized
            return answer
        case (.post, nil): return try await objects.create(Self.audienceClass, request, principal)
        case (.put, let id?): return try await objects.update(Self.audienceClass, id, request, principal)
        case (.delete, let id?): return try await objects.delete(Self.audienceClass, id, request, principal)
        default: throw ParseRouter.noRoute
        }
    }

    private static func decoded(_ audience: JSON) -> JSON {
        guard let text = audience["query"]?.stringValue, let condition = try? JSON(parsing: text) else {
            return audience
        }
        var audience = audience
        audience["query"] = condition
        return audience
    }
}
