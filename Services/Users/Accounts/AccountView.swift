import Messages
import ObjectStore
import ParseProtocol

/// An account as shown to operators: its identity and contact data. It omits passwords, tokens, provider ids and the
/// app's own fields.
enum AccountView {
    private static let lineFields = [
        "objectId", "username", "email", "emailVerified", "firstName", "lastName", "name", "createdAt",
    ]
    private static let wholeFields =
        lineFields + ["phone", "address1", "address2", "city", "state", "zipcode", "updatedAt"]

    /// An account for a list, with `isOperator`.
    static func line(_ user: JSON, of userId: String, _ reader: ObjectReader) throws -> JSON {
        try shown(user, lineFields, of: userId, reader)
    }

    /// A complete account, with `isOperator`, `isAnonymous`, `isBanned` and the user's sign-in methods.
    static func whole(_ user: JSON, of userId: String, _ reader: ObjectReader) throws -> JSON {
        var shown = try shown(user, wholeFields, of: userId, reader)
        shown["isBanned"] = .bool(try Ban.applies(to: user, reader))
        shown["isAnonymous"] = .bool(try Identities.isAnonymous(userId, reader))
        let password = try Credentials.hash(of: userId, reader) == nil ? [] : ["password"]
        let providers = user["authData"]?.objectValue?.keys.sorted() ?? []
        shown["signsInWith"] = .array((password + providers).map(JSON.string))
        return shown
    }

    private static func shown(
        _ user: JSON, _ fields: [String], of userId: String, _ reader: ObjectReader
    ) throws -> JSON {
        var shown = JSON.object((user.objectValue ?? [:]).filter { fields.contains($0.key) })
        shown["isOperator"] = .bool(try OperatorRoles.isHeld(by: userId, reader))
        return shown
    }
}
