import HTTPTypes
import ProcessKit

/// The web pages that may use the shop from a browser (CORS): all pages, or the origins of `SATCHEL_ALLOW_ORIGINS`.
package struct OriginRule: Sendable {
    /// Nil for all pages.
    private let allowed: Set<String>?

    /// - Parameter text: a comma list of origins such as `https://shop.example`, or `*`.
    /// - Throws: for an invalid origin, which a browser would never send.
    package init(_ text: String) throws {
        guard text != "*" else {
            allowed = nil
            return
        }
        var origins: Set<String> = []
        for part in text.split(separator: ",") {
            let origin = part.filter { $0 != " " }
            let host = ["https://", "http://"].first(where: origin.hasPrefix).map { origin.dropFirst($0.count) }
            guard let host, !host.isEmpty, !host.contains("/"), !host.contains("*") else {
                throw StartupProblem(
                    "SATCHEL_ALLOW_ORIGINS: \"\(part)\" is no origin, such as https://shop.example.")
            }
            origins.insert(origin)
        }
        allowed = origins
    }

    /// Whether a page may open a WebSocket, for which browsers send no preflight. Other clients send no origin.
    package func admits(_ origin: String?) -> Bool {
        guard let allowed, let origin else { return true }
        return allowed.contains(origin)
    }

    /// Whether all pages get the same headers.
    var isForAll: Bool { allowed == nil }

    /// Adds the headers of a response to a page of `origin`.
    package func apply(to headers: inout HTTPFields, origin: String?) {
        guard let allowed else {
            headers[.accessControlAllowOrigin] = "*"
            return
        }
        headers[.vary] = "Origin"
        if let origin, allowed.contains(origin) { headers[.accessControlAllowOrigin] = origin }
    }
}
