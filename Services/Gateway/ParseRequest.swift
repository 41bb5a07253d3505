import Foundation
import HTTPTypes
import Hummingbird
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
    private(set) var isForm = false
    /// True once the path is known to be one under the mount; such requests are in the statistics.
    var isCounted = false
    /// What the client hands to webhooks, an object; a batch's requests have the batch's.
    var context: JSON?
    /// The webhooks that may have a say in it; nil before its route is known, and while there are none at all.
    var hooks: HookScope?
    /// True inside a batch, where another batch is refused.
    var isInBatch = false

    init(method: Method, path: [Substring], requestId: String, clientAddress: SocketAddress?) {
        self.method = method
        self.path = path
        self.requestId = requestId
        self.clientAddress = clientAddress
        network = Network.customerName(clientAddress)
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

    /// Options that are text whatever they look like: JSON that is read later, and objectIds that may look like numbers.
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

    // MARK: - Forms

    /// Reads a body that is a form (`username=ann&password=x`). Curl says of JSON, too, that it is one: then it begins
    /// like JSON.
    ///
    /// A form has texts only, so that a password of digits stays one; what is an object or an array in JSON becomes it.
    /// - Throws: `.invalidJSON` (107) when it cannot be decoded.
    mutating func readForm() throws(ParseError) {
        guard tunnelled == nil, Self.isForm(headers[.contentType]), body.contains(UInt8(ascii: "=")),
            let first = body.first(where: { !Self.blanks.contains($0) }), !Self.jsonOpenings.contains(first)
        else { return }
        guard let text = String(validating: body, as: UTF8.self) else {
            throw ParseError(.invalidJSON, "The body is not valid UTF-8.")
        }
        tunnelled = try Self.form(text)
        isForm = true
    }

    private static func form(_ text: String) throws(ParseError) -> [String: JSON] {
        var members: [String: JSON] = [:]
        for (name, value) in try orderedPairs(Substring(text).utf8) {
            let isJSON = !secretTexts.contains(name) && value.utf8.first.map(jsonOpenings.contains) == true
            members[name] = isJSON ? (try? JSON(parsing: value)) ?? .string(value) : .string(value)
        }
        return members
    }

    private static func isForm(_ contentType: String?) -> Bool {
        contentType?.lowercased().hasPrefix("application/x-www-form-urlencoded") ?? false
    }

    private static let blanks = Array(" \t\r\n".utf8)
    /// What an object, an array and a text of JSON begin with.
    private static let jsonOpenings = Array("{[\"".utf8)
    /// What people choose and may begin with anything.
    private static let secretTexts: Set<String> = ["username", "password", "email"]

    // MARK: - Query strings

    /// Names and values of a query string or a form (application/x-www-form-urlencoded); of a repeated name the last value counts.
    /// - Throws: `.invalidJSON` (107) when it cannot be decoded.
    static func pairs(_ text: Substring.UTF8View) throws(ParseError) -> [String: String] {
        Dictionary(try orderedPairs(text).map { ($0, $1) }) { _, last in last }
    }

    /// The same in the order of the text.
    /// - Throws: `.invalidJSON` (107) when it cannot be decoded.
    static func orderedPairs(_ text: Substring.UTF8View) throws(ParseError) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for pair in text.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(parts[0]), let value = parts.count > 1 ? decoded(parts[1]) : "" else {
                throw ParseError(.invalidJSON, "The query string is not valid.")
            }
            pairs.append((name, value))
        }
        return pairs
    }

    /// A name or value of a query string (application/x-www-form-urlencoded: percent escapes, and `+` for a space), or nil when an
    /// escape or the UTF-8 is broken. By hand, because Foundation leaves the `+` and replacing it costs more than all the rest.
    private static func decoded(_ text: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = iterator.next().flatMap(hexValue), let low = iterator.next().flatMap(hexValue) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// The answer to a `ParseRequest`.
struct ParseResponse: Sendable {
    var status: Int
    var body: [UInt8]
    /// Sent instead of `body` when it is set, a part at a time: files.
    var stream: ResponseBody?
    var location: String?
    var retryAfterSeconds: Int?
    /// What else the answer says; they replace headers that every answer has, such as the content type.
    var headers: HTTPFields = [:]

    init(status: Int = 200, body: [UInt8], location: String? = nil) {
        self.status = status
        self.body = body
        self.location = location
    }

    /// A page for a person's browser.
    init(status: Int = 200, html: String) {
        self.init(status: status, body: Array(html.utf8))
        headers[.contentType] = "text/html; charset=utf-8"
    }

    init(status: Int = 200, _ json: JSON, location: String? = nil) {
        self.init(status: status, body: json.serialized, location: location)
    }
}
