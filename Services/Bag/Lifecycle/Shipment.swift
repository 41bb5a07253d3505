import Foundation
import ParseProtocol

/// The way an order travels, as far as the shop says. Each part may be empty.
package struct Shipment: Sendable, Equatable {
    package var carrier = ""
    package var trackingNumber = ""
    /// A web page, `http` or `https`; a mail shows it as a link.
    package var trackingUrl = ""

    package init() {}

    /// `carrier`, `trackingNumber` and `trackingUrl` of a function's parameters.
    /// - Throws: `.incorrectType` (111) and `.validationError` (142) for texts that cannot be.
    package init(_ parameters: JSON) throws {
        carrier = try PlainText.optional(parameters["carrier"], "carrier", bytesMax: Self.nameBytesMax, isLine: true)
        trackingNumber = try PlainText.optional(
            parameters["trackingNumber"], "trackingNumber", bytesMax: Self.nameBytesMax, isLine: true)
        trackingUrl = try PlainText.optional(
            parameters["trackingUrl"], "trackingUrl", bytesMax: Self.urlBytesMax, isLine: true)
        guard trackingUrl.isEmpty || Self.isWebPage(trackingUrl) else {
            throw ParseError(.validationError, "trackingUrl must be an http or https URL.")
        }
    }

    /// As an order holds it.
    init(order: JSON) {
        carrier = order["carrier"]?.stringValue ?? ""
        trackingNumber = order["trackingNumber"]?.stringValue ?? ""
        trackingUrl = order["trackingUrl"]?.stringValue ?? ""
    }

    /// The members that are set.
    var fields: [String: JSON] {
        ["carrier": carrier, "trackingNumber": trackingNumber, "trackingUrl": trackingUrl]
            .filter { !$0.value.isEmpty }.mapValues(JSON.string)
    }

    private static let nameBytesMax = 100
    /// Browsers and mail programs handle longer ones badly.
    private static let urlBytesMax = 2000

    /// A script or a file behind a link in the shop's mail would be the shop's doing.
    private static func isWebPage(_ text: String) -> Bool {
        guard !text.contains(where: { $0.isWhitespace || "<>\"'\\".contains($0) }),
            let url = URLComponents(string: text), let host = url.host, !host.isEmpty, url.user == nil
        else { return false }
        return ["http", "https"].contains(url.scheme?.lowercased())
    }
}
