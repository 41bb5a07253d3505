import Foundation
import ParseProtocol

/// How an order is shipped, as entered by the shop. Each part may be empty.
package struct Shipment: Sendable, Equatable {
    package var carrier = ""
    package var trackingNumber = ""
    /// A web page, `http` or `https`. Mails show it as a link.
    package var trackingUrl = ""

    package init() {}

    /// `carrier`, `trackingNumber` and `trackingUrl` of a function's parameters.
    /// - Throws: `.incorrectType` (111) and `.validationError` (142) for invalid texts.
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

    /// The shipment stored in an order.
    init(order: JSON) {
        carrier = order["carrier"]?.stringValue ?? ""
        trackingNumber = order["trackingNumber"]?.stringValue ?? ""
        trackingUrl = order["trackingUrl"]?.stringValue ?? ""
    }

    /// The non-empty members.
    var fields: [String: JSON] { members.filter { !$0.value.isEmpty }.mapValues(JSON.string) }

    /// The update that replaces an earlier shipment; empty members are deleted.
    var replacement: [String: JSON] { members.mapValues { $0.isEmpty ? ["__op": "Delete"] : .string($0) } }

    private var members: [String: String] {
        ["carrier": carrier, "trackingNumber": trackingNumber, "trackingUrl": trackingUrl]
    }

    private static let nameBytesMax = 100
    /// Browsers and mail programs handle longer URLs badly.
    private static let urlBytesMax = 2000

    /// Only web pages: a link to a script or file in the shop's mail would look like the shop's own content.
    private static func isWebPage(_ text: String) -> Bool {
        guard !text.contains(where: { $0.isWhitespace || "<>\"'\\".contains($0) }),
            let url = URLComponents(string: text), let host = url.host, !host.isEmpty, url.user == nil
        else { return false }
        return ["http", "https"].contains(url.scheme?.lowercased())
    }
}
