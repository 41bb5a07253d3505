import MessageBus
import Messages
import ParseProtocol

/// `/config`: every client reads the parameters; the master key, admins and developers change them.
struct ConfigController: Sendable {
    let services: ServiceClient

    func get(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let reply = try await services.read(
            CatalogCalls.config, ConfigRequest(), for: principal, in: request.call)
        var response = ParseResponse(body: try reply.document)
        // Only admins get more than the parameters that every client gets.
        response.isAlike = !principal.isPrivileged && principal.userID.isEmpty
        return response
    }

    /// The parameters as the one object of `_GlobalConfig`, which MongoDB uses; clean-ups of SDKs' tests look for it
    /// there.
    func find(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        var object = try await parameters(request, principal)
        let isEmpty = object["params"]?.objectValue?.isEmpty ?? true
        object["objectId"] = .string(Self.objectId)
        return ParseResponse(["results": isEmpty ? [] : [object]])
    }

    /// Removes all parameters.
    func delete(
        _ objectId: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let names = try await parameters(request, principal)["params"]?.objectValue?.keys.sorted() ?? []
        guard objectId == Self.objectId, !names.isEmpty else { throw .objectNotFound }
        let gone = Dictionary(uniqueKeysWithValues: names.map { ($0, ["__op": "Delete"] as JSON) })
        _ = try await services.write(
            CatalogCalls.setConfig, SetConfigRequest(), documents: [JSON.object(["params": .object(gone)]).serialized],
            for: principal, in: request.call)
        return ParseResponse([:])
    }

    private static let objectId = "1"

    private func parameters(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> JSON {
        guard principal.master else {
            throw ParseError.internalClass("_GlobalConfig", request.method == .delete ? "delete" : "find")
        }
        return try await allParameters(in: request.call)
    }

    /// Includes hidden parameters: cloud code about Config gets them, whichever principal makes the change.
    private func allParameters(in context: CallContext) async throws(ParseError) -> JSON {
        let reply = try await services.read(CatalogCalls.config, ConfigRequest(), for: .ofHooks, in: context)
        return try JSON(reply: try reply.document, in: context)
    }

    func put(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let stored = { () async throws(ParseError) -> JSON in try await allParameters(in: request.call) }
        let hooks = try await HookedConfig(request.hooks, principal, stored: stored)
        let change = try await hooks?.beforeSave(.object(try request.object)).serialized
        _ = try await services.write(
            CatalogCalls.setConfig, SetConfigRequest(), documents: [change ?? request.document], for: principal,
            in: request.call)
        try await hooks?.afterSave { try await allParameters(in: $0) }
        return ParseResponse(["result": true])
    }
}
