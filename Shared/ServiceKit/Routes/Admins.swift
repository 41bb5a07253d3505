import MessageBus
import Messages
import ParseProtocol

extension ServiceRequest {
    /// Whether the master key or a member of the admins asks, not with a restricted session.
    public var isFromAdmin: Bool { envelope.principal.isAdmin }

    /// - Throws: `.operationForbidden` (119) unless an admin asks.
    public func requireAdmin() throws { try requireArea(.admins) }

    /// - Throws: `.operationForbidden` (119) unless somebody asks who runs one of the areas. The text is the same for
    ///   all: it tells nobody which roles there are.
    public func requireArea(_ areas: OperatorArea...) throws {
        guard envelope.principal.runs(areas) else {
            throw ParseError(.operationForbidden, "Only members of the role \(adminsRole) may do this.")
        }
    }

    /// For what only the master key did on hosted Parse.
    /// - Throws: `.operationForbidden` (119) unless the master key asks, or somebody who runs the area.
    public func requireMaster(or area: OperatorArea) throws {
        guard envelope.principal.runs([area]) else {
            throw ParseError(.operationForbidden, "unauthorized: master key is required")
        }
    }
}

extension JSON {
    /// The parameter `limit` of a function that lists something: `standard` when absent, `maximum` at most.
    /// - Throws: `.validationError` (142) unless it is a whole number from 1.
    public func listLimit(standard: Int64 = 100, maximum: Int64 = 1000) throws -> Int64 {
        guard let limit = self["limit"], !limit.isNull else { return standard }
        guard let count = limit.intValue, count >= 1 else {
            throw ParseError(.validationError, "limit must be a whole number from 1.")
        }
        return min(count, maximum)
    }
}
