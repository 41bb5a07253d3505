import Cryptography
import Foundation
import Outbound
import ParseProtocol
import ProcessKit

/// Facebook: the Graph API reports the user and the app of a token.
///
/// The check of `/app` is as important as the check of `/me`: a token issued to another app must not give access to an
/// account.
struct FacebookProvider: IdentityProvider {
    private let applicationIds: Set<String>
    private let secret: SymmetricKey
    private let url: String
    private let client: OutboundClient

    /// Nil without `SATCHEL_FACEBOOK_APP_IDS`.
    /// - Throws: without the secret, or for an invalid URL.
    init?(_ settings: Settings, _ client: OutboundClient) throws {
        applicationIds = Set(settings.list("satchel.facebook.app.ids"))
        guard !applicationIds.isEmpty else { return nil }
        guard let secret = settings["satchel.facebook.app.secret"] else {
            throw StartupProblem(
                "SATCHEL_FACEBOOK_APP_IDS needs SATCHEL_FACEBOOK_APP_SECRET, which signs the requests to Facebook."
            )
        }
        self.secret = SymmetricKey(data: Data(secret.utf8))
        url = try settings.providerURL("satchel.facebook.url", default: "https://graph.facebook.com")
        self.client = client
    }

    func verify(_ proof: AuthProof) async throws(ProviderProblem) {
        guard let token = proof.text("access_token") else { throw .refused("No access_token.") }
        let application = try await ask("/app", token)
        guard let applicationId = application["id"]?.stringValue else {
            throw .unavailable("/app does not name the app.")
        }
        guard applicationIds.contains(applicationId) else { throw .refused("The token is for another app.") }
        let user = try await ask("/me", token)
        guard let userId = user["id"]?.stringValue else { throw .unavailable("/me does not name the user.") }
        guard userId == proof.id else { throw .refused("The token is another user's.") }
    }

    private func ask(_ path: String, _ token: String) async throws(ProviderProblem) -> JSON {
        let signature = HMAC<SHA256>.authenticationCode(for: Data(token.utf8), using: secret)
        return try await client.object(
            "\(url)\(path)?fields=id&access_token=\(token.percentEncoded)&appsecret_proof=\(signature.hex)")
    }
}
