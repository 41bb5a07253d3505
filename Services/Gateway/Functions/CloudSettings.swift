import Foundation
import ParseProtocol
import ProcessKit

/// Settings of webhooks, cloud code, logs and purchases.
struct CloudSettings: Sendable {
    /// Sent to webhooks as `X-Parse-Webhook-Key`, so that they know who calls.
    let webhookKey: String?
    /// The longest that a webhook may take; a client waits for as long.
    let webhookTimeout: Duration
    /// Whether an answer waits for the webhooks that only hear of what was done (`afterSave` and its like).
    let awaitsAfterHooks: Bool
    /// Whether functions of cloud code take the place of Satchel's own of the same name.
    let codeReplacesFunctions: Bool
    /// PEM file of the authorities that certificates are checked against.
    let authorities: String?
    /// The addresses at which Apple verifies receipts, and receipts of its sandbox.
    let receiptURL: String
    let sandboxReceiptURL: String
    /// Apps whose receipts count; empty for all.
    let bundleIds: Set<String>
    /// The folder in which the process manager keeps the logs of the processes.
    let logDirectory: String
    /// As the catalog reads it.
    let allowsClientClassCreation: Bool
    /// Whether `SATCHEL_CLIENT_SCHEMA` keeps clients from adding classes and fields.
    let isSchemaClosed: Bool

    /// - Throws: `StartupProblem`.
    init(_ settings: Settings, dataDirectory: String) throws(StartupProblem) {
        func url(_ key: String, _ standard: String) throws(StartupProblem) -> String {
            let address = settings.text(key, default: standard)
            guard let url = URL(string: address), url.scheme == "http" || url.scheme == "https", url.host != nil else {
                throw settings.wrong(key, "is not an http address.")
            }
            return address
        }
        webhookKey = settings["satchel.webhook.key"]
        // Clients of the gateway give up after half a minute.
        webhookTimeout = .seconds(try settings.number("satchel.webhook.timeout.seconds", 1...25, default: 10))
        awaitsAfterHooks = try settings.flag("satchel.webhook.await.after", default: false)
        codeReplacesFunctions = try settings.flag("satchel.cloud.replaces.functions", default: false)
        authorities = settings["satchel.ca.file"]
        receiptURL = try url("satchel.apple.receipt.url", "https://buy.itunes.apple.com/verifyReceipt")
        sandboxReceiptURL = try url(
            "satchel.apple.sandbox.receipt.url", "https://sandbox.itunes.apple.com/verifyReceipt")
        bundleIds = Set(settings.list("satchel.apple.bundle.ids"))
        logDirectory = dataDirectory + "/logs"
        isSchemaClosed = try ClientSchema(settings) == .closed
        let allowsClasses = try settings.flag("satchel.allow.client.class.creation", default: true)
        allowsClientClassCreation = allowsClasses && !isSchemaClosed
    }
}
