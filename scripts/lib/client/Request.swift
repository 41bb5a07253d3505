import Foundation
import NIOCore
import ParseProtocol

/// A request, rendered once to bytes that can be sent repeatedly.
package struct Request: Sendable {
    package var method: String
    /// Relative to the mount, for example `/classes/Product`.
    package var path: String
    /// The query's options; values that are not strings are sent as JSON.
    package var query: [String: JSON]
    package var body: JSON?
    package var headers: [String: String]

    /// A request without extra headers; rendering adds the headers of the address and the application.
    package init(method: String = "GET", path: String, query: [String: JSON] = [:], body: JSON? = nil) {
        (self.method, self.path, self.query, self.body) = (method, path, query, body)
        headers = [:]
    }

    /// A query in the body of a POST, as the JavaScript SDK sends it: for queries that are too long for a URL.
    package static func query(_ path: String, _ options: [String: JSON]) -> Request {
        Request(method: "POST", path: path, body: .object(options.merging(["_method": "GET"]) { own, _ in own }))
    }

    /// A POST of JSON.
    package static func post(_ path: String, _ body: JSON) -> Request {
        Request(method: "POST", path: path, body: body)
    }

    /// The request rendered for the site.
    package func bytes(for site: some Site) -> ByteBuffer {
        var content: [UInt8]?
        if let body { content = body.serialized }
        return Self.bytes(
            for: site, method: method, path: path + query.queryText, headers: headers, content: content,
            type: "application/json")
    }

    /// The head of a request, and the given part of its content.
    /// - Parameter length: the announced length; by default the length of `content`.
    package static func bytes(
        for site: some Site, method: String, path: String, headers: [String: String] = [:], content: [UInt8]?,
        type: String, length: Int? = nil, isAuthorized: Bool = true
    ) -> ByteBuffer {
        var head = "\(method) \(site.mount)\(path) HTTP/1.1\r\nHost: \(site.host):\(site.port)\r\n"
        if isAuthorized { head += "X-Parse-Application-Id: \(site.applicationId)\r\n" }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let content { head += "Content-Type: \(type)\r\nContent-Length: \(length ?? content.count)\r\n" }
        var buffer = ByteBuffer(string: head + "\r\n")
        if let content { buffer.writeBytes(content) }
        return buffer
    }
}
