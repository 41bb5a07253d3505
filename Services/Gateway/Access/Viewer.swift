import Logging
import Messages
import ParseProtocol

/// Somebody else whose view of objects an operator asks for with `X-Satchel-As-User`. There is no session of that user:
/// what comes of it is a part of the operator's own answer (`NarrowedRead`).
///
/// A class, because every request carries the place for one along.
final class Viewer: Sendable {
    let principal: Principal

    init(_ principal: Principal) { self.principal = principal }

    /// The name of somebody who is not signed in.
    static let guest = "*"
}

/// The stage of operators who look at objects as somebody else.
extension ParseRouter {
    /// The user that a request names to be looked at objects as; nil when it names none.
    /// - Parameter request: with a path without the mount.
    /// - Throws: `.operationForbidden` (119) unless an operator reads objects of a class that clients may name,
    ///   `.missingObjectId` (104) for what is no user's id, `.objectNotFound` (101) for nobody's.
    func viewer(of request: ParseRequest, for principal: Principal) async throws(ParseError) -> Viewer? {
        guard let name = request.credentials.asUser else { return nil }
        guard principal.isAdmin else {
            throw ParseError(.operationForbidden, "Only members of the role \(adminsRole) may look as somebody else.")
        }
        guard Self.readsObjects(request) else {
            throw ParseError(.operationForbidden, "X-Satchel-As-User is for reading objects of a class.")
        }
        let viewer = try await rights(of: name, for: principal, request)
        logger.notice(
            "An operator looks at objects as somebody else.",
            metadata: [
                "request.id": "\(request.requestId)", "class.name": "\(request.path[1].prefix(128))",
                "viewer.id": "\(name)", "operator.id": "\(principal.userID.isEmpty ? "master key" : principal.userID)",
            ])
        return Viewer(viewer)
    }

    /// Finds, counts and gets under their plain path, and nothing that is built later.
    private static func readsObjects(_ request: ParseRequest) -> Bool {
        request.method == .get && !request.isInBatch && (2...3).contains(request.path.count)
            && request.path[0] == "classes" && request.path[1].utf8.first != UInt8(ascii: "_")
    }

    private func rights(
        of name: String, for principal: Principal, _ request: ParseRequest
    ) async throws(ParseError) -> Principal {
        var viewer = Principal.stranger(request.network)
        guard name != Viewer.guest else { return viewer }
        guard Names.isObjectId(name) else {
            throw ParseError(.missingObjectId, "X-Satchel-As-User is a user's objectId, or * for a guest.")
        }
        let reply = try await principals.services.read(
            UsersCalls.rights, RightsRequest.with { $0.userID = name }, for: principal, trace: request.requestId)
        let rights = try reply.message
        viewer.userID = rights.userID
        viewer.roles = rights.roles
        viewer.anonymous = rights.anonymous
        return viewer
    }
}
