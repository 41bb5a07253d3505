import Foundation
import HTTPTypes
import NIOCore
import ParseProtocol

/// A request of the Parse protocol, freed from its transport: from HTTP, from a tunnelled body, or from a batch.
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
    /// Decoded components, the mount included.
    var path: [Substring]
    let requestId: String
    let clientAddress: SocketAddress?
    /// `Network.customerName` of it.
    let network: String
    var credentials = Credentials()
    /// The raw query string of a GET.
    var query: String?
    /// The body as it came.
    var body: [UInt8] = []
    /// The headers as they came; empty inside a batch.
    var headers: HTTPFields = [:]
    /// The body as an object, when credentials were taken out of it (or it came in a batch, or as a form); then `body`
    /// is stale.
    var tunnelled: [String: JSON]?
    /// Whether `tunnelled` was a form.
    var isForm = false
    /// True once the path is known to be one under the mount; such requests are in the statistics.
    var isCounted = false
    /// The client's context for webhooks, an object; a batch's requests have the batch's.
    var context: JSON?
    /// The webhooks that may have a say in it; nil before its route is known, and while there are none at all.
    var hooks: HookScope?
    /// A read of objects, or a download, that was begun on the way of plain reads.
    var looked: LookedRead?
    /// Somebody else whose view of the objects an operator asks for.
    var viewer: Viewer?
    /// True inside a batch, where another batch is refused.
    var isInBatch = false
    /// The calls of cloud code that it is made inside of; 0 for a client's.
    var codeDepth = 0

    init(method: Method, path: [Substring], requestId: String, clientAddress: SocketAddress?) {
        self.method = method
        self.path = path
        self.requestId = requestId
        self.clientAddress = clientAddress
        network = Network.customerName(clientAddress)
    }

    /// A request that cloud code makes while it works for a client.
    /// - Parameters:
    ///   - network: the client's, as `Network.customerName`.
    ///   - depth: the calls of cloud code that it is made inside of, from 1.
    init(method: Method, path: [Substring], requestId: String, ofCodeFor network: String, depth: Int) {
        self.method = method
        self.path = path
        self.requestId = requestId
        clientAddress = nil
        self.network = network
        codeDepth = depth
    }

    /// A request of this batch.
    /// - Parameter path: as the client or the code wrote it.
    /// - Throws: `.invalidJSON` (107) for a path that leads elsewhere.
    func part(_ method: Method, _ path: String, under mount: Mount) throws(ParseError) -> ParseRequest {
        guard codeDepth > 0 else {
            return ParseRequest(
                method: method, path: try mount.path(inBatch: path), requestId: requestId, clientAddress: clientAddress)
        }
        return ParseRequest(
            method: method, path: try mount.path(ofCode: path), requestId: requestId, ofCodeFor: network,
            depth: codeDepth)
    }

    /// The components of a path; empty ones (a trailing slash) do not count.
    /// - Throws: `.invalidJSON` (107) when it cannot be decoded.
    static func path(_ text: String) throws(ParseError) -> [Substring] {
        // Split as bytes: splitting a String looks for grapheme clusters.
        let parts = text.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
        guard text.utf8.contains(UInt8(ascii: "%")) else { return parts }
        var components: [Substring] = []
        for part in parts {
            guard let decoded = part.removingPercentEncoding else {
                throw ParseError(.invalidJSON, "The path is not valid.")
            }
            components.append(decoded[...])
        }
        return components
    }

    /// The JSON text to hand to a service: the body as the client sent it, or what was left of a tunnelled one.
    /// An empty body counts as `{}`.
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

    /// Query options: of the body (a tunnelled one, as a rule) and of the query string, which wins (Unity sends both).
    /// Each value of a query string is JSON if it parses and text if not.
    /// - Parameter asTexts: leaves a query string's values as they are, for passwords that look like numbers.
    func options(asTexts: Bool = false) throws(ParseError) -> [String: JSON] {
        let inBody = tunnelled != nil || method == .get ? try object : [:]
        guard let query, !query.isEmpty else { return inBody }
        return inBody.merging(try Self.options(Substring(query).utf8, asTexts: asTexts)) { _, inQuery in inQuery }
    }

    private static func options(
        _ query: Substring.UTF8View, asTexts: Bool
    ) throws(ParseError) -> [String: JSON] {
        var options: [String: JSON] = [:]
        for (name, text) in try orderedPairs(query) {
            let isText = asTexts || textOptions.contains(name)
            let value = isText ? .string(text) : (try? JSON(parsing: text)) ?? .string(text)
            // `keys=a&keys=b` is the list of both.
            if listOptions.contains(name), case .string(let first)? = options[name], case .string(let more) = value {
                options[name] = .string("\(first),\(more)")
            } else {
                options[name] = value
            }
        }
        return options
    }

    /// Options that are text whatever they look like: JSON that is read later, and objectIds that may look like
    /// numbers.
    private static let textOptions: Set<String> = ["where", "after"]
    /// Options that are lists of names.
    private static let listOptions: Set<String> = ["keys", "excludeKeys", "include", "order"]

    /// The body of a function with the parameters of the query string, which win.
    /// - Parameter asTexts: a value of the query string is a text, and of a repeated name a list of texts: what Parse
    ///   Server gives to cloud code. Otherwise it is JSON if it parses, for functions that ask for a number.
    /// - Throws: `.invalidJSON` (107).
    func parameters(asTexts: Bool) throws(ParseError) -> [String: JSON] {
        guard let query, !query.isEmpty else { return try object }
        let inQuery =
            try asTexts ? Self.texts(Substring(query).utf8) : Self.options(Substring(query).utf8, asTexts: false)
        return try object.merging(inQuery) { _, inQuery in inQuery }
    }

    private static func texts(_ query: Substring.UTF8View) throws(ParseError) -> [String: JSON] {
        var texts: [String: JSON] = [:]
        for (name, text) in try orderedPairs(query) {
            switch texts[name] {
            case nil: texts[name] = .string(text)
            case .array(let first)?: texts[name] = .array(first + [.string(text)])
            case let first?: texts[name] = .array([first, .string(text)])
            }
        }
        return texts
    }
}
