import Foundation
import NIOHTTP1
import ParseProtocol

/// A browser without scripts: follows no redirection by itself, keeps cookies, and sends forms.
package final class Browser {
    package struct Page {
        package let status: Int
        package let html: String
        package let headers: HTTPHeaders
        /// The path of a redirection.
        package var location: String? { headers.first(name: "Location") }

        /// The value of a form's field.
        package func field(_ name: String) -> String? {
            text(after: "name=\"\(name)\" value=\"")
        }

        /// The first link to a path that begins so.
        package func link(_ start: String) -> String? {
            text(after: "href=\"\(start)").map { start + $0 }
        }

        /// Up to the next quote, with the characters that HTML escapes.
        private func text(after start: String) -> String? {
            guard let found = html.range(of: start) else { return nil }
            return String(html[found.upperBound...].prefix { $0 != "\"" }).replacing("&amp;", with: "&")
        }
    }

    private var origin: String
    /// Sent with every request.
    private var more: [(String, String)] = []
    package var cookies: [String: String] = [:]
    package var languages = "en"

    package init(_ suite: Suite) { origin = String(suite.url.dropLast("/parse".count)) }

    /// Asks a gateway from now on, past the balancer, which appends the client's address.
    package func use(gateway: Int, of suite: Suite) {
        origin = String(suite.url(ofGateway: gateway).dropLast("/parse".count))
        more = [("X-Forwarded-For", "127.0.0.1")]
    }

    package func get(
        _ path: String, accept: String = "text/html", headers: [(String, String)] = []
    ) async throws -> Page {
        try await send(.GET, path, [("Accept", accept), ("Sec-Fetch-Site", "same-origin")] + headers, [])
    }

    package func head(_ path: String) async throws -> Page {
        try await send(.HEAD, path, [("Accept", "text/html")], [])
    }

    /// The page of a path, or of the address that the path has moved to.
    package func open(_ path: String) async throws -> Page {
        let page = try await get(path)
        guard page.status == 301, let moved = page.location else { return page }
        return try await get(moved)
    }

    /// - Parameter site: where the page with the form is, as browsers say it.
    package func post(
        _ path: String, _ form: [String: String], from site: String = "same-origin"
    ) async throws -> Page {
        let body = form.map { "\($0.key.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
        return try await send(
            .POST, path, [("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", site)],
            Array(body.utf8))
    }

    /// Sends a form and follows its redirection, as browsers do.
    package func submit(_ path: String, _ form: [String: String]) async throws -> Page {
        let page = try await post(path, form)
        guard page.status == 303, let next = page.location else { return page }
        return try await get(next)
    }

    /// Sends a form with a file.
    package func upload(_ path: String, _ file: [UInt8], type: String) async throws -> Page {
        let boundary = "----boundary"
        let head =
            "--\(boundary)\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a\"\r\n"
            + "Content-Type: \(type)\r\n\r\n"
        return try await send(
            .POST, path,
            [("Content-Type", "multipart/form-data; boundary=\(boundary)"), ("Sec-Fetch-Site", "same-origin")],
            Array(head.utf8) + file + Array("\r\n--\(boundary)--\r\n".utf8))
    }

    /// Sends a request with these headers, the cookies and the languages.
    package func send(
        _ method: HTTPMethod, _ path: String, _ headers: [(String, String)], _ body: [UInt8] = []
    ) async throws -> Page {
        var headers = HTTPHeaders(headers + more + [("Accept-Language", languages)])
        if !cookies.isEmpty {
            headers.add(name: "Cookie", value: cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; "))
        }
        let answer = try await HTTPConnections.send(
            method, origin + path, headers: headers, body: body, timeout: .seconds(60))
        for cookie in answer.head.headers["Set-Cookie"] {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            cookies[String(pair[0])] = pair[1].isEmpty ? nil : String(pair[1])
        }
        return Page(
            status: Int(answer.head.status.code), html: String(decoding: answer.bytes, as: UTF8.self),
            headers: answer.head.headers)
    }
}
