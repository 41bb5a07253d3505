import Outbound
import ParseProtocol
import ServiceKit

/// A Stripe request that cloud code makes through hosted Parse's module: restricted to that module's paths, with a size
/// limit.
package struct StripeRequest: Sendable {
    /// `GET`, `POST` or `DELETE`.
    package let method: OutboundRequest.Method
    /// Relative to `/v1` and not escaped, such as `charges`, `ch_1`, `refund`.
    package let path: [String]
    /// The path with `*` for ids, such as `charges/*/refund`.
    package let route: String
    /// In the module's order, with brackets for nested values.
    package let form: StripeForm

    /// More than Stripe accepts in one form with all its metadata.
    private static let formBytesMax = 64 * 1024
    private static let fieldsMax = 500
    private static let segmentBytes = 1...255

    /// The paths that the module has methods for. The shop's key reaches no other path of Stripe's API.
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
    /// - Throws: `.validationError` (142) for another method or path, for a form that is invalid or too large, and for
    ///   a card number, which must not reach the shop.
    package init(_ parameters: JSON) throws {
        guard let method = parameters["method"]?.stringValue.flatMap(OutboundRequest.Method.init),
            let path = Self.texts(parameters["path"]), (1...3).contains(path.count), path.allSatisfy(Self.isSegment),
            let route = Self.route(of: path), Self.routes[route]?.contains(method) == true
        else {
            throw ParseError(.validationError, "The Stripe module has no request with this method and path.")
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

    /// Rejects segments that a server on the route could read as another path: some treat escaped slashes as slashes.
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

    /// Nil unless it is an array of strings.
    private static func texts(_ json: JSON?) -> [String]? {
        guard let elements = json?.arrayValue else { return nil }
        let texts = elements.compactMap(\.stringValue)
        return texts.count == elements.count ? texts : nil
    }
}
