import Cryptography
import Foundation
import Outbound
import ParseProtocol
import ProcessKit

/// X, formerly Twitter: a request signed with the user's token (OAuth 1.0a, RFC 5849) returns the user.
///
/// It is always signed with the shop's own consumer key. A token is bound to its consumer key, so one issued to another
/// app fails at X. A consumer key sent by the client is compared and never used.
struct TwitterProvider: IdentityProvider {
    private let consumerKey: String
    private let consumerSecret: String
    private let url: String
    private let client: OutboundClient

    /// Nil without `SATCHEL_TWITTER_CONSUMER_KEY`.
    /// - Throws: without the secret, or for an invalid URL.
    init?(_ settings: Settings, _ client: OutboundClient) throws {
        guard let key = settings["satchel.twitter.consumer.key"] else { return nil }
        guard let secret = settings["satchel.twitter.consumer.secret"] else {
            throw StartupProblem(
                "SATCHEL_TWITTER_CONSUMER_KEY needs SATCHEL_TWITTER_CONSUMER_SECRET.")
        }
        consumerKey = key
        consumerSecret = secret
        url =
            try settings.providerURL("satchel.twitter.url", default: "https://api.twitter.com/1.1")
            + "/account/verify_credentials.json"
        self.client = client
    }

    func verify(_ proof: AuthProof) async throws(ProviderProblem) {
        guard let token = proof.text("auth_token"), let tokenSecret = proof.text("auth_token_secret") else {
            throw .refused("No auth_token or auth_token_secret.")
        }
        if let key = proof.text("consumer_key"), key != consumerKey { throw .refused("Another consumer key.") }
        let header = OAuthSignature(
            consumerKey: consumerKey, consumerSecret: consumerSecret, token: token, tokenSecret: tokenSecret,
            nonce: Names.random(32), seconds: Timestamp.now.milliseconds / 1000
        ).header(method: "GET", url: url)
        let user = try await client.object(url, headers: [("Authorization", header)])
        guard let userId = user["id_str"]?.stringValue else { throw .unavailable("The answer does not name the user.") }
        guard userId == proof.id else { throw .refused("The token is another user's.") }
    }
}

/// The `Authorization` header of OAuth 1.0 with HMAC-SHA1, by default for a request without other parameters.
package struct OAuthSignature: Sendable {
    let consumerKey: String
    let consumerSecret: String
    /// Empty before the user has one.
    let token: String
    let tokenSecret: String
    let nonce: String
    /// Unix time in seconds.
    let seconds: Int64

    package init(
        consumerKey: String, consumerSecret: String, token: String, tokenSecret: String, nonce: String, seconds: Int64
    ) {
        self.consumerKey = consumerKey
        self.consumerSecret = consumerSecret
        self.token = token
        self.tokenSecret = tokenSecret
        self.nonce = nonce
        self.seconds = seconds
    }

    /// - Parameter extra: the request's own parameters.
    package func header(method: String, url: String, extra: [(String, String)] = []) -> String {
        let own = [
            ("oauth_consumer_key", consumerKey), ("oauth_nonce", nonce), ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", String(seconds)), ("oauth_token", token), ("oauth_version", "1.0"),
        ].filter { !$0.1.isEmpty }
        let sorted = (own + extra).map { ($0.0.percentEncoded, $0.1.percentEncoded) }.sorted { $0 < $1 }
        let parameters = sorted.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        let base = "\(method)&\(url.percentEncoded)&\(parameters.percentEncoded)"
        let key = SymmetricKey(data: Data("\(consumerSecret.percentEncoded)&\(tokenSecret.percentEncoded)".utf8))
        // RFC 5849 defines no newer hash, and X accepts no other.
        let code = HMAC<Insecure.SHA1>.authenticationCode(for: Data(base.utf8), using: key)
        let signed = own + [("oauth_signature", Data(code).base64EncodedString())]
        return "OAuth " + signed.map { "\($0.0)=\"\($0.1.percentEncoded)\"" }.joined(separator: ", ")
    }
}
