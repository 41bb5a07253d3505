import Messages
import ParseProtocol

/// `redirectClassNameForKey`: a question for the members of a relation by a client that does not know their class,
/// which it then learns from the answer.
extension Federation {
    /// The class of a Relation field's members; the class itself for every other field, a Pointer included, as in Parse
    /// Server. What is then found there is what the caller may find there by its name.
    /// - Throws: `.operationForbidden` (119) and `.invalidSessionToken` (209) for members that the caller may not look
    ///   for.
    func target(
        of key: String, _ className: String, _ principal: Principal, trace: String
    ) async throws(ParseError) -> String {
        let schema: JSON
        do throws(ParseError) {
            let message = SchemasRequest.with { $0.className = className }
            let call = ServiceDirectory.calls(ofClass: className).schemas
            // Of the schema the caller learns one name, that of the class.
            schema = try JSON(reply: try await services.read(call, message, for: .ofSchemas, trace: trace).document)
        } catch  where error.code == .invalidClassName {
            return className  // Of a class that does not exist yet nothing is found.
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

    /// Whether the field is hidden from anybody: then its class is not told to anybody but the master key.
    private static func isProtected(_ key: String, _ schema: JSON) -> Bool {
        let groups = schema["classLevelPermissions"]?["protectedFields"]?.objectValue ?? [:]
        return groups.values.contains { $0.arrayValue?.contains(.string(key)) ?? false }
    }
}

extension Principal {
    /// The gateway itself, which looks up what a class's fields are.
    fileprivate static var ofSchemas: Principal { .with { $0.master = true } }
}
