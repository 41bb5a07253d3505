import ParseProtocol

/// A requested change of the second factor, extracted from `authData.mfa` and type-checked. The forms match Parse
/// Server's `mfa` adapter; with `secret: null` users remove their second factor.
package enum SecondFactorRequest: Equatable, Sendable {
    /// No change: no `mfa`, or the value shown in a read.
    case keep
    /// `{"secret","token"}`, with `old` to replace a present one. The token proves that the app has the secret.
    case enrol(secret: [UInt8], token: String, old: String?)
    /// `{"secret":null,"old"}`, or `null`, which is for the master key.
    case remove(old: String?)
    /// `{"token"}` together with a password or a provider's proof.
    case prove(String)

    /// Parse Server accepts no shorter secret; longer ones only cost time.
    private static let secretCharacters = 20...256
    private static let tokenBytesMax = 64

    /// - Throws: `.scriptFailed` (141) for an invalid value, `.unsupportedService` (252) for a text message.
    package init(_ value: JSON?) throws {
        guard let value else {
            self = .keep
            return
        }
        if value.isNull {
            self = .remove(old: nil)
            return
        }
        guard case .object(let members) = value else { throw SecondFactors.malformed }
        if members["mobile"] != nil {
            throw ParseError(
                .unsupportedService, "MFA by text message is not offered; an authenticator app's secret and token are.")
        }
        switch members["secret"] {
        case nil:
            if let token = try Self.token(members["token"]) {
                self = .prove(token)
            } else if members["status"] != nil {
                self = .keep
            } else {
                throw SecondFactors.malformed
            }
        case .null?: self = .remove(old: try Self.token(members["old"]))
        case .string(let text)?:
            guard Self.secretCharacters.contains(text.utf8.count), let secret = Base32.decode(text),
                let token = try Self.token(members["token"])
            else { throw SecondFactors.malformed }
            self = .enrol(secret: secret, token: token, old: try Self.token(members["old"]))
        default: throw SecondFactors.malformed
        }
    }

    private static func token(_ value: JSON?) throws -> String? {
        switch value {
        case nil, .null: return nil
        case .string(let token) where (1...tokenBytesMax).contains(token.utf8.count): return token
        default: throw SecondFactors.invalid
        }
    }

    /// The code sent with a sign-in.
    var proof: String? { if case .prove(let token) = self { token } else { nil } }
}
