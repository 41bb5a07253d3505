import Foundation
import Messages
import ParseProtocol

/// `/validate_purchase`: exchanges a receipt of Apple's App Store for the purchased file (PARSE_PROTOCOL section 12).
struct PurchaseController: Sendable {
    let store: AppStore
    let services: ServiceClient
    let links: FileLinks
    let signer: FileSigner

    /// Receipts of customers with years of purchases have some hundred kilobytes.
    private static let receiptBytesMax = 2 << 20

    /// - Throws: `.operationForbidden` (119) while `SATCHEL_APPLE_BUNDLE_IDS` names no app: a receipt of any app would
    ///   unlock the shop's files. `.requestLimitExceeded` (155) past the quota `receipts`.
    func validate(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let body = try request.object
        let receipt = body["receipt"]
        let text = receipt?.stringValue ?? (receipt?.wireType == "Bytes" ? receipt?["base64"]?.stringValue : nil)
        guard let text, !text.isEmpty, let product = body["productIdentifier"]?.stringValue, !product.isEmpty else {
            throw ParseError(.invalidJSON, "missing receipt or productIdentifier")
        }
        guard text.utf8.count <= Self.receiptBytesMax, Data(base64Encoded: text) != nil else {
            throw ParseError(.invalidJSON, "The receipt is not base64.")
        }
        _ = try await services.write(
            CatalogCalls.countReceipt, ConfigRequest(), for: principal, in: request.call)
        guard !store.settings.bundleIds.isEmpty else {
            store.logger.warning("A purchase was refused: SATCHEL_APPLE_BUNDLE_IDS names no app.")
            throw ParseError(
                .operationForbidden, "This shop unlocks no purchases: SATCHEL_APPLE_BUNDLE_IDS names no app.")
        }
        switch try await store.verify(text) {
        case .invalid(let status):
            return ParseResponse(["status": .int(status), "error": .string(Self.text(of: status))])
        case .valid(let bundleId, let products):
            guard store.settings.bundleIds.contains(bundleId), products.contains(product) else {
                throw ParseError(.invalidProductIdentifier, "The receipt is for another product.")
            }
            return ParseResponse(try await download(of: product, request))
        }
    }

    /// The file, with a URL that expires. It is read with the master key: clients cannot read a product's `download`,
    /// and a purchase remains valid when the product is no longer sold.
    private func download(of product: String, _ request: ParseRequest) async throws(ParseError) -> JSON {
        let filter: JSON = ["productIdentifier": .string(product)]
        let message = FindRequest.with {
            $0.className = "_Product"
            $0.where = Data(filter.serialized)
            $0.limit = 2
        }
        let reply = try await services.read(
            ServiceDirectory.calls(ofClass: message.className).find, message, for: .with { $0.master = true },
            in: request.call)
        let found = try JSON(reply: reply.document, in: request.call)["results"]?.arrayValue ?? []
        guard found.count == 1, var download = found[0]["download"], let name = download["name"]?.stringValue else {
            throw .objectNotFound
        }
        download["url"] = .string(links.url(of: name, signedBy: signer))
        return download
    }

    /// Apple's words for its statuses.
    private static func text(of status: Int64) -> String {
        switch status {
        case 21000: "The App Store could not read the JSON object you provided."
        case 21002: "The data in the receipt-data property was malformed or missing."
        case 21003: "The receipt could not be authenticated."
        case 21004: "The shared secret you provided does not match the shared secret on file for your account."
        case 21005: "The receipt server is not currently available."
        case 21006: "This receipt is valid but the subscription has expired."
        case 21007: "This receipt is from the test environment, but it was sent to the production environment."
        case 21008: "This receipt is from the production environment, but it was sent to the test environment."
        default: "unknown error."
        }
    }
}
