import Foundation
import NIOCore
import ParseProtocol

/// A request, rendered once to bytes that are sent as often as wanted.
struct Request: Sendable {
    var method = "GET"
    /// Relative to the mount, for example `/classes/Product`.
    var path: String
    var query: [String: JSON] = [:]
    var body: JSON?
    var headers: [String: String] = [:]

    /// A query in the body of a POST, as the JavaScript SDK sends it: for those that no URL could hold.
    static func query(_ path: String, _ options: [String: JSON]) -> Request {
        Request(method: "POST", path: path, body: .object(options.merging(["_method": "GET"]) { own, _ in own }))
    }

    static func post(_ path: String, _ body: JSON) -> Request { Request(method: "POST", path: path, body: body) }

    func bytes(for target: Target) -> ByteBuffer {
        var content: [UInt8]?
        if let body { content = body.serialized }
        return Self.bytes(
            for: target, method: method, path: path + queryText, headers: headers, content: content,
            type: "application/json")
    }

    /// The head of a request, and as much of its content as there is.
    /// - Parameter length: the length that is announced; that of `content` unless told.
    static func bytes(
        for target: Target, method: String, path: String, headers: [String: String] = [:], content: [UInt8]?,
        type: String, length: Int? = nil, isAuthorized: Bool = true
    ) -> ByteBuffer {
        var head = "\(method) \(target.mount)\(path) HTTP/1.1\r\nHost: \(target.host):\(target.port)\r\n"
        if isAuthorized { head += "X-Parse-Application-Id: \(target.applicationId)\r\n" }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let content { head += "Content-Type: \(type)\r\nContent-Length: \(length ?? content.count)\r\n" }
        var buffer = ByteBuffer(string: head + "\r\n")
        if let content { buffer.writeBytes(content) }
        return buffer
    }

    private static let unreserved = CharacterSet(charactersIn: "-._~").union(.alphanumerics.intersection(ascii))
    private static let ascii = CharacterSet(charactersIn: Unicode.Scalar(0)...Unicode.Scalar(127))

    private var queryText: String {
        guard !query.isEmpty else { return "" }
        let pairs = query.sorted { $0.key < $1.key }.map { name, value in
            let text = value.stringValue ?? value.serializedText
            return "\(name)=\(text.addingPercentEncoding(withAllowedCharacters: Self.unreserved) ?? "")"
        }
        return "?" + pairs.joined(separator: "&")
    }
}
