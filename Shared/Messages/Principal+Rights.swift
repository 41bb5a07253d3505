/// The role whose members run the shop. Created by `users`; clients can never grant it to themselves.
public let adminsRole = "admins"

extension Principal {
    /// Whether the principal has the master key or is an admin. No other code decides this. A restricted session is for
    /// a device that should not have all rights of its user, so it is never an admin's.
    public var isAdmin: Bool { master || !restricted && roles.contains(adminsRole) }

    /// The roles that count for a session. A restricted session does not have its user's operator roles, and so none of
    /// the rights that classes and objects grant to operators.
    public static func roles(_ roles: [String], restricted: Bool) -> [String] {
        restricted ? roles.filter { !OperatorArea.roles.contains($0) } : roles
    }
}
