import Cryptography
import Foundation
import Outbound
import ParseProtocol
import ProcessKit
import SignedTokens

/// A browser's log-in at Google or Apple (OpenID Connect, authorization code flow): the provider's page returns a code,
/// which the shop exchanges for an identity token. The first client id of the provider's list is the browser's.
struct OpenIDWebSignIn: WebSignInProvider {
    private enum Secret: Sendable {
        case text(String)
        /// Apple's is a token that the shop signs.
        case signed(TokenSigner, team: String)
    }

    private let clientId: String
    private let secret: Secret
    /// The provider's page.
    private let pageURL: String
    private let tokenURL: String
    /// The member of `authData` with the token.
    private let member: String
    /// Parameters of the provider's page.
    private let more: [(String, String)]
    /// Whether the provider binds the code to a challenge (PKCE, RFC 7636).
    private let hasChallenge: Bool
    private let client: OutboundClient

    /// Seconds for which a signed secret is valid.
    private static let secretSeconds: Int64 = 300
    private static let appleIssuer = "https://appleid.apple.com"

    /// Nil without `SATCHEL_GOOGLE_CLIENT_SECRET`.
    /// - Throws: without a client id, or for an invalid URL.
    init?(google settings: Settings, _ client: OutboundClient) throws {
        guard let secret = settings["satchel.google.client.secret"] else { return nil }
        clientId = try Self.clientId("google", settings, for: "SATCHEL_GOOGLE_CLIENT_SECRET")
        self.secret = .text(secret)
        pageURL = try settings.providerURL(
            "satchel.google.login.url", default: "https://accounts.google.com/o/oauth2/v2/auth")
        tokenURL = try settings.providerURL(
            "satchel.google.token.url", default: "https://oauth2.googleapis.com/token")
        member = "id_token"
        more = [("scope", "openid")]
        hasChallenge = true
        self.client = client
    }

    /// Nil without `SATCHEL_APPLE_KEY_FILE`.
    /// - Throws: without the other settings, for an unusable key, or for an invalid URL.
    init?(apple settings: Settings, _ client: OutboundClient) throws {
        guard let path = settings["satchel.apple.key.file"] else { return nil }
        clientId = try Self.clientId("apple", settings, for: "SATCHEL_APPLE_KEY_FILE")
        guard let keyId = settings["satchel.apple.key.id"], let team = settings["satchel.apple.team.id"] else {
            throw StartupProblem("SATCHEL_APPLE_KEY_FILE needs SATCHEL_APPLE_KEY_ID and SATCHEL_APPLE_TEAM_ID.")
        }
        guard let pem = try? String(contentsOfFile: path, encoding: .utf8),
            let signer = try? TokenSigner(pem: pem, keyId: keyId), signer.algorithm == .es256
        else { throw settings.wrong("satchel.apple.key.file", "is not a P-256 key in PEM (.p8).") }
        secret = .signed(signer, team: team)
        pageURL = try settings.providerURL("satchel.apple.login.url", default: "\(Self.appleIssuer)/auth/authorize")
        tokenURL = try settings.providerURL("satchel.apple.token.url", default: "\(Self.appleIssuer)/auth/token")
        member = "token"
        // Without a scope: for name or address Apple returns by a form, to which browsers add no cookie.
        more = [("response_mode", "query")]
        hasChallenge = false
        self.client = client
    }

    private static func clientId(_ name: String, _ settings: Settings, for other: String) throws -> String {
        guard let id = settings.list("satchel.\(name).client.ids").first else {
            throw StartupProblem("\(other) needs SATCHEL_\(name.uppercased())_CLIENT_IDS.")
        }
        return id
    }

    func begin(returningTo url: String) async throws(ProviderProblem) -> WebSignInStart {
        let (state, nonce, verifier) = (Names.random(32), Names.random(32), Names.random(64))
        var parameters = [
            ("response_type", "code"), ("client_id", clientId), ("redirect_uri", url), ("state", state),
            ("nonce", nonce),
        ]
        if hasChallenge {
            let challenge = Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))
            parameters += [("code_challenge", challenge), ("code_challenge_method", "S256")]
        }
        return WebSignInStart(
            url: "\(pageURL)?\(Self.text(of: parameters + more))",
            kept: ["state": .string(state), "nonce": .string(nonce), "verifier": .string(verifier)])
    }

    func end(_ query: JSON, _ kept: JSON, returningTo url: String) async throws(ProviderProblem) -> JSON {
        let code = try WebSignInState.code(query, kept)
        var parameters = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", url), ("client_id", clientId),
            ("client_secret", try clientSecret()),
        ]
        if hasChallenge { parameters.append(("code_verifier", kept["verifier"]?.stringValue ?? "")) }
        let answer = try await client.object(
            OutboundRequest(
                .post, tokenURL, headers: [("Content-Type", "application/x-www-form-urlencoded")],
                body: Array(Self.text(of: parameters).utf8), timeout: OutboundClient.identityPatience))
        guard let token = answer["id_token"]?.stringValue else { throw .unavailable("The answer has no id_token.") }
        // The signature is checked with the rest of the proof.
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64URL.decode(parts[1]), let claims = try? JSON(parsing: bytes),
            let user = claims["sub"]?.stringValue
        else { throw .unavailable("The id_token cannot be read.") }
        guard let nonce = kept["nonce"]?.stringValue, claims["nonce"]?.stringValue == nonce else {
            throw .refused("The token is for another log-in.")
        }
        return ["id": .string(user), member: .string(token)]
    }

    private func clientSecret() throws(ProviderProblem) -> String {
        switch secret {
        case .text(let text): return text
        case .signed(let signer, let team):
            let now = Timestamp.now.milliseconds / 1000
            let claims: JSON = [
                "iss": .string(team), "iat": .int(now), "exp": .int(now + Self.secretSeconds),
                "aud": .string(Self.appleIssuer), "sub": .string(clientId),
            ]
            guard let token = try? signer.token(claims) else { throw .unavailable("The secret cannot be signed.") }
            return token
        }
    }

    static func text(of parameters: [(String, String)]) -> String {
        parameters.map { "\($0.0.percentEncoded)=\($0.1.percentEncoded)" }.joined(separator: "&")
    }
}

/// The check that a provider returns to the browser that began the log-in.
enum WebSignInState {
    /// - Returns: the provider's code.
    /// - Throws: `refused` for another state, or without a code: the shopper has cancelled.
    static func code(_ query: JSON, _ kept: JSON) throws(ProviderProblem) -> String {
        guard let state = kept["state"]?.stringValue, !state.isEmpty, query["state"]?.stringValue == state else {
            throw .refused("Another state.")
        }
        guard let code = query["code"]?.stringValue, !code.isEmpty else { throw .refused("No code.") }
        return code
    }
}
