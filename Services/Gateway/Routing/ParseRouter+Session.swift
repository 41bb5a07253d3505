import Messages
import ParseProtocol

/// The session stage.
extension ParseRouter {
    /// The admitted client with the user of its session, as far as the route looks at it.
    /// - Throws: `.invalidSessionToken` (209) for a session that has ended, except to sign up: an app whose user was
    ///   deleted still sends that user's token, and a new account is how it goes on.
    func signedIn(
        _ client: Principal, _ request: ParseRequest, _ route: Route?
    ) async throws(ParseError) -> Principal {
        if route?.ignoresSession == true { return client }
        do throws(ParseError) {
            return try await principals.signIn(client, request.credentials, trace: request.requestId)
        } catch  where error.code == .invalidSessionToken && Self.signsUp(request) {
            return client
        }
    }

    private static func signsUp(_ request: ParseRequest) -> Bool {
        request.method == .post && (request.path == ["users"] || request.path == ["classes", "_User"])
    }

    /// Whether the request is about to prove who it is, so that a session it may already have says nothing.
    static func signsIn(_ request: ParseRequest) -> Bool {
        RouteTable.mounted.route(request.method, request.path)?.ignoresSession ?? false
    }
}
