import ParseProtocol

/// A suite with Facebook, X, Apple and Google as identity providers, all simulated by one peer, and the proofs that
/// apps send.
package enum ProviderSuite {
    package static func with(_ more: [String: String] = [:], _ body: (Suite, Peer) async throws -> Void) async throws {
        try await Peer.with("identity.py") { peer in
            let settings = [
                "SATCHEL_FACEBOOK_APP_IDS": "fb-app", "SATCHEL_FACEBOOK_APP_SECRET": "fb-secret",
                "SATCHEL_FACEBOOK_URL": "\(peer.url)/facebook", "SATCHEL_TWITTER_CONSUMER_KEY": "tw-key",
                "SATCHEL_TWITTER_CONSUMER_SECRET": "tw-secret", "SATCHEL_TWITTER_URL": "\(peer.url)/twitter",
            ]
            try await Suite.with(settings: settings.merging(more) { $1 }) { try await body($0, peer) }
        }
    }

    package static func facebook(_ id: String, token: String? = nil) -> JSON {
        ["id": .string(id), "access_token": .string(token ?? "fb-app:\(id)")]
    }

    package static func twitter(_ id: String, token: String? = nil) -> JSON {
        ["id": .string(id), "auth_token": .string(token ?? "\(id)-token"), "auth_token_secret": "token-secret"]
    }
}
