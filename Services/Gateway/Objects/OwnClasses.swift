import Messages
import ParseProtocol

/// The rules of the protocol's own classes, which apply regardless of their permissions.
enum OwnClasses {
    /// The classes of the short paths of objects.
    static let byPath: [Substring: String] = [
        "users": "_User", "roles": "_Role", "sessions": "_Session", "installations": "_Installation",
    ]

    /// - Throws: `.invalidSessionToken` (209) for sessions without a user, `.operationForbidden` (119) for devices
    ///   (PARSE_PROTOCOL sections 5.2 and 8).
    static func checkFind(_ className: String, _ principal: Principal) throws(ParseError) {
        try checkSessions(className, principal)
        try keepDevicesPrivate(className, "find", principal)
    }

    /// - Throws: as `checkFind`.
    static func checkChange(_ change: Change, _ principal: Principal) throws(ParseError) {
        try checkSessions(change.className, principal)
        if change.verb == .delete { try keepDevicesPrivate(change.className, "delete", principal) }
    }

    /// Clients may list only their user's sessions, so a client without a user may list none.
    static func checkSessions(_ className: String, _ principal: Principal) throws(ParseError) {
        if className == "_Session", principal.userID.isEmpty, !principal.master { throw .invalidSession }
    }

    /// Devices are listed and deleted with the master key only. The permissions of their class forbid it too; this
    /// check gives the error text that clients expect.
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
