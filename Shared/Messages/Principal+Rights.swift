/// The role whose members run the shop. Seeded by `users`; clients can never grant it to themselves.
public let adminsRole = "admins"

extension Principal {
    /// Whether the master key or a member of the admins asks: the only place that decides it. A restricted session is
    /// one for a device that should not have all rights of its user, and so never an admin's.
    public var isAdmin: Bool { master || !restricted && roles.contains(adminsRole) }

    /// The roles that a session brings along. Rights that classes and objects give to the shop's operators are theirs
    /// as operators, so that a restricted session has none of them either.
    public static func roles(_ roles: [String], restricted: Bool) -> [String] {
        restricted ? roles.filter { !OperatorArea.roles.contains($0) } : roles
    }
}
