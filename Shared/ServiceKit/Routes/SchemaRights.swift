import ParseProtocol

/// The decision what a developer may change of a class, who is no admin. Without I/O.
///
/// The shop's own classes are the developers'. Satchel's own carry the rights of the other areas: a permission, a
/// default value or a unique index there would give a developer what is theirs, such as prices or who signs in. Of
/// those they add plain fields and indexes.
package enum SchemaRights {
    /// - Parameters:
    ///   - wish: the body of the request.
    ///   - stored: the class's schema before.
    /// - Throws: `.operationForbidden` (119) for what only the master key and the admins may.
    package static func check(developersWish wish: JSON, ofBuiltIn className: String, stored: JSON) throws(ParseError) {
        guard wish["classLevelPermissions"] == nil else { throw refused("permissions", className) }
        for (name, change) in wish["fields"]?.objectValue ?? [:] {
            let known = stored["fields"]?[name]
            // A client that sends back the schema it got changes nothing.
            if change == known { continue }
            let isPlain = Set(change.objectValue?.keys.map { $0 } ?? []).isSubset(of: ["type", "targetClass"])
            guard known == nil, isPlain else { throw refused("fields", className) }
        }
        for (name, change) in wish["indexes"]?.objectValue ?? [:] {
            let known = stored["indexes"]?[name]
            if change == known { continue }
            guard change["_unique"] != true, known?["_unique"] != true else { throw refused("indexes", className) }
        }
    }

    private static func refused(_ what: String, _ className: String) -> ParseError {
        ParseError(
            .operationForbidden,
            "Only the master key and an admin change the \(what) of \(className), a class of Satchel.")
    }
}
