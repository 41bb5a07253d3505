import ParseProtocol

/// A host with webhooks (`Tests/Peers/servers/webhook.py`), and a suite that uses it.
package struct WebhookHost: Sendable {
    package let suite: Suite
    package let peer: Peer

    package init(suite: Suite, peer: Peer) {
        self.suite = suite
        self.peer = peer
    }

    package static let key = "webhook-key-5f1c77"
    package static let timeoutSeconds = 8
    package static let readOnlyKey = "read-only-5f1c77d0"

    /// The suite that webhook tests share. Each test uses separate classes and functions.
    package static var shared: WebhookHost { get async throws { try await start.value } }
    private static let start = Task { try await WebhookHost.make() }

    private static func make() async throws -> WebhookHost {
        let peer = try await Peer.start("webhook.py")
        return WebhookHost(suite: try await Suite.start(settings: settings(peer)), peer: peer)
    }

    package static func settings(_ peer: Peer) -> [String: String] {
        [
            "SATCHEL_READ_ONLY_MASTER_KEY": readOnlyKey, "SATCHEL_WEBHOOK_KEY": key,
            "SATCHEL_WEBHOOK_TIMEOUT_SECONDS": "\(timeoutSeconds)",
            "SATCHEL_APPLE_RECEIPT_URL": "\(peer.url)/apple",
            "SATCHEL_APPLE_SANDBOX_RECEIPT_URL": "\(peer.url)/appleSandbox",
            "SATCHEL_APPLE_BUNDLE_IDS": "shop.example,other.example", "SATCHEL_APPLE_SANDBOX_RECEIPTS": "true",
            "SATCHEL_QUOTAS": "receipts=off",
        ]
    }

    /// Runs `body` with its own suite and host, for webhooks that affect every client.
    package static func with(
        _ more: [String: String] = [:], _ body: (WebhookHost) async throws -> Void
    ) async throws {
        try await Peer.with("webhook.py") { peer in
            let all = settings(peer).merging(more) { $1 }
            try await Suite.with(settings: all) { try await body(WebhookHost(suite: $0, peer: peer)) }
        }
    }

    package var master: ParseClient { ParseClient.master(suite) }

    /// Sets the answer of a path.
    package func answer(_ name: String, _ order: JSON) async throws {
        _ = try await peer.control(name, order)
    }

    /// The calls of a path so far.
    package func calls(_ name: String) -> [JSON] { peer.reports().filter { $0["name"] == .string(name) } }

    /// Declares a trigger that calls `/<class>-<trigger>`, and its answer.
    package func trigger(_ trigger: String, _ className: String, _ order: JSON? = nil) async throws {
        if let order { try await answer("\(className)-\(trigger)", order) }
        let hook: JSON = [
            "className": .string(className), "triggerName": .string(trigger),
            "url": .string("\(peer.url)/\(className)-\(trigger)"),
        ]
        let declared = try await master.call(.POST, "/hooks/triggers", hook)
        guard declared.status == 200 else { throw Unexpected("POST hooks/triggers", declared) }
    }

    /// Declares a function that calls `/<function>`, and its answer.
    package func function(_ name: String, _ order: JSON? = nil) async throws {
        if let order { try await answer(name, order) }
        let hook: JSON = ["functionName": .string(name), "url": .string("\(peer.url)/\(name)")]
        let declared = try await master.call(.POST, "/hooks/functions", hook)
        guard declared.status == 200 else { throw Unexpected("POST hooks/functions", declared) }
    }

    /// A name that no other test uses.
    package static func name(_ stem: String) -> String { "\(stem)\(Names.random(8))" }
}
