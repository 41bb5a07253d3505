import ParseProtocol

/// The fields that prove who somebody is, or name a device. The list has no other home.
///
/// Whoever may compare such a field with guesses finds it out, letter by letter. What else is secret (hashes of
/// passwords, tokens of mailed links, second factors) is in tables of its own that no query reaches, under names that
/// no field has.
enum SecretFields {
    /// No condition or order of anybody but the master key may name them, in a class itself or through pointers to it.
    private static let unaskable: [String: Set<String>] = [
        "_User": ["authData", "password", "sessionToken"],
        "_Session": ["sessionToken"],
        "_Installation": ["deviceToken"],
    ]

    /// Shown to the user whose they are and to the master key, whatever the class-level permissions say.
    private static let unshown: [String: Set<String>] = ["_User": ["authData"]]

    static func unaskable(in className: String, by caller: Caller) -> Set<String> {
        className.utf8.first == UInt8(ascii: "_") && !caller.isMaster ? unaskable[className] ?? [] : []
    }

    static func unshown(in className: String, to caller: Caller) -> Set<String> {
        className.utf8.first == UInt8(ascii: "_") && !caller.isMaster ? unshown[className] ?? [] : []
    }
}

extension ClassInfo {
    /// The fields that the caller may not ask about.
    func unaskableFields(by caller: Caller) -> Set<String> {
        let hidden = permissions.hiddenFields(from: caller)
        let secret = SecretFields.unaskable(in: name, by: caller)
        return secret.isEmpty ? hidden : hidden.union(secret)
    }

    /// The fields of others' objects that the caller may not see.
    func unshownFields(to caller: Caller) -> Set<String> {
        permissions.hiddenFields(from: caller).union(SecretFields.unshown(in: name, to: caller))
    }
}

extension ClassPermissions {
    /// The fields of users that are hidden from everybody else, whatever an ACL says.
    public static let protectedOfUsers = ["*": ["email", "authData"]]

    /// The same permissions with what is protected in Satchel's own classes and what these do not name.
    ///
    /// Dashboards send permissions without protected fields: what is left out of an edit is not thereby shown to
    /// everybody.
    /// - Parameter others: the permissions before, of which all groups stay; `.open` when the edit names groups.
    func keepingProtection(of others: ClassPermissions, in className: String) -> ClassPermissions {
        guard className.hasPrefix("_") else { return self }
        let builtIn = className == "_User" ? ClassPermissions.protectedOfUsers : [:]
        return protecting(
            protectedFields.merging(others.protectedFields) { own, _ in own }.merging(builtIn) { own, _ in own })
    }
}
