import Foundation
import HTTPTypes
import NIOCore
import ParseProtocol

/// A request of the Parse protocol, independent of its transport: HTTP, a tunnelled body or a batch.
struct ParseRequest: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    var method: Method
    /// A HEAD request, answered like a GET without its body.
    var isHead = false
    /// Decoded components. They include the mount until `RequestMachine` removes it.
    var path: [Substring]
    /// The id and the limits that every call to a service for this request has.
    var call: CallContext
    let clientAddress: SocketAddress?
    /// `Network.clientNetwork` of `clientAddress`.
    let network: String
    var credentials = Credentials()
    /// The raw query string, with any method.
    var query: String?
    /// The body as received.
    var body: [UInt8] = []
    /// The headers as received; empty inside a batch.
    var headers: HTTPFields = [:]
    /// The host that the client named, with its port; nil inside a batch.
    var host: String?
    /// The body as an object, after credentials were removed from it, or from a batch or a form; then `body` is stale.
    var tunnelled: [String: JSON]?
    /// Whether `tunnelled` was a form.
    var isForm = false
    /// Whether the usage statistics count the request: those under the mount whose routes need keys.
    var isCounted = false
    /// The client's context for webhooks, an object; requests of a batch have the batch's.
    var context: JSON?
    /// The hooks that may affect the request; nil before `ParseRouter.call`, and when there are none at all.
    var hooks: HookScope?
    /// The state that an earlier stage prepared for a read of objects.
    var prepared: PreparedRead?
    /// Whether its file is the photo of the account, from the storefront (`FileNames.isAccountPhoto`).
    var isAccountPhoto = false
    /// The user whose view of the objects an operator requests.
    var viewer: Viewer?
    /// True inside a batch, where another batch is rejected.
    var isInBatch = false
    /// The number of enclosing calls of cloud code; 0 for a client's request.
    var codeDepth = 0

    init(method: Method, path: [Substring], call: CallContext, clientAddress: SocketAddress?) {
        self.method = method
        self.path = path
        self.call = call
        self.clientAddress = clientAddress
        network = Network.clientNetwork(clientAddress)
    }

    /// A request that cloud code makes on behalf of a client.
    /// - Parameters:
    ///   - network: the client's, as `Network.clientNetwork`.
    ///   - depth: the number of enclosing calls of cloud code, from 1.
    init(method: Method, path: [Substring], call: CallContext, ofCodeFor network: String, depth: Int) {
        self.method = method
        self.path = path
        self.call = call
        clientAddress = nil
        self.network = network
        codeDepth = depth
    }

    /// The id in logs and in the response.
    var requestId: String { call.trace }

    /// The same request with another context for its calls, and for those of its hooks.
    func calling(in context: CallContext) -> ParseRequest {
        var request = self
        request.call = context
        request.hooks = hooks?.calling(in: context)
        return request
    }

    /// A request of this batch.
    /// - Parameter path: as written by the client or the code.
    /// - Throws: `.invalidJSON` (107) for a path outside the mount.
    func part(_ method: Method, _ path: String, under mount: Mount) throws(ParseError) -> ParseRequest {
        guard codeDepth > 0 else {
            return ParseRequest(
                method: method, path: try mount.path(inBatch: path), call: call, clientAddress: clientAddress)
        }
        return ParseRequest(
            method: method, path: try mount.path(ofCode: path), call: call, ofCodeFor: network, depth: codeDepth)
    }

    /// The components of a path; empty ones (a trailing slash) are dropped.
    /// - Throws: `.invalidJSON` (107) when it cannot be decoded.
    static func path(_ text: String) throws(ParseError) -> [Substring] {
        // Split as bytes: splitting a String searches for grapheme clusters.
        let parts = text.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
        guard text.utf8.contains(UInt8(ascii: "%")) else { return parts }
        var components: [Substring] = []
        for part in parts {
            guard let decoded = part.removingPercentEncoding else {
                throw ParseError(.invalidJSON, "The path is not valid.")
            }
            try decoded.checkMarks()
            components.append(decoded[...])
        }
        return components
    }

    /// The JSON text for a service: the body as sent, or the rest of a tunnelled one. An empty body counts as `{}`.
    var document: [UInt8] {
        if let tunnelled { return JSON.object(tunnelled).serialized }
        return body.isEmpty ? Array("{}".utf8) : body
    }

    /// The body as an object.
    /// - Throws: `.invalidJSON` (107).
    var object: [String: JSON] {
        get throws(ParseError) {
            if let tunnelled { return tunnelled }
            guard !body.isEmpty else { return [:] }
            guard case .object(let members) = try JSON(clientText: body) else {
                throw ParseError(.invalidJSON, "The body must be a JSON object.")
            }
            return members
        }
    }

    /// The query options of the body (usually a tunnelled one) and of the query string, which takes precedence (Unity
    /// sends both). Each value of a query string is JSON if it parses, and text otherwise.
    /// - Parameter asTexts: leaves the values of a query string undecoded, for passwords that look like numbers.
    func options(asTexts: Bool = false) throws(ParseError) -> [String: JSON] {
        let inBody = tunnelled != nil || method == .get ? try object : [:]
        guard let query, !query.isEmpty else { return inBody }
        return inBody.merging(try Self.options(Substring(query).utf8, asTexts: asTexts)) { _, inQuery in inQuery }
    }

    private static func options(
        _ query: Substring.UTF8View, asTexts: Bool
    ) throws(ParseError) -> [String: JSON] {
        var options: [String: JSON] = [:]
        var lists: [String: [String]] = [:]
        for (name, text) in try orderedPairs(query) {
            let isText = asTexts || textOptions.contains(name)
            let value = isText ? .string(text) : (try? JSON(parsing: text)) ?? .string(text)
            // `keys=a&keys=b` is joined to one list.
            if listOptions.contains(name), case .string(let list) = value {
                lists[name, default: []].append(list)
            } else {
                lists[name] = nil
            }
            options[name] = value
        }
        for (name, list) in lists where list.count > 1 { options[name] = .string(list.joined(separator: ",")) }
        return options
    }

    /// Options that are always text: JSON that is decoded later, and objectIds that may look like numbers.
    private static let textOptions: Set<String> = ["where", "after"]
    /// Options that are lists of names.
    private static let listOptions: Set<String> = ["keys", "excludeKeys", "include", "order"]

    /// The body of a function with the parameters of the query string, which take precedence.
    /// - Parameter asTexts: a value of the query string is a text, and a repeated name gives a list of texts, as Parse
    ///   Server passes them to cloud code. Otherwise a value is JSON if it parses, for functions that expect a number.
    /// - Throws: `.invalidJSON` (107).
    func parameters(asTexts: Bool) throws(ParseError) -> [String: JSON] {
        guard let query, !query.isEmpty else { return try object }
        let inQuery =
            try asTexts ? Self.texts(Substring(query).utf8) : Self.options(Substring(query).utf8, asTexts: false)
        return try object.merging(inQuery) { _, inQuery in inQuery }
    }

    private static func texts(_ query: Substring.UTF8View) throws(ParseError) -> [String: JSON] {
        var texts: [String: [JSON]] = [:]
        for (name, text) in try orderedPairs(query) { texts[name, default: []].append(.string(text)) }
        return texts.mapValues { $0.count == 1 ? $0[0] : .array($0) }
    }
}
