import ObjectStore
import ParseProtocol

/// A unique name by which a user is found: a user name, an e-mail address, or an id at a provider.
package struct Identity: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case username, email
        case provider(AuthProvider)

        package static let anonymous = Kind.provider(.anonymous)

        /// The stored text.
        var text: String {
            switch self {
            case .username: "username"
            case .email: "email"
            case .provider(let provider): "auth:\(provider.rawValue)"
            }
        }
    }

    package let kind: Kind
    /// The value in comparable form.
    package let value: String

    package static func username(_ name: String) -> Identity {
        Identity(kind: .username, value: AccountNames.folded(name))
    }

    package static func email(_ address: String) -> Identity {
        Identity(kind: .email, value: AccountNames.folded(address))
    }

    /// The stored value. An anonymous id is stored as a keyed hash, because it alone gives access to the account. The
    /// hash is longer than any accepted id, so a client cannot send it in place of an id.
    func storedValue(_ key: AccountKey) -> String {
        kind == .anonymous ? "hash:" + key.digest(value, for: .anonymousId) : value
    }

    /// Length of a stored anonymous id in characters.
    static let hashedCharacters = 69

    /// The id in `authData.anonymous`, compared literally.
    package static func anonymous(_ id: String) -> Identity { .provider(.anonymous, id: id) }

    /// The user's id at a provider, compared literally.
    package static func provider(_ provider: AuthProvider, id: String) -> Identity {
        Identity(kind: .provider(provider), value: id)
    }
}

/// The table of identities; each belongs to one user.
enum Identities {
    static func owner(of identity: Identity, _ key: AccountKey, _ reader: ObjectReader) throws -> String? {
        try reader.rows(
            "SELECT userId FROM identities WHERE kind = ? AND value = ?",
            [.text(identity.kind.text), .text(identity.storedValue(key))]
        ).first?.text("userId")
    }

    /// Assigns an identity to the user, replacing the present one of its kind.
    /// - Throws: `.usernameTaken` (202), `.emailTaken` (203) or `.accountAlreadyLinked` (208) when it belongs to
    ///   another user.
    static func take(
        _ identity: Identity, for userId: String, _ key: AccountKey, in transaction: StoreTransaction
    ) throws {
        // Users sign in with either, so a user name must differ from every other user's address.
        let rivals: [Identity] =
            switch identity.kind {
            case .username, .email:
                [Identity(kind: .username, value: identity.value), Identity(kind: .email, value: identity.value)]
            case .provider: [identity]
            }
        for rival in rivals {
            if let owner = try owner(of: rival, key, transaction), owner != userId { throw taken(identity.kind) }
        }
        try give(identity.kind, of: userId, in: transaction)
        _ = try transaction.execute(
            "INSERT INTO identities(kind, value, userId) VALUES (?, ?, ?)",
            [.text(identity.kind.text), .text(identity.storedValue(key)), .text(userId)])
    }

    /// Releases the user's identity of this kind.
    static func give(_ kind: Identity.Kind, of userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "DELETE FROM identities WHERE userId = ? AND kind = ?", [.text(userId), .text(kind.text)])
    }

    /// Whether the user only has the id in `authData.anonymous`, which is removed when a password or another provider
    /// is added.
    static func isAnonymous(_ userId: String, _ reader: ObjectReader) throws -> Bool {
        try !reader.rows(
            "SELECT 1 FROM identities WHERE userId = ? AND kind = ?",
            [.text(userId), .text(Identity.Kind.anonymous.text)]
        ).isEmpty
    }

    static func giveAll(of userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM identities WHERE userId = ?", [.text(userId)])
    }

    private static func taken(_ kind: Identity.Kind) -> ParseError {
        switch kind {
        case .username: ParseError(.usernameTaken, "Account already exists for this username.")
        case .email: ParseError(.emailTaken, "Account already exists for this email address.")
        case .provider: ParseError(.accountAlreadyLinked, "this auth is already used")
        }
    }
}
