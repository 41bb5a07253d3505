import HTTPTypes
import ProcessKit

/// The web pages that may use the shop from a browser (CORS): every one, or those of `SATCHEL_ALLOW_ORIGINS`.
package struct OriginRule: Sendable {
    /// Nil for every page.
    private let allowed: Set<String>?

    /// - Parameter text: a comma list of origins such as `https://shop.example`, or `*`.
    /// - Throws: for what is no origin; a browser would never send it.
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

    /// Whether a page may open a connection that browsers do not ask about beforehand, a WebSocket. What is no browser
    /// names no page.
    package func admits(_ origin: String?) -> Bool {
        guard let allowed, let origin else { return true }
        return allowed.contains(origin)
    }

    /// Whether every page hears the same.
    var isForAll: Bool { allowed == nil }

    /// Adds what an answer to a page from `origin` says.
    package func apply(to headers: inout HTTPFields, origin: String?) {
        guard let allowed else {
            headers[.accessControlAllowOrigin] = "*"
            return
        }
        headers[.vary] = "Origin"
        if let origin, allowed.contains(origin) { headers[.accessControlAllowOrigin] = origin }
    }
}
