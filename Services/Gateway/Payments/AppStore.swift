import Logging
import Outbound
import ParseProtocol

/// Verifies receipts with Apple (`verifyReceipt`). Apple's status identifies sandbox receipts. They are accepted only
/// when the operator allows them, because they cost nothing.
struct AppStore: Sendable {
    let client: OutboundClient
    let settings: CloudSettings
    let logger: Logger

    enum Verdict: Equatable, Sendable {
        /// Apple issued the receipt, for these products of this app.
        case valid(bundleId: String, products: Set<String>)
        /// Apple's status for it.
        case invalid(status: Int64)
    }

    private static let isOfSandbox: Int64 = 21007
    private static let timeout = Duration.seconds(10)

    /// - Throws: `.serviceUnavailable` (2) when Apple cannot be reached, `.invalidServerResponse` (148) when its
    ///   response is not usable.
    func verify(_ receipt: String) async throws(ParseError) -> Verdict {
        let verdict = try await ask(settings.receiptURL, receipt)
        guard verdict == .invalid(status: Self.isOfSandbox), settings.takesSandboxReceipts else { return verdict }
        return try await ask(settings.sandboxReceiptURL, receipt)
    }

    private func ask(_ url: String, _ receipt: String) async throws(ParseError) -> Verdict {
        let body: JSON = ["receipt-data": .string(receipt)]
        var request = OutboundRequest(
            .post, url, headers: [("Content-Type", "application/json")], body: body.serialized, timeout: Self.timeout)
        // The request changes nothing at Apple.
        request.isRepeatable = true
        let answer: OutboundResponse
        do throws(OutboundFailure) {
            answer = try await client.send(request)
        } catch {
            logger.warning("The App Store cannot be reached.", metadata: ["error": "\(error)"])
            throw error.reason == .answerTooLarge ? Self.garbage : Self.unavailable
        }
        guard answer.status < 500, answer.status != 429 else { throw Self.unavailable }
        guard answer.status == 200 else { throw Self.garbage }
        return try Self.verdict(answer.body)
    }

    private static let unavailable = ParseError(.serviceUnavailable, "The App Store cannot be reached now.")
    private static let garbage = ParseError(.invalidServerResponse, "The App Store's response is not usable.")

    /// The verdict in Apple's response. A receipt lists its purchases in `in_app`; a receipt from before iOS 7 is its
    /// only purchase.
    static func verdict(_ body: [UInt8]) throws(ParseError) -> Verdict {
        guard let json = try? JSON(parsing: body), let status = json["status"]?.intValue else { throw garbage }
        guard status == 0 else { return .invalid(status: status) }
        guard let receipt = json["receipt"], receipt.objectValue != nil else { throw garbage }
        let purchases = (receipt["in_app"]?.arrayValue ?? []) + (json["latest_receipt_info"]?.arrayValue ?? [])
        let products = (purchases + [receipt]).compactMap { $0["product_id"]?.stringValue }
        return .valid(
            bundleId: receipt["bundle_id"]?.stringValue ?? receipt["bid"]?.stringValue ?? "", products: Set(products))
    }
}
