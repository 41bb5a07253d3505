import ParseProtocol

/// The parts of a call that only cloud code gets, and Files, of which only the name is stored.
extension HookedObject {
    /// The members of a webhook's call.
    static func forWebhook(_ body: [String: JSON]) -> [String: JSON] {
        var body = body.filter { !CodeCall.ofCodeAlone.contains($0.key) }
        for name in ["object", "original", "user"] { body[name] = body[name].map(withoutSecrets) }
        if case .array(let objects)? = body["objects"] { body["objects"] = .array(objects.map(withoutSecrets)) }
        return body
    }

    private static func withoutSecrets(_ object: JSON) -> JSON {
        object["className"] == "_User" ? object.removing(secrets) : object
    }

    /// The password that a change sets; nil for none.
    static func password(in changes: JSON) -> JSON? {
        guard case .string(let password)? = changes["password"], !password.isEmpty else { return nil }
        return .string(password)
    }

    /// The links of verified proofs, reduced to the ids at providers: the other members could prove the user's
    /// identity. An anonymous id is left out too, because it is the user's only credential.
    static func links(_ proofs: JSON?) -> JSON? {
        var links: [String: JSON] = [:]
        for (provider, proof) in proofs?.objectValue ?? [:] where !proof.isNull {
            let id = provider == "anonymous" ? nil : proof["id"]?.stringValue
            links[provider] = .object(id.map { ["id": .string($0)] } ?? [:])
        }
        return links.isEmpty ? nil : .object(links)
    }

    /// The stored links without the ones that a change removes. Links that it adds are not verified before it is made.
    static func links(_ stored: JSON?, without change: JSON) -> JSON? {
        if change["__op"] == "Delete" { return nil }
        let links = (stored?.objectValue ?? [:]).filter { change[$0.key]?.isNull != true }
        return links.isEmpty ? nil : .object(links)
    }

    static func isStoredAlike(_ sent: JSON?, _ value: JSON) -> Bool {
        guard let sent else { return false }
        return sent == value || sent.withoutFileURLs == value.withoutFileURLs
    }
}

extension JSON {
    /// The value without the URLs of Files.
    fileprivate var withoutFileURLs: JSON {
        switch self {
        case .array(let elements): return .array(elements.map(\.withoutFileURLs))
        case .object(var members):
            if wireType == "File" { members["url"] = nil }
            return .object(members.mapValues(\.withoutFileURLs))
        default: return self
        }
    }
}
