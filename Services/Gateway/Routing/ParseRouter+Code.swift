import Messages
import ParseProtocol

/// The way of a request that cloud code makes: mount, session and route. The code needs no keys, and it counts for no
/// limit on clients; the client's call of the code did.
extension ParseRouter {
    /// Answers a request of cloud code. Never throws: every error is an answer.
    /// - Parameters:
    ///   - request: with the mount in its path.
    ///   - isMaster: whether the code asked with the master key; else it is whoever has the request's session token, or
    ///     nobody.
    func answer(ofCode request: ParseRequest, isMaster: Bool) async -> ParseResponse {
        guard let path = mount.stripped(from: request.path) else { return response(to: Self.noRoute) }
        var request = request
        request.path = path
        var client = Principal.stranger(request.network)
        client.master = isMaster
        if let id = request.credentials.installationId { client.installationID = id }
        let route = RouteTable.mounted.route(request.method, path)
        do throws(ParseError) {
            return await runAdmitted(request, route, try await signedIn(client, request, route))
        } catch {
            return response(to: error)
        }
    }
}
