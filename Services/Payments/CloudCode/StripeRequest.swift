import Outbound
import ParseProtocol
import ServiceKit

/// A request to Stripe's API that cloud code makes by hosted Parse's module: of that module's paths alone, and bounded.
package struct StripeRequest: Sendable {
    /// `GET`, `POST` or `DELETE`.
    package let method: OutboundRequest.Method
    /// Relative to `/v1` and not escaped, such as `charges`, `ch_1`, `refund`.
    package let path: [String]
    /// The path with `*` for ids, such as `charges/*/refund`.
    package let route: String
    /// In the module's order, with brackets for what is nested.
    package let form: StripeForm

    /// What Stripe takes in one form with all its metadata is less.
    private static let formBytesMax = 64 * 1024
    private static let fieldsMax = 500
    private static let segmentBytes = 1...255

    /// The paths that the module has methods for. No other one of Stripe's API is reached with the shop's key.
    private static let routes: [String: Set<OutboundRequest.Method>] = [
        "charges": [.get, .post], "charges/*": [.get, .post], "charges/*/refund": [.post],
        "customers": [.get, .post], "customers/*": [.get, .post, .delete],
        "customers/*/subscription": [.post, .delete], "customers/*/discount": [.delete],
        "coupons": [.get, .post], "coupons/*": [.get, .delete],
        "events": [.get], "events/*": [.get],
        "invoiceitems": [.get, .post], "invoiceitems/*": [.get, .post, .delete],
        "invoices": [.get, .post], "invoices/*": [.get, .post], "invoices/*/pay": [.post],
        "plans": [.get, .post], "plans/*": [.get, .post, .delete],
        "tokens": [.post], "tokens/*": [.get],
    ]

    /// - Parameter parameters: `method`, `path` and `form`, a list of names and values.
    /// - Throws: `.validationError` (142) for another method or path, a form that is none or too large, and a card's
    ///   number, which must not come to the shop.
    package init(_ parameters: JSON) throws {
        guard let method = parameters["method"]?.stringValue.flatMap(OutboundRequest.Method.init),
            let path = Self.texts(parameters["path"]), (1...3).contains(path.count), path.allSatisfy(Self.isSegment),
            let route = Self.route(of: path), Self.routes[route]?.contains(method) == true
        else {
            throw ParseError(.validationError, "The module for Stripe has no method and path of this kind.")
        }
        if CardNumber.isPresent(in: parameters) { throw CardNumber.refused }
        self.method = method
        self.path = path
        self.route = route
        form = try Self.form(parameters["form"])
    }

    /// Escaped, as `/v1/charges/ch_1/refund`.
    package var escapedPath: String { "/v1/" + path.map(StripeForm.escaped).joined(separator: "/") }

    private static func route(of path: [String]) -> String? {
        path.count == 1 ? path.first : ([path[0], "*"] + path.dropFirst(2)).joined(separator: "/")
    }

    /// Nothing that a server on the way could take for another path: escaped slashes are slashes to some.
    private static func isSegment(_ text: String) -> Bool {
        segmentBytes.contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && !separators.contains($0) }
    }

    private static let separators = Array("/\\%".utf8)

    private static func form(_ json: JSON?) throws -> StripeForm {
        guard let json, !json.isNull else { return [:] }
        guard let fields = json.arrayValue, fields.count <= fieldsMax else { throw unusable }
        var form: StripeForm = [:]
        var bytes = 0
        for field in fields {
            guard let pair = texts(field), pair.count == 2, !pair[0].isEmpty else { throw unusable }
            bytes += pair[0].utf8.count + pair[1].utf8.count
            guard bytes <= formBytesMax else { throw unusable }
            form.add(pair[0], pair[1])
        }
        return form
    }

    private static let unusable = ParseError(
        .validationError,
        "form must be a list of up to \(fieldsMax) names with their texts, \(formBytesMax / 1024) KiB in all.")

    /// Nil unless it is a list of texts.
    private static func texts(_ json: JSON?) -> [String]? {
        guard let elements = json?.arrayValue else { return nil }
        let texts = elements.compactMap(\.stringValue)
        return texts.count == elements.count ? texts : nil
    }
}
