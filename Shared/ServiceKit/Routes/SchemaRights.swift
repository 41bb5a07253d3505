import ParseProtocol

/// Decides how a developer without the admin role may change a class. Has no I/O.
///
/// Developers may change the shop's own classes freely. For Satchel's own classes they may only add plain fields and
/// indexes. Permissions, default values and unique indexes there affect other areas, such as prices or sign-in.
package enum SchemaRights {
    /// - Parameters:
    ///   - wish: the body of the request.
    ///   - stored: the current schema of the class.
    /// - Throws: `.operationForbidden` (119) for changes reserved for the master key and the admins.
    package static func check(developersWish wish: JSON, ofBuiltIn className: String, stored: JSON) throws(ParseError) {
        guard wish["classLevelPermissions"] == nil else { throw refused("permissions", className) }
        for (name, change) in wish["fields"]?.objectValue ?? [:] {
            let current = stored["fields"]?[name]
            // Unchanged: some clients send back the schema that they read.
            if change == current { continue }
            let isPlain = Set(change.objectValue?.keys.map { $0 } ?? []).isSubset(of: ["type", "targetClass"])
            guard current == nil, isPlain else { throw refused("fields", className) }
        }
        for (name, change) in wish["indexes"]?.objectValue ?? [:] {
            let current = stored["indexes"]?[name]
            if change == current { continue }
            guard change["_unique"] != true, current?["_unique"] != true else { throw refused("indexes", className) }
        }
    }

    private static func refused(_ what: String, _ className: String) -> ParseError {
        ParseError(
            .operationForbidden,
            "Only the master key and an admin can change the \(what) of \(className), a class of Satchel.")
    }
}
