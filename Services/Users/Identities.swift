import ObjectStore
import ParseProtocol

/// A name under which a user is found.
package struct Identity: Hashable, Sendable {
    package enum Kind: String, Sendable {
        case username, email
        case anonymous = "auth:anonymous"
    }

    package let kind: Kind
    /// In the form in which names are compared.
    package let value: String

    package static func username(_ name: String) -> Identity {
        Identity(kind: .username, value: AccountNames.folded(name))
    }

    package static func email(_ address: String) -> Identity {
        Identity(kind: .email, value: AccountNames.folded(address))
    }

    /// The id in `authData.anonymous`, which is compared as it is.
    package static func anonymous(_ id: String) -> Identity { Identity(kind: .anonymous, value: id) }
}

/// The table of names: each belongs to one user.
enum Identities {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS identities(kind TEXT NOT NULL, value TEXT NOT NULL, userId TEXT NOT NULL,
        PRIMARY KEY(kind, value)) WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS identitiesByUser ON identities(userId, kind)",
    ]

    static func owner(of identity: Identity, _ reader: some ObjectReading) throws -> String? {
        try reader.rows(
            "SELECT userId FROM identities WHERE kind = ? AND value = ?",
            [.text(identity.kind.rawValue), .text(identity.value)]
        ).first?.text("userId")
    }

    /// Gives the user a name instead of the present one of its kind.
    /// - Throws: 202, 203 or 208 when it is another user's.
    static func take(_ identity: Identity, for userId: String, in transaction: StoreTransaction) throws {
        // People sign in with either, so that one's user name must not be another's address.
        let rivals =
            switch identity.kind {
            case .username, .email:
                [Identity(kind: .username, value: identity.value), Identity(kind: .email, value: identity.value)]
            case .anonymous: [identity]
            }
        for rival in rivals {
            if let owner = try owner(of: rival, transaction), owner != userId { throw taken(identity.kind) }
        }
        try give(identity.kind, of: userId, in: transaction)
        _ = try transaction.execute(
            "INSERT INTO identities(kind, value, userId) VALUES (?, ?, ?)",
            [.text(identity.kind.rawValue), .text(identity.value), .text(userId)])
    }

    /// Makes the user's name of this kind free.
    static func give(_ kind: Identity.Kind, of userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "DELETE FROM identities WHERE userId = ? AND kind = ?", [.text(userId), .text(kind.rawValue)])
    }

    static func giveAll(of userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM identities WHERE userId = ?", [.text(userId)])
    }

    private static func taken(_ kind: Identity.Kind) -> ParseError {
        switch kind {
        case .username: ParseError(.usernameTaken, "Account already exists for this username.")
        case .email: ParseError(.emailTaken, "Account already exists for this email address.")
        case .anonymous: ParseError(.accountAlreadyLinked, "this auth is already used")
        }
    }
}
