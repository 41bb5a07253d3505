import ParseProtocol
import ServiceKit

/// The parts of a `_User` object with special meaning, extracted from a client's object and type-checked.
package struct AccountFields: Sendable {
    /// A requested change of one field.
    package enum Change: Equatable, Sendable {
        case keep
        case remove
        case set(String)
    }

    package let username: String?
    package let password: String?
    package let email: Change
    /// The id in `authData.anonymous`.
    package let anonymousId: Change
    /// The changes requested in `authData` for the other providers: a proof, or nil to unlink.
    package let links: [AuthProvider: AuthProof?]
    /// The change requested in `authData.mfa`.
    package let secondFactor: SecondFactorRequest
    /// The objectId requested by a sign-up.
    package let objectId: String?
    /// Fields that only Satchel changes, as sent by a client: accepted only with the stored values.
    let claims: [String: JSON]
    /// All other fields.
    package let rest: [String: JSON]
    /// Whether the change is made with the master key.
    let isMaster: Bool

    private static let claimed = ["emailVerified", "isAdmin"]
    private static let special =
        ["username", "password", "email", "authData", "sessionToken", "objectId"] + claimed

    /// - Throws: `.usernameMissing` (200), `.passwordMissing` (201), `.validationError` (142), `.invalidEmailAddress`
    ///   (125), `.unsupportedService` (252), `.invalidAuthData` (253), `.scriptFailed` (141), `.operationForbidden`
    ///   (119) or `.invalidKeyName` (105) for values of a wrong type or form.
    package init(_ object: JSON, isMaster: Bool) throws {
        guard case .object(var members) = object else { throw ParseError(.invalidJSON, "An object is needed.") }
        for key in members.keys where key.contains(".") {
            // Paths such as `authData.anonymous` would bypass the checks of the whole field.
            guard !AccountFields.special.contains(where: { key.hasPrefix($0 + ".") }) else {
                throw ParseError(.invalidKeyName, "Invalid field name: \(key.prefix(100)).")
            }
        }
        username = try members.removeValue(forKey: "username").map(AccountFields.username)
        password = try members.removeValue(forKey: "password").map(AccountFields.password)
        email = try AccountFields.email(members.removeValue(forKey: "email"))
        var providers = members.removeValue(forKey: "authData")
        secondFactor = try SecondFactorRequest(providers?[SecondFactors.name])
        providers?[SecondFactors.name] = nil
        let authData = try AuthProof.changes(providers)
        anonymousId =
            switch authData[.anonymous] {
            case nil: .keep
            case .some(nil): .remove
            case .some(let proof?): .set(proof.id)
            }
        links = authData.filter { $0.key != .anonymous }
        if let token = members.removeValue(forKey: "sessionToken"), !token.isNull {
            throw ParseError(.operationForbidden, "Clients aren't allowed to set sessionToken.")
        }
        switch members.removeValue(forKey: "objectId") {
        case nil, .null: objectId = nil
        case .string(let id): objectId = id
        default: throw ParseError(.invalidKeyName, "objectId is an invalid field name.")
        }
        var claims: [String: JSON] = [:]
        if !isMaster {
            for field in AccountFields.claimed { claims[field] = members.removeValue(forKey: field) }
        }
        self.claims = claims
        self.isMaster = isMaster
        rest = members
    }

    /// Whether the client sent `isAdmin: true`, which answers contain for members of the role.
    var claimsAdmin: Bool { claims["isAdmin"] == true }

    /// - Throws: `.operationForbidden` (119) when the client would change such a field.
    func checkClaims(against stored: JSON) throws {
        for (field, value) in claims where value != (stored[field] ?? false) {
            throw ParseError(
                .operationForbidden,
                field == "emailVerified"
                    ? "Clients aren't allowed to manually update email verification."
                    : "Clients aren't allowed to change \(field).")
        }
    }

    private static func username(_ value: JSON) throws -> String {
        guard let name = value.stringValue, AccountNames.isUsername(name) else {
            throw ParseError(.usernameMissing, "bad or missing username")
        }
        return name
    }

    private static func password(_ value: JSON) throws -> String {
        guard let password = value.stringValue, !password.isEmpty else {
            throw ParseError(.passwordMissing, "password is required")
        }
        try AccountNames.check(password: password)
        return password
    }

    private static func email(_ value: JSON?) throws -> Change {
        switch value {
        case nil: return .keep
        // Forms send an empty text for an empty field.
        case .null, .string(""): return .remove
        case .object(let operation) where operation["__op"] == "Delete": return .remove
        case .string(let address) where address.utf8.count <= Mailbox.addressBytesMax: return .set(address)
        default: throw malformedEmail
        }
    }

    private static var malformedEmail: ParseError {
        ParseError(.invalidEmailAddress, "Email address format is invalid.")
    }
}

extension AccountFields {
    /// True when a field that others can read contains a card number. File names are random and not checked.
    package var holdCardNumber: Bool {
        if let username, CardNumber.isPresent(in: username) { return true }
        if case .set(let address) = email, CardNumber.isPresent(in: address) { return true }
        return CardNumber.isPresent(in: .object(rest.filter { $0.value.wireType != "File" }))
    }

    /// Validates a new address. A stored address that an earlier release accepted may be sent again unchanged.
    /// - Throws: `.invalidEmailAddress` (125).
    package func checkEmail(stored: JSON?) throws {
        guard case .set(let address) = email, stored != .string(address) else { return }
        guard AccountNames.isEmail(address) else { throw AccountFields.malformedEmail }
    }

    /// Checks the requirements of a new user: a name and a password, or an anonymous id.
    /// - Throws: `.usernameMissing` (200), `.passwordMissing` (201), `.operationForbidden` (119), or `.invalidKeyName`
    ///   (105) for an id chosen by a client: it might be a deleted user's id and give access to remaining data.
    package func checkSignUp() throws {
        guard objectId == nil || isMaster else {
            throw ParseError(.invalidKeyName, "objectId is an invalid field name.")
        }
        try checkClaims(against: [:])
        try checkEmail(stored: nil)
        if case .enrol = secondFactor, password == nil, proofs.isEmpty { throw SecondFactors.needsFirst }
        if password == nil, !identities(hasPassword: false).isEmpty { return }
        guard username != nil else { throw ParseError(.usernameMissing, "bad or missing username") }
        guard password != nil else { throw ParseError(.passwordMissing, "password is required") }
    }

    /// The proofs of providers other than `anonymous`, in a fixed order.
    package var proofs: [AuthProof] {
        links.values.compactMap(\.self).sorted { $0.provider.rawValue < $1.provider.rawValue }
    }

    /// The `authData` to store for those identities.
    package func authData(hasPassword: Bool) -> [String: JSON] {
        var stored = Dictionary(uniqueKeysWithValues: proofs.map { ($0.provider.rawValue, $0.stored) })
        if stored.isEmpty, !hasPassword, case .set(let id) = anonymousId {
            stored[AuthProvider.anonymous.rawValue] = ["id": .string(id)]
        }
        if case .enrol = secondFactor { stored[SecondFactors.name] = SecondFactors.status }
        return stored
    }

    /// The identities of a sign-up other than its names. An anonymous id counts only if there is no other identity:
    /// next to another one it would be a second, unnoticed key to the account.
    package func identities(hasPassword: Bool) -> [Identity] {
        let proven = proofs.map { Identity.provider($0.provider, id: $0.id) }
        guard !hasPassword, proven.isEmpty, case .set(let id) = anonymousId else { return proven }
        return [.anonymous(id)]
    }
}
