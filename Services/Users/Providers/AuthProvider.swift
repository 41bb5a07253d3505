import ParseProtocol

/// The provider that vouches for a user instead of a password. The raw value is the name in `authData`.
package enum AuthProvider: String, CaseIterable, Hashable, Sendable {
    /// The app itself: an id it made up.
    case anonymous
    case facebook, twitter, apple, google

    /// The answer to a proof that does not hold.
    package var refused: ParseError {
        ParseError(.objectNotFound, "\(title) auth is invalid for this user.")
    }

    /// The answer when the provider cannot be asked now; the app may try again.
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

/// A client's `authData` of one provider, type-checked: who the client claims to be, and what should prove it.
package struct AuthProof: Hashable, Sendable {
    package let provider: AuthProvider
    package let id: String
    private let members: [String: JSON]

    /// Providers' ids are numbers of some twenty digits or UUIDs.
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

    /// The client's wish for each provider it names: a proof, or nil to unlink.
    /// - Throws: `.unsupportedService` (252) for a provider that is none, `.invalidAuthData` (253) for a value that
    ///   cannot be a proof.
    package static func wishes(_ authData: JSON?) throws -> [AuthProvider: AuthProof?] {
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

    /// A member that a proof needs; nil when it is missing, no text, empty or too long.
    package func text(_ name: String) -> String? {
        members[name]?.stringValue.flatMap { (1...Self.textBytesMax).contains($0.utf8.count) ? $0 : nil }
    }

    /// True when there is nothing in it that could prove anything.
    package var isIdOnly: Bool { members.count == 1 }

    /// All of it, as the client sent it.
    package var sent: JSON { .object(members) }

    /// The members that are kept. Tokens are not: nothing here uses them again, and whoever reads them could act for
    /// the user elsewhere.
    package var stored: JSON { ["id": .string(id)] }
}
