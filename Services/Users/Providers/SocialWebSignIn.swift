import Cryptography
import Foundation
import Outbound
import ParseProtocol
import ProcessKit

/// A browser's log-in at Facebook: its page returns a code, which the shop exchanges for the user's token.
struct FacebookWebSignIn: WebSignInProvider {
    private let applicationId: String
    private let secret: String
    private let pageURL: String
    private let url: String
    private let client: OutboundClient

    /// Nil without `SATCHEL_FACEBOOK_APP_IDS` and the secret. The first app is the browser's.
    /// - Throws: for an invalid URL.
    init?(_ settings: Settings, _ client: OutboundClient) throws {
        guard let id = settings.list("satchel.facebook.app.ids").first,
            let secret = settings["satchel.facebook.app.secret"]
        else { return nil }
        applicationId = id
        self.secret = secret
        pageURL = try settings.providerURL(
            "satchel.facebook.login.url", default: "https://www.facebook.com/dialog/oauth")
        url = try settings.providerURL("satchel.facebook.url", default: "https://graph.facebook.com")
        self.client = client
    }

    func begin(returningTo url: String) async throws(ProviderProblem) -> WebSignInStart {
        let state = Names.random(32)
        let parameters = [
            ("response_type", "code"), ("client_id", applicationId), ("redirect_uri", url), ("state", state),
        ]
        return WebSignInStart(
            url: "\(pageURL)?\(OpenIDWebSignIn.text(of: parameters))", kept: ["state": .string(state)])
    }

    func end(_ query: JSON, _ kept: JSON, returningTo page: String) async throws(ProviderProblem) -> JSON {
        let parameters = [
            ("client_id", applicationId), ("client_secret", secret), ("redirect_uri", page),
            ("code", try WebSignInState.code(query, kept)),
        ]
        let answer = try await client.object("\(url)/oauth/access_token?\(OpenIDWebSignIn.text(of: parameters))")
        guard let token = answer["access_token"]?.stringValue else { throw .unavailable("The answer has no token.") }
        let key = SymmetricKey(data: Data(secret.utf8))
        let proof = HMAC<SHA256>.authenticationCode(for: Data(token.utf8), using: key).hex
        let user = try await client.object(
            "\(url)/me?fields=id&access_token=\(token.percentEncoded)&appsecret_proof=\(proof)")
        guard let id = user["id"]?.stringValue else { throw .unavailable("/me does not name the user.") }
        return ["id": .string(id), "access_token": .string(token)]
    }
}

/// A browser's log-in at X (OAuth 1.0a): the shop asks for a request token, which the user confirms on X's page.
struct TwitterWebSignIn: WebSignInProvider {
    private let consumerKey: String
    private let consumerSecret: String
    private let url: String
    private let client: OutboundClient

    /// Nil without `SATCHEL_TWITTER_CONSUMER_KEY` and the secret.
    /// - Throws: for an invalid URL.
    init?(_ settings: Settings, _ client: OutboundClient) throws {
        guard let key = settings["satchel.twitter.consumer.key"],
            let secret = settings["satchel.twitter.consumer.secret"]
        else { return nil }
        consumerKey = key
        consumerSecret = secret
        url = try settings.providerURL("satchel.twitter.oauth.url", default: "https://api.twitter.com/oauth")
        self.client = client
    }

    func begin(returningTo page: String) async throws(ProviderProblem) -> WebSignInStart {
        let answer = try await ask("request_token", token: "", secret: "", ("oauth_callback", page))
        guard let token = answer["oauth_token"], let secret = answer["oauth_token_secret"],
            answer["oauth_callback_confirmed"] == "true"
        else { throw .unavailable("The answer has no token.") }
        return WebSignInStart(
            url: "\(url)/authenticate?oauth_token=\(token.percentEncoded)",
            kept: ["state": .string(token), "secret": .string(secret)])
    }

    func end(_ query: JSON, _ kept: JSON, returningTo page: String) async throws(ProviderProblem) -> JSON {
        guard let token = kept["state"]?.stringValue, !token.isEmpty, query["oauth_token"]?.stringValue == token
        else { throw .refused("Another state.") }
        guard let verifier = query["oauth_verifier"]?.stringValue, !verifier.isEmpty else {
            throw .refused("No verifier.")
        }
        let answer = try await ask(
            "access_token", token: token, secret: kept["secret"]?.stringValue ?? "", ("oauth_verifier", verifier))
        guard let access = answer["oauth_token"], let secret = answer["oauth_token_secret"],
            let id = answer["user_id"]
        else { throw .unavailable("The answer has no token.") }
        return ["id": .string(id), "auth_token": .string(access), "auth_token_secret": .string(secret)]
    }

    /// - Returns: the fields of the answer, which is a form.
    private func ask(
        _ path: String, token: String, secret: String, _ parameter: (String, String)
    ) async throws(ProviderProblem) -> [String: String] {
        let header = OAuthSignature(
            consumerKey: consumerKey, consumerSecret: consumerSecret, token: token, tokenSecret: secret,
            nonce: Names.random(32), seconds: Timestamp.now.milliseconds / 1000
        ).header(method: "POST", url: "\(url)/\(path)", extra: [parameter])
        let body = try await client.text(
            OutboundRequest(
                .post, "\(url)/\(path)?\(OpenIDWebSignIn.text(of: [parameter]))",
                headers: [("Authorization", header)], timeout: OutboundClient.identityPatience))
        var fields: [String: String] = [:]
        for pair in String(decoding: body, as: UTF8.self).split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            fields[String(parts[0])] = parts[1].removingPercentEncoding
        }
        return fields
    }
}
