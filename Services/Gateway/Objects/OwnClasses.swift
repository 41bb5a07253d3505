import Messages
import ParseProtocol

/// The rules for the protocol's own classes whatever their permissions say.
enum OwnClasses {
    /// - Throws: `.invalidSessionToken` (209) for sessions of nobody, `.operationForbidden` (119) for devices
    ///   (PARSE_PROTOCOL sections 5.2 and 8).
    static func checkFind(_ className: String, _ principal: Principal) throws(ParseError) {
        try checkSessions(className, principal)
        try keepDevicesPrivate(className, "find", principal)
    }

    /// Everybody's sessions are nobody's business: without a user there is nothing to list.
    static func checkSessions(_ className: String, _ principal: Principal) throws(ParseError) {
        if className == "_Session", principal.userID.isEmpty, !principal.master { throw .invalidSession }
    }

    /// Devices are listed and deleted with the master key only. Their class says the same; this is the text that
    /// clients know.
    static func keepDevicesPrivate(
        _ className: String, _ operation: String, _ principal: Principal
    ) throws(ParseError) {
        guard className != "_Installation" || principal.master else {
            throw ParseError(
                .operationForbidden,
                "Clients aren't allowed to perform the \(operation) operation on the installation collection.")
        }
    }
}
