import Logging
import Messages
import ParseProtocol

/// Another user whose view of objects an operator requests with `X-Satchel-As-User`. That user has no session here: the
/// result is part of the operator's own response (`FilteredRead`).
///
/// A class, so that every request carries only a reference.
final class Viewer: Sendable {
    let principal: Principal

    init(_ principal: Principal) { self.principal = principal }

    /// The name of a guest, a viewer without a session.
    static let guest = "*"
}

/// The stage that lets operators view objects as another user.
extension ParseRouter {
    /// The user whose view a request asks for; nil when the request names none.
    /// - Parameter request: its path without the mount.
    /// - Throws: `.operationForbidden` (119) unless an operator reads objects of a class that clients may name,
    ///   `.missingObjectId` (104) for a name that is not a user's id, `.objectNotFound` (101) for an unknown user.
    func viewer(of request: ParseRequest, for principal: Principal) async throws(ParseError) -> Viewer? {
        guard let name = request.credentials.asUser else { return nil }
        guard principal.isAdmin else {
            throw ParseError(.operationForbidden, "Only members of the role \(adminsRole) may view as another user.")
        }
        guard Self.readsObjects(request) else {
            throw ParseError(.operationForbidden, "X-Satchel-As-User is for reading objects of a class.")
        }
        let viewer = try await rights(of: name, for: principal, request)
        logger.notice(
            "An operator views objects as another user.",
            metadata: [
                "request.id": "\(request.requestId)", "class.name": "\(request.path[1].prefix(128))",
                "viewer.id": "\(name)", "operator.id": "\(principal.userID.isEmpty ? "master key" : principal.userID)",
            ])
        return Viewer(viewer)
    }

    /// Allows finds, counts and gets under their plain path only, so that new routes start closed.
    private static func readsObjects(_ request: ParseRequest) -> Bool {
        request.method == .get && !request.isInBatch && (2...3).contains(request.path.count)
            && request.path[0] == "classes" && request.path[1].utf8.first != UInt8(ascii: "_")
    }

    private func rights(
        of name: String, for principal: Principal, _ request: ParseRequest
    ) async throws(ParseError) -> Principal {
        var viewer = Principal.of(network: request.network)
        guard name != Viewer.guest else { return viewer }
        guard Names.isObjectId(name) else {
            throw ParseError(.missingObjectId, "X-Satchel-As-User is a user's objectId, or * for a guest.")
        }
        let reply = try await principals.services.read(
            UsersCalls.rights, RightsRequest.with { $0.userID = name }, for: principal, in: request.call)
        let rights = try reply.message
        viewer.userID = rights.userID
        viewer.roles = rights.roles
        viewer.anonymous = rights.anonymous
        return viewer
    }
}
