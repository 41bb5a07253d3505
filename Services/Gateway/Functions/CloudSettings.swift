import Foundation
import ParseProtocol
import ProcessKit

/// Settings of webhooks, cloud code, logs and purchases.
struct CloudSettings: Sendable {
    /// Sent to webhooks as `X-Parse-Webhook-Key`, so that they can authenticate the caller.
    let webhookKey: String?
    /// The timeout of a webhook. The client waits as long.
    let webhookTimeout: Duration
    /// Whether a response waits for the webhooks that run after the change (`afterSave` and similar).
    let awaitsAfterHooks: Bool
    /// The file with the shop's cloud code, on this host.
    let codeFile: String
    /// Whether functions of cloud code replace Satchel's functions of the same name.
    let codeReplacesFunctions: Bool
    /// PEM file with the certificate authorities.
    let authorities: String?
    /// Apple's addresses for verifying receipts, the sandbox included.
    let receiptURL: String
    let sandboxReceiptURL: String
    /// Apps whose receipts are accepted; empty for none.
    let bundleIds: Set<String>
    /// Whether receipts of Apple's sandbox, which cost nothing, are accepted as well.
    let takesSandboxReceipts: Bool
    /// The folder in which the process manager stores the logs of the processes.
    let logDirectory: String
    /// The catalog's setting of the same meaning.
    let allowsClientClassCreation: Bool
    /// Whether `SATCHEL_CLIENT_SCHEMA` forbids clients to add classes and fields.
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
        // Clients of the gateway give up after 30 s.
        webhookTimeout = .seconds(try settings.number("satchel.webhook.timeout.seconds", 1...25, default: 10))
        awaitsAfterHooks = try settings.flag("satchel.webhook.await.after", default: false)
        codeFile = settings.text("satchel.cloud.code", default: dataDirectory + "/cloud") + "/main.js"
        codeReplacesFunctions = try settings.flag("satchel.cloud.replaces.functions", default: false)
        authorities = settings["satchel.ca.file"]
        receiptURL = try url("satchel.apple.receipt.url", "https://buy.itunes.apple.com/verifyReceipt")
        sandboxReceiptURL = try url(
            "satchel.apple.sandbox.receipt.url", "https://sandbox.itunes.apple.com/verifyReceipt")
        bundleIds = Set(settings.list("satchel.apple.bundle.ids"))
        takesSandboxReceipts = try settings.flag("satchel.apple.sandbox.receipts", default: false)
        logDirectory = dataDirectory + "/logs"
        isSchemaClosed = try ClientSchema(settings) == .closed
        let allowsClasses = try settings.flag("satchel.allow.client.class.creation", default: true)
        allowsClientClassCreation = allowsClasses && !isSchemaClosed
    }
}
