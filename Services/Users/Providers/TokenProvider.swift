import Outbound
import ParseProtocol
import ProcessKit
import SignedTokens

/// Sign in with Apple and Google: the app gets a signed identity token (JWT) and passes it on.
///
/// The token's own claims are not trusted: the algorithm must be supported, the key must be the provider's, and issuer,
/// audience, time and user must have the expected values.
struct TokenProvider: IdentityProvider {
    private let audiences: Set<String>
    private let issuers: Set<String>
    /// The member of `authData` with the token.
    private let member: String
    private let keys: SigningKeys

    /// Nil without client ids (`SATCHEL_APPLE_CLIENT_IDS`, `SATCHEL_GOOGLE_CLIENT_IDS`), which are the accepted
    /// audiences.
    /// - Throws: for an invalid URL.
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

    /// For tests with other keys.
    init(audiences: Set<String>, issuers: Set<String>, member: String, keys: SigningKeys) {
        self.audiences = audiences
        self.issuers = issuers
        self.member = member
        self.keys = keys
    }

    func verify(_ proof: AuthProof) async throws(ProviderProblem) {
        guard let text = proof.text(member) else { throw .refused("No \(member).") }
        let token = try Self.checked { () throws(TokenProblem) -> SignedToken in try SignedToken(text) }
        guard let keyId = token.keyId else { throw .refused("The token names no key.") }
        let key = try await keys.key(keyId)
        let claims = try Self.checked { () throws(TokenProblem) -> TokenClaims in
            let claims = try token.claims(signedBy: TokenKey(jwk: key))
            try claims.checkTime(.now)
            return claims
        }
        guard let issuer = claims.issuer, issuers.contains(issuer) else { throw .refused("Another issuer.") }
        guard claims.audiences.contains(where: audiences.contains) else { throw .refused("Another audience.") }
        guard claims.subject == proof.id else { throw .refused("The token is another user's.") }
    }

    private static func checked<Value>(_ body: () throws(TokenProblem) -> Value) throws(ProviderProblem) -> Value {
        do throws(TokenProblem) {
            return try body()
        } catch {
            // Contains the failed check, never the token.
            throw .refused("The token is not valid: \(error.rawValue).")
        }
    }
}
