import Configuration
import Foundation
import ParseProtocol

/// Settings of webhooks, logs and purchases.
struct CloudSettings: Sendable {
    /// Sent to webhooks as `X-Parse-Webhook-Key`, so that they know who calls.
    let webhookKey: String?
    /// How long a webhook may take; a client waits for as long.
    let webhookTimeout: Duration
    /// Whether an answer waits for the webhooks that only hear of what was done (`afterSave` and its like).
    let awaitsAfterHooks: Bool
    /// PEM file of the authorities that certificates are checked against.
    let authorities: String?
    /// Where Apple says what a receipt is worth, and where it does for receipts of its sandbox.
    let receiptURL: String
    let sandboxReceiptURL: String
    /// Apps whose receipts count; empty for all.
    let bundleIds: Set<String>
    /// Where the process manager keeps what the processes say.
    let logDirectory: String
    /// As the catalog reads it.
    let allowsClientClassCreation: Bool
    /// Whether `SATCHEL_CLIENT_SCHEMA` keeps clients from adding classes and fields.
    let isSchemaClosed: Bool

    /// - Throws: `ConfigurationProblem`.
    init(reader: ConfigReader, dataDirectory: String) throws {
        func text(_ key: String) -> String? {
            reader.string(forKey: ConfigKey(key), isSecret: true).flatMap { $0.isEmpty ? nil : $0 }
        }
        func url(_ key: String, _ standard: String) throws -> String {
            let address = text(key) ?? standard
            guard let url = URL(string: address), url.scheme == "http" || url.scheme == "https", url.host != nil else {
                throw ConfigurationProblem(
                    description:
                        "\(key.uppercased().replacingOccurrences(of: ".", with: "_"))=\(address) is not an http address."
                )
            }
            return address
        }
        webhookKey = text("satchel.webhook.key")
        let seconds = reader.int(forKey: "satchel.webhook.timeout.seconds", default: 10)
        guard (1...25).contains(seconds) else {
            // Clients of the gateway give up after half a minute.
            throw ConfigurationProblem(
                description: "SATCHEL_WEBHOOK_TIMEOUT_SECONDS must be from 1 to 25, not \(seconds).")
        }
        webhookTimeout = .seconds(seconds)
        awaitsAfterHooks = reader.bool(forKey: "satchel.webhook.await.after", default: false)
        authorities = text("satchel.ca.file")
        receiptURL = try url("satchel.apple.receipt.url", "https://buy.itunes.apple.com/verifyReceipt")
        sandboxReceiptURL = try url(
            "satchel.apple.sandbox.receipt.url", "https://sandbox.itunes.apple.com/verifyReceipt")
        bundleIds = Set((text("satchel.apple.bundle.ids") ?? "").split(separator: ",").map(String.init))
        logDirectory = dataDirectory + "/logs"
        isSchemaClosed = reader.string(forKey: "satchel.client.schema", default: "") == "closed"
        allowsClientClassCreation =
            !isSchemaClosed && reader.bool(forKey: "satchel.allow.client.class.creation", default: true)
    }
}
