import ParseProtocol

/// The names under which ACLs and class-level permissions give rights to users and roles.
enum PrincipalName {
    private static let roleBytes = 6...205
    private static let idBytes = 1...128

    /// A role as `role:<name>`, or a user's objectId. Users that come from elsewhere may have ids of other characters
    /// than ours; an id that nobody has gives nobody a right.
    static func isRoleOrUser(_ name: String) -> Bool {
        if name.hasPrefix("role:") { return roleBytes.contains(name.utf8.count) && !name.utf8.contains(0) }
        return idBytes.contains(name.utf8.count) && !isReserved(name) && name.utf8.allSatisfy(isVisible)
    }

    /// Whether the protocol means, or may come to mean, something else by the name.
    private static func isReserved(_ name: String) -> Bool {
        ["*", "$", "_"].contains(name.prefix(1)) && !Names.isObjectId(name) || name.utf8.contains(UInt8(ascii: ":"))
    }

    private static func isVisible(_ byte: UInt8) -> Bool { byte > 0x20 && byte != 0x7F }
}
