import Foundation
import NIOCore
import NIOHTTP1
import ParseProtocol

/// A Parse client for tests. It sends exactly the given request and returns the answer unmodified.
package struct ParseClient: Sendable {
    /// How credentials and options are transferred (PARSE_PROTOCOL section 1).
    package enum Style: Sendable {
        /// Like the PHP and Swift SDKs: headers, real verbs, options in the query string.
        case headers
        /// Like the JavaScript SDK: `POST` with `text/plain` and everything in one JSON body.
        case tunnelled
    }

    package struct Answer: Sendable {
        package let status: Int
        package let headers: HTTPHeaders
        package let body: [UInt8]
        /// The body as JSON; null when it is not.
        package let json: JSON

        /// The error code of a failure.
        package var code: Int? { json["code"]?.intValue.map(Int.init) }
        package var text: String { String(decoding: body, as: UTF8.self) }
        package subscript(key: String) -> JSON? { json[key] }
        /// The objects of a find.
        package var results: [JSON] { json["results"]?.arrayValue ?? [] }
        /// The result of a function.
        package var result: JSON { json["result"] ?? .null }
        package var objectId: String { json["objectId"]?.stringValue ?? "" }
    }

    package var url: String
    package var applicationId: String? = "satchel"
    package var masterKey: String?
    package var sessionToken: String?
    package var installationId: String?
    package var style = Style.headers
    /// Longer than the gateway's own deadlines, so that the server times out first.
    package var timeout = TimeAmount.seconds(40)

    package init(_ suite: Suite, masterKey: String? = nil, sessionToken: String? = nil, style: Style = .headers) {
        url = suite.url
        self.masterKey = masterKey
        self.sessionToken = sessionToken
        self.style = style
    }

    /// A client with the master key.
    package static func master(_ suite: Suite) -> ParseClient { ParseClient(suite, masterKey: Suite.masterKey) }

    // MARK: - Requests

    /// Sends a request in the client's style.
    /// - Parameters:
    ///   - path: relative to the mount, `/classes/Product`.
    ///   - options: the query's options; objects are sent as JSON.
    package func call(
        _ method: HTTPMethod, _ path: String, _ body: JSON? = nil, options: [String: JSON] = [:]
    ) async throws -> Answer {
        switch style {
        case .headers:
            let query = options.isEmpty ? "" : "?" + Self.queryText(options)
            return try await send(
                method, path + query,
                headers: credentials + (body == nil ? [] : [("Content-Type", "application/json")]),
                body: body?.serialized)
        case .tunnelled:
            var members = (body?.objectValue ?? [:]).merging(options) { _, option in option }
            if method != .POST { members["_method"] = .string(method.rawValue) }
            members["_ApplicationId"] = applicationId.map(JSON.string)
            members["_MasterKey"] = masterKey.map(JSON.string)
            members["_SessionToken"] = sessionToken.map(JSON.string)
            members["_InstallationId"] = installationId.map(JSON.string)
            members["_ClientVersion"] = "js5.3.0"
            return try await send(
                .POST, path, headers: [("Content-Type", "text/plain")], body: JSON.object(members).serialized)
        }
    }

    /// Sends exactly these bytes and headers, without adding credentials.
    package func send(
        _ method: HTTPMethod, _ path: String, headers: [(String, String)] = [], body: [UInt8]? = nil
    ) async throws -> Answer {
        let answer = try await HTTPConnections.send(
            method, url + path, headers: HTTPHeaders(headers), body: body ?? [], timeout: timeout)
        let bytes = answer.bytes
        return Answer(
            status: Int(answer.head.status.code), headers: answer.head.headers, body: bytes,
            json: (try? JSON(parsing: bytes)) ?? .null)
    }

    package func get(_ path: String, _ options: [String: JSON] = [:]) async throws -> Answer {
        try await call(.GET, path, options: options)
    }

    package func find(
        _ className: String, _ condition: JSON = [:], _ options: [String: JSON] = [:]
    ) async throws -> Answer {
        try await call(.GET, "/classes/\(className)", options: options.merging(["where": condition]) { $1 })
    }

    /// All matching objects, ordered by id, from as many pages as needed.
    package func findAll(_ className: String, _ condition: [String: JSON] = [:]) async throws -> [JSON] {
        let pageMax = 1000
        var found: [JSON] = []
        while true {
            let after = found.last.map { ["objectId": ["$gt": .string($0.objectId)]] as [String: JSON] } ?? [:]
            let page: [String: JSON] = ["order": "objectId", "limit": .int(Int64(pageMax))]
            let answer = try await find(className, .object(condition.merging(after) { $1 }), page)
            guard answer.status == 200 else { throw Unexpected("GET \(className)", answer) }
            found += answer.results
            if answer.results.count < pageMax { return found }
        }
    }

    package func create(_ className: String, _ object: JSON) async throws -> Answer {
        try await call(.POST, "/classes/\(className)", object)
    }

    package func run(_ function: String, _ parameters: JSON = [:]) async throws -> Answer {
        try await call(.POST, "/functions/\(function)", parameters)
    }

    /// The headers of the client's credentials.
    package var credentials: [(String, String)] {
        [
            ("X-Parse-Application-Id", applicationId), ("X-Parse-Master-Key", masterKey),
            ("X-Parse-Session-Token", sessionToken), ("X-Parse-Installation-Id", installationId),
        ].compactMap { name, value in value.map { (name, $0) } }
    }

    /// Options as a query string: strings unquoted, everything else as JSON.
    package static func queryText(_ options: [String: JSON]) -> String {
        let unreserved = CharacterSet(
            charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
        return options.sorted { $0.key < $1.key }.map { name, value in
            let text = value.stringValue ?? value.serializedText
            return "\(name)=\(text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "")"
        }.joined(separator: "&")
    }
}
