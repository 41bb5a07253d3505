import ParseProtocol

/// The names of users and roles in ACLs and class-level permissions.
enum PrincipalName {
    private static let roleBytes = 6...205
    private static let idBytes = 1...128

    /// Whether the name is a role, as `role:<name>`, or a user's objectId. Imported users may have ids with other
    /// characters than Satchel's. An id that no user has grants nothing.
    static func isRoleOrUser(_ name: String) -> Bool {
        if name.hasPrefix("role:") { return roleBytes.contains(name.utf8.count) && !name.utf8.contains(0) }
        return idBytes.contains(name.utf8.count) && !isReserved(name) && name.utf8.allSatisfy(isVisible)
    }

    /// Whether the protocol uses the name, or may use it later, for something else.
    private static func isReserved(_ name: String) -> Bool {
        ["*", "$", "_"].contains(name.prefix(1)) && !Names.isObjectId(name) || name.utf8.contains(UInt8(ascii: ":"))
    }

    private static func isVisible(_ byte: UInt8) -> Bool { byte > 0x20 && byte != 0x7F }
}
