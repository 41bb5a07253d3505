import ParseProtocol

/// The fields that authenticate a user or address a device. This is the only list of them.
///
/// A caller that may compare such a field with guesses can find its value letter by letter. Other secrets (password
/// hashes, tokens of mailed links, second factors) are in separate tables that no query reaches, under names that no
/// field has.
enum SecretFields {
    /// Fields that only the master key may use in conditions and orders, in the class itself or through pointers to it.
    private static let unqueryable: [String: Set<String>] = [
        "_User": ["authData", "password", "sessionToken"],
        "_Session": ["sessionToken"],
        "_Installation": ["deviceToken"],
    ]

    /// Fields that only their own user and the master key see, regardless of class-level permissions.
    private static let unshown: [String: Set<String>] = ["_User": ["authData"]]

    static func unqueryable(in className: String, by caller: Caller) -> Set<String> {
        className.utf8.first == UInt8(ascii: "_") && !caller.isMaster ? unqueryable[className] ?? [] : []
    }

    static func unshown(in className: String, to caller: Caller) -> Set<String> {
        className.utf8.first == UInt8(ascii: "_") && !caller.isMaster ? unshown[className] ?? [] : []
    }
}

extension ClassInfo {
    /// The fields that the caller may not use in queries.
    func unqueryableFields(by caller: Caller) -> Set<String> {
        let hidden = permissions.hiddenFields(from: caller).union(undisplayedFields(to: caller))
        let secret = SecretFields.unqueryable(in: name, by: caller)
        // Queries on a user name that is not shown would reveal the name.
        if permissions.showsDisplayFieldsOnly(to: caller) { return hidden.union(secret).union(["username"]) }
        return secret.isEmpty ? hidden : hidden.union(secret)
    }

    /// The fields of other users' objects that the caller may not see.
    func unshownFields(to caller: Caller) -> Set<String> {
        permissions.hiddenFields(from: caller).union(SecretFields.unshown(in: name, to: caller))
            .union(undisplayedFields(to: caller))
    }

    /// The fields outside `displayFields`, for a caller that sees only those.
    func undisplayedFields(to caller: Caller) -> Set<String> {
        guard permissions.showsDisplayFieldsOnly(to: caller) else { return [] }
        return Set(fields.keys).subtracting(permissions.displayFields ?? [])
    }
}

extension ClassPermissions {
    /// The fields of users that are hidden from all other users, regardless of ACLs.
    public static let protectedOfUsers = ["*": ["email", "authData"]]

    /// A copy with the protected fields of the class's definition in code added to each group.
    ///
    /// An operator's edit adds to these fields and never replaces them. Because any client can sign up, the list of
    /// `authenticated` exempts from no more than the list of `*`. The only exemption is an empty list for a role or a
    /// user.
    /// - Parameter builtIn: `protectedFields` of the definition.
    func adding(builtInProtection builtIn: [String: [String]]) -> ClassPermissions {
        guard !builtIn.isEmpty else { return self }
        var groups = protectedFields
        for name in Set(groups.keys).union(builtIn.keys) {
            let own = groups[name] ?? []
            if groups[name] == [], name != "authenticated", PrincipalName.isRoleOrUser(name) { continue }
            groups[name] = own + (builtIn[name] ?? builtIn["*"] ?? []).filter { !own.contains($0) }
        }
        return protecting(groups)
    }
}
