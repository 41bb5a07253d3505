import ParseProtocol

/// An identity provider that authenticates a user instead of a password. The raw value is the name in `authData`.
package enum AuthProvider: String, CaseIterable, Hashable, Sendable {
    /// The app itself, which generates an id.
    case anonymous
    case facebook, twitter, apple, google

    /// The error for an invalid proof.
    package var refused: ParseError {
        ParseError(.objectNotFound, "\(title) auth is invalid for this user.")
    }

    /// The error when the provider is not reachable; the app may retry.
    package var unavailable: ParseError {
        ParseError(.serviceUnavailable, "\(title) cannot be asked at this moment. Please try again.")
    }

    package static let unsupported = ParseError(
        .unsupportedService, "This authentication method is unsupported.")

    private var title: String {
        switch self {
        case .anonymous: "Anonymous"
        case .facebook: "Facebook"
        case .twitter: "Twitter"
        case .apple: "Apple"
        case .google: "Google"
        }
    }
}

/// A client's type-checked `authData` for one provider: the claimed id and its proof.
package struct AuthProof: Hashable, Sendable {
    package let provider: AuthProvider
    package let id: String
    private let members: [String: JSON]

    /// Ids of providers are numbers of about twenty digits or UUIDs.
    private static let idBytesMax = 128
    private static let anonymousIdBytesMax = 64
    /// Tokens have some hundred bytes, signed ones one or two thousand.
    private static let textBytesMax = 8192

    init(_ provider: AuthProvider, _ value: JSON) throws {
        let bytesMax = provider == .anonymous ? Self.anonymousIdBytesMax : Self.idBytesMax
        guard case .object(let members) = value, let id = members["id"]?.stringValue,
            (1...bytesMax).contains(id.utf8.count)
        else {
            throw ParseError(.invalidAuthData, "The \(provider.rawValue) id must be a text of 1 to \(bytesMax) bytes.")
        }
        self.provider = provider
        self.id = id
        self.members = members
    }

    /// The requested change per provider: a proof, or nil to unlink.
    /// - Throws: `.unsupportedService` (252) for an unknown provider, `.invalidAuthData` (253) for an invalid proof.
    package static func changes(_ authData: JSON?) throws -> [AuthProvider: AuthProof?] {
        guard let authData, !authData.isNull else { return [:] }
        guard case .object(let providers) = authData else {
            throw ParseError(.invalidAuthData, "authData must be an object.")
        }
        var wishes: [AuthProvider: AuthProof?] = [:]
        for (name, value) in providers {
            guard let provider = AuthProvider(rawValue: name) else {
                guard value.isNull else { throw AuthProvider.unsupported }
                continue
            }
            wishes.updateValue(value.isNull ? nil : try AuthProof(provider, value), forKey: provider)
        }
        return wishes
    }

    /// A member of the proof; nil when it is missing, not a text, empty or too long.
    package func text(_ name: String) -> String? {
        members[name]?.stringValue.flatMap { (1...Self.textBytesMax).contains($0.utf8.count) ? $0 : nil }
    }

    /// True when it has an id but nothing that could prove it.
    package var isIdOnly: Bool { members.count == 1 }

    /// The complete `authData` as sent by the client.
    package var sent: JSON { .object(members) }

    /// The stored members. Tokens are not stored: the service does not need them again, and a reader of them could act
    /// for the user elsewhere.
    package var stored: JSON { ["id": .string(id)] }
}
