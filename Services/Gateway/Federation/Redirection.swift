import Messages
import ParseProtocol

/// `redirectClassNameForKey`: a query for the members of a relation by a client that does not know their class. The
/// response names the class.
extension Federation {
    /// The class of a Relation field's members; for every other field, a Pointer included, the class itself, as in
    /// Parse Server. The query may then return only objects that the caller could query by class name.
    /// - Parameter context: of the request that has the query.
    /// - Throws: `.operationForbidden` (119) and `.invalidSessionToken` (209) for members that the caller may not
    ///   query.
    func target(
        of key: String, _ className: String, _ principal: Principal, in context: CallContext
    ) async throws(ParseError) -> String {
        let schema: JSON
        do throws(ParseError) {
            let message = SchemasRequest.with { $0.className = className }
            let call = ServiceDirectory.calls(ofClass: className).schemas
            // The caller learns only the class name from the schema.
            let reply = try await services.read(call, message, for: .ofSchemas, in: context)
            schema = try JSON(reply: reply.document, in: context)
        } catch  where error.code == .invalidClassName {
            return className  // A class that does not exist yet has no objects.
        }
        let target = Redirection.target(of: key, className, schema, isMaster: principal.master)
        try OwnClasses.checkFind(target, principal)
        return target
    }
}

package enum Redirection {
    /// - Parameter schema: of the class.
    package static func target(of key: String, _ className: String, _ schema: JSON, isMaster: Bool) -> String {
        guard let field = schema["fields"]?[key], field["type"] == "Relation",
            let target = field["targetClass"]?.stringValue, Names.isClassName(target),
            isMaster || !isProtected(key, schema)
        else { return className }
        return target
    }

    /// Whether the field is hidden from any group: then only the master key learns its class.
    private static func isProtected(_ key: String, _ schema: JSON) -> Bool {
        let groups = schema["classLevelPermissions"]?["protectedFields"]?.objectValue ?? [:]
        return groups.values.contains { $0.arrayValue?.contains(.string(key)) ?? false }
    }
}

extension Principal {
    /// The gateway itself, for reading schemas.
    fileprivate static var ofSchemas: Principal { .with { $0.master = true } }
}
