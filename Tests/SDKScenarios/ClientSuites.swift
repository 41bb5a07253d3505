import ParseProtocol
import TestSupport

/// A suite behind a proxy with a path prefix, with request ids, an additional file type, and webhooks that are awaited.
/// The first test that needs it starts it.
enum ClientSuites {
    static let publicURL = "https://shop.example/api/v2/parse"

    static var proxied: WebhookHost { get async throws { try await proxiedStart.value } }
    private static let proxiedStart = Task {
        let peer = try await Peer.start("webhook.py")
        let settings = [
            "SATCHEL_PUBLIC_URL": publicURL, "SATCHEL_IDEMPOTENCY_PATHS": "classes/Once*,functions/.*,batch",
            "SATCHEL_FILE_TYPES": "dwg=image/vnd.dwg", "SATCHEL_WEBHOOK_AWAIT_AFTER": "true",
        ]
        return WebhookHost(
            suite: try await Suite.start(settings: WebhookHost.settings(peer).merging(settings) { $1 }), peer: peer)
    }
}
