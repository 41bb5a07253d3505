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
            let call = Owners.calls(ofClass: className).schemas
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

/// The rules that hold for the protocol's own classes whatever their permissions say.
enum OwnClasses {
    /// - Throws: `.invalidSessionToken` (209) for sessions of nobody, `.operationForbidden` (119) for devices
    ///   (PARSE_PROTOCOL sections 5.2 and 8).
    static func checkFind(_ className: String, _ principal: Principal) throws(ParseError) {
        try checkSessions(className, principal)
        try keepDevicesPrivate(className, "find", principal)
    }

    /// Everybody's sessions are nobody's business: without a user there is nothing to list.
    static func checkSessions(_ className: String, _ principal: Principal) throws(ParseError) {
        if className == "_Session", principal.userID.isEmpty, !principal.master { throw .invalidSession }
    }

    /// Devices are listed and deleted with the master key only. Their class says the same; this is the text that
    /// clients know.
    static func keepDevicesPrivate(
        _ className: String, _ operation: String, _ principal: Principal
    ) throws(ParseError) {
        guard className != "_Installation" || principal.master else {
            throw ParseError(
                .operationForbidden,
                "Clients aren't allowed to perform the \(operation) operation on the installation collection.")
        }
    }
}

extension Principal {
    /// The gateway itself, which looks up what a class's fields are.
    fileprivate static var ofSchemas: Principal { .with { $0.master = true } }
}
