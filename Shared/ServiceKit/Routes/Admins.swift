import MessageBus
import Messages
import ParseProtocol

extension ServiceRequest {
    /// Whether the request comes from the master key, or from an admin whose session is not restricted.
    public var isFromAdmin: Bool { envelope.principal.isAdmin }

    /// - Throws: `.operationForbidden` (119) unless the request comes from an admin.
    public func requireAdmin() throws { try requireArea(.admins) }

    /// - Throws: `.operationForbidden` (119) unless the caller runs one of the areas. The error text is always the
    ///   same, so that it does not reveal which roles exist.
    public func requireArea(_ areas: OperatorArea...) throws {
        guard envelope.principal.runs(areas) else {
            throw ParseError(.operationForbidden, "Only members of the role \(adminsRole) may do this.")
        }
    }

    /// For operations that needed the master key on hosted Parse.
    /// - Throws: `.operationForbidden` (119) unless the caller has the master key or runs the area.
    public func requireMaster(or area: OperatorArea) throws {
        guard envelope.principal.runs([area]) else {
            throw ParseError(.operationForbidden, "unauthorized: master key is required")
        }
    }
}

extension JSON {
    /// The parameter `limit` of a listing function: `standard` when absent, `maximum` at most.
    /// - Throws: `.validationError` (142) unless it is a whole number from 1.
    public func listLimit(standard: Int64 = 100, maximum: Int64 = 1000) throws -> Int64 {
        guard let limit = self["limit"], !limit.isNull else { return standard }
        guard let count = limit.intValue, count >= 1 else {
            throw ParseError(.validationError, "limit must be a whole number from 1.")
        }
        return min(count, maximum)
    }

    /// A parameter with a moment, as Date or ISO 8601 text; nil when absent.
    /// - Throws: `.validationError` (142) for any other value.
    public func momentParameter(_ name: String) throws -> Timestamp? {
        guard let value = self[name], !value.isNull else { return nil }
        let text = value.stringValue ?? (value.wireType == "Date" ? value["iso"]?.stringValue : nil)
        guard let moment = text.flatMap(Timestamp.init(iso:)) else {
            throw ParseError(.validationError, "\(name) must be a date such as 2030-01-31T00:00:00.000Z.")
        }
        return moment
    }

    /// The parameter `count` of a listing function: whether the caller wants the number of all rows beside the list.
    /// - Throws: `.validationError` (142) unless it is true or false.
    public func wantsCount() throws -> Bool {
        guard let value = self["count"], !value.isNull else { return false }
        guard let flag = value.boolValue else { throw ParseError(.validationError, "count must be true or false.") }
        return flag
    }

    /// The result of a listing function: the list, or with a count `{"results": […], "count": …}`.
    public static func listing(_ results: [JSON], count: Int64?) -> JSON {
        guard let count else { return .array(results) }
        return ["results": .array(results), "count": .int(count)]
    }
}
