import ParseProtocol
import ServiceKit

/// The effect of a user's change on the stored object and on the user's identities.
package struct AccountUpdate {
    /// The changes for the object store.
    package private(set) var changes: [String: JSON]
    /// The user's new identities; each replaces the present one of its kind.
    package private(set) var taken: [Identity] = []
    package private(set) var given: [Identity.Kind] = []

    /// - Parameters:
    ///   - stored: the user's document.
    ///   - hasPassword: false for an anonymous user.
    ///   - unverified: providers that were not asked, because the user was already linked with the same id when the
    ///     request arrived.
    /// - Throws: `.objectNotFound` (101) for a new link without proof, `.operationForbidden` (119) for a field that
    ///   clients cannot change, `.invalidAuthData` (253) if an anonymous user would have no means to sign in.
    package init(
        _ fields: AccountFields, of stored: JSON, userId: String, hasPassword: Bool,
        unverified: Set<AuthProvider> = []
    ) throws {
        try fields.checkClaims(against: stored)
        changes = fields.rest
        if let username = fields.username, stored["username"] != .string(username) {
            changes["username"] = .string(username)
            taken.append(.username(username))
        }
        change(email: fields.email, of: stored)
        try change(
            authDataBy: fields, of: stored, willHavePassword: hasPassword || fields.password != nil,
            unverified: unverified)
        if let acl = fields.rest["ACL"] {
            changes["ACL"] = AccountUpdate.acl(acl, of: userId, isMaster: fields.isMaster)
        }
    }

    /// The links that a sign-in's proofs add to a user; ignores all other data of the request.
    package init(linking fields: AccountFields, to stored: JSON, hasPassword: Bool) throws {
        changes = [:]
        try change(authDataBy: fields, of: stored, willHavePassword: hasPassword, unverified: [])
    }

    private mutating func change(email: AccountFields.Change, of stored: JSON) {
        switch email {
        case .keep: return
        case .remove:
            guard stored["email"] != nil else { return }
            changes["email"] = ["__op": "Delete"]
            given.append(.email)
        case .set(let address):
            guard stored["email"] != .string(address) else { return }
            changes["email"] = .string(address)
            taken.append(.email(address))
        }
        // Only the old address was verified.
        if stored["emailVerified"] == true, changes["emailVerified"] == nil { changes["emailVerified"] = false }
    }

    /// A password or a provider converts an anonymous user into a full user with the same objectId and data. The
    /// anonymous id is removed, because it would be a second, unnoticed key to the account.
    private mutating func change(
        authDataBy fields: AccountFields, of stored: JSON, willHavePassword: Bool, unverified: Set<AuthProvider>
    ) throws {
        let old = stored["authData"]?.objectValue ?? [:]
        var authData = old
        for (provider, proof) in fields.links.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let current = old[provider.rawValue]?["id"]?.stringValue
            guard let proof else {
                guard current != nil else { continue }
                authData[provider.rawValue] = nil
                given.append(.provider(provider))
                continue
            }
            guard proof.id != current else { continue }
            // Apps save existing links again. Only a link that is still stored needs no proof.
            guard !proof.isIdOnly, !unverified.contains(provider) else { throw provider.refused }
            authData[provider.rawValue] = proof.stored
            taken.append(.provider(provider, id: proof.id))
        }
        let isFull =
            willHavePassword
            || authData.keys.contains { $0 != AuthProvider.anonymous.rawValue && $0 != SecondFactors.name }
        try change(anonymousId: fields.anonymousId, in: &authData, isFull: isFull, isMaster: fields.isMaster)
        switch fields.secondFactor {
        case .keep, .prove: break
        case .remove: authData[SecondFactors.name] = nil
        case .enrol:
            guard isFull else { throw SecondFactors.needsFirst }
            authData[SecondFactors.name] = SecondFactors.status
        }
        guard authData != old else { return }
        changes["authData"] = authData.isEmpty ? ["__op": "Delete"] : .object(authData)
    }

    private mutating func change(
        anonymousId: AccountFields.Change, in authData: inout [String: JSON], isFull: Bool, isMaster: Bool
    ) throws {
        let name = AuthProvider.anonymous.rawValue
        let current = authData[name]?["id"]?.stringValue
        if isFull {
            // Apps repeat the old id after the conversion; that is not a request to link it again.
            guard current != nil else { return }
            authData[name] = nil
            given.append(.anonymous)
            return
        }
        switch anonymousId {
        case .keep: return
        case .remove:
            guard current != nil else { return }
            guard isMaster else {
                throw ParseError(.invalidAuthData, "An anonymous user needs a user name and a password instead.")
            }
            authData[name] = nil
            given.append(.anonymous)
        case .set(let id):
            guard id != current else { return }
            authData[name] = ["id": .string(id)]
            taken.append(.anonymous(id))
        }
    }

    /// The ACL for a user: private by default, and always with the user's own rights. Only the master key can remove
    /// those, which bans the user.
    package static func acl(_ wanted: JSON?, of userId: String, isMaster: Bool) -> JSON {
        switch wanted {
        case .object(var entries) where entries["__op"] == nil:
            if isMaster { return .object(entries) }
            entries[userId] = ["read": true, "write": true]
            return .object(entries)
        case nil, .null, .object: return .privateACL(userId)
        case let malformed?: return malformed  // Refused by the store.
        }
    }
}
