import Logging
import Outbound
import ParseProtocol

/// Apple's answers to receipts (`verifyReceipt`). Receipts of the sandbox are recognised by Apple's own answer.
struct AppStore: Sendable {
    let client: OutboundClient
    let settings: CloudSettings
    let logger: Logger

    enum Verdict: Equatable, Sendable {
        /// The receipt is Apple's, for these products of this app.
        case valid(bundleId: String, products: Set<String>)
        /// Apple's status for it.
        case invalid(status: Int64)
    }

    private static let isOfSandbox: Int64 = 21007
    private static let timeout = Duration.seconds(10)

    /// - Throws: `.serviceUnavailable` (2) when Apple cannot be asked now, `.invalidServerResponse` (148) when it does
    ///   not answer as it should.
    func verify(_ receipt: String) async throws(ParseError) -> Verdict {
        let verdict = try await ask(settings.receiptURL, receipt)
        guard verdict == .invalid(status: Self.isOfSandbox) else { return verdict }
        return try await ask(settings.sandboxReceiptURL, receipt)
    }

    private func ask(_ url: String, _ receipt: String) async throws(ParseError) -> Verdict {
        let body: JSON = ["receipt-data": .string(receipt)]
        var request = OutboundRequest(
            .post, url, headers: [("Content-Type", "application/json")], body: body.serialized, timeout: Self.timeout)
        // Apple changes nothing by it.
        request.isRepeatable = true
        let answer: OutboundResponse
        do throws(OutboundFailure) {
            answer = try await client.send(request)
        } catch {
            logger.warning("The App Store cannot be asked.", metadata: ["error": "\(error)"])
            throw error.reason == .answerTooLarge ? Self.garbage : Self.unavailable
        }
        guard answer.status < 500, answer.status != 429 else { throw Self.unavailable }
        guard answer.status == 200 else { throw Self.garbage }
        return try Self.verdict(answer.body)
    }

    private static let unavailable = ParseError(.serviceUnavailable, "The App Store cannot be asked now.")
    private static let garbage = ParseError(.invalidServerResponse, "The App Store's answer is not one.")

    /// The verdict that Apple's answer gives. A receipt lists its purchases in `in_app`; one of before iOS 7 is its
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
