import Foundation
import JWTKit
import Outbound
import ParseProtocol
import ProcessKit

/// Sign in with Apple and Google: the app gets a signed identity token (JWT) and hands it on.
///
/// What the token says of itself decides nothing: the algorithm is one of ours, the key is the provider's, and issuer, audience, time
/// and user must be what is expected.
struct TokenProvider: IdentityProvider {
    private let audiences: Set<String>
    private let issuers: Set<String>
    /// The member of `authData` that holds the token.
    private let member: String
    private let keys: SigningKeys

    /// Signed by either; never by a secret, never not at all.
    private static let algorithms = ["RS256": "RSA", "ES256": "EC"]

    /// Nil without client ids (`SATCHEL_APPLE_CLIENT_IDS`, `SATCHEL_GOOGLE_CLIENT_IDS`), which the audience must be among.
    /// - Throws: with a URL that is none.
    init?(_ provider: AuthProvider, _ settings: Settings, _ client: OutboundClient) throws {
        let name = "satchel.\(provider.rawValue)"
        audiences = Set(settings.list("\(name).client.ids"))
        guard !audiences.isEmpty else { return nil }
        let isApple = provider == .apple
        let standardIssuers: Set<String> =
            isApple ? ["https://appleid.apple.com"] : ["https://accounts.google.com", "accounts.google.com"]
        let issuers = Set(settings.list("\(name).issuers"))
        self.issuers = issuers.isEmpty ? standardIssuers : issuers
        member = isApple ? "token" : "id_token"
        let url = try settings.providerURL(
            "\(name).keys.url",
            default: isApple ? "https://appleid.apple.com/auth/keys" : "https://www.googleapis.com/oauth2/v3/certs")
        keys = SigningKeys { () async throws(ProviderProblem) in try await client.object(url) }
    }

    /// For tests with keys of their own.
    init(audiences: Set<String>, issuers: Set<String>, member: String, keys: SigningKeys) {
        self.audiences = audiences
        self.issuers = issuers
        self.member = member
        self.keys = keys
    }

    /// The clients a token is for: one text or a list. The library's own claim ends the process for an empty list.
    private struct Audience: Codable {
        let values: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            values = try (try? [container.decode(String.self)]) ?? container.decode([String].self)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(values)
        }
    }

    private struct Claims: JWTPayload {
        let iss: IssuerClaim
        let sub: SubjectClaim
        let aud: Audience
        let exp: ExpirationClaim
        let nbf: NotBeforeClaim?

        func verify(using algorithm: some JWTAlgorithm) async throws {
            try exp.verifyNotExpired()
            try nbf?.verifyNotBefore()
        }
    }

    func verify(_ proof: AuthProof) async throws(ProviderProblem) {
        guard let token = proof.text(member) else { throw .refused("No \(member).") }
        guard let header = Self.header(of: token), let algorithm = header["alg"]?.stringValue,
            let keyType = Self.algorithms[algorithm], let keyId = header["kid"]?.stringValue
        else { throw .refused("The token's header is not of a kind that is accepted.") }
        let key = try await keys.key(keyId)
        guard key["kty"]?.stringValue == keyType, (key["alg"]?.stringValue ?? algorithm) == algorithm,
            (key["use"]?.stringValue ?? "sig") == "sig"
        else { throw .refused("The key does not sign this way.") }
        let claims = try await Self.claims(of: token, key: key, algorithm: algorithm)
        guard issuers.contains(claims.iss.value) else { throw .refused("Another issuer.") }
        guard claims.aud.values.contains(where: audiences.contains) else { throw .refused("Another audience.") }
        guard claims.sub.value == proof.id else { throw .refused("The token is another user's.") }
    }

    /// The header, which says which key to ask for.
    private static func header(of token: String) -> JSON? {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let first = parts.first.flatMap({ String($0) }) else { return nil }
        var text = first.replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text).flatMap { try? JSON(parsing: Array($0)) }
    }

    private static func claims(of token: String, key: JSON, algorithm: String) async throws(ProviderProblem) -> Claims {
        do {
            var key = key
            key["alg"] = .string(algorithm)
            let collection = JWTKeyCollection()
            try await collection.add(jwk: try JSONDecoder().decode(JWK.self, from: Data(key.serialized)))
            return try await collection.verify(token, as: Claims.self)
        } catch {
            // The library's words name the failed check, never the token.
            throw .refused("The token is not valid: \((error as? JWTError).map { "\($0.errorType)" } ?? "unreadable").")
        }
    }
}
