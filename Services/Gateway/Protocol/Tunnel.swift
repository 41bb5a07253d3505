import ParseProtocol

/// A tunnelled request: a body with credentials, options and the real verb, whatever its content type (PARSE_PROTOCOL
/// section 1.2).
struct Tunnel: Sendable {
    /// The shop's application id.
    let applicationId: String

    /// Removes credentials, options and the verb from a request's body.
    /// - Parameter request: its path without the mount.
    /// - Returns: whether the request now has another verb.
    /// - Throws: `.invalidJSON` (107) for an invalid body or an invalid verb.
    func open(_ request: inout ParseRequest) throws(ParseError) -> Bool {
        let isFile = request.path.first == "files"
        if Self.isImport(request.path) { return false }
        if !isFile { try request.readForm() }
        guard request.method == .post,
            // Another id may be a proxy's or an older app's: then the body's id counts.
            request.credentials.applicationId != applicationId || (!isFile && mayOverrideMethod(request))
        else { return false }
        // The bytes of a file without an application id are not malformed JSON.
        if isFile, request.body.first != UInt8(ascii: "{") { return false }
        let method = request.method
        var body = try request.object
        if let meant = try request.credentials.take(from: &body, knownId: applicationId) {
            guard let method = ParseRequest.Method(rawValue: meant.uppercased()) else {
                throw ParseError(.invalidJSON, "_method is not a method of the protocol.")
            }
            request.method = method
        }
        request.tunnelled = body
        return request.method != method
    }

    /// Whether the body is data for the service, never credentials.
    static func isImport(_ path: [Substring]) -> Bool { path.first == "import" || path.first == "moves" }

    /// Whether `open` would certainly change nothing: the application id is in the headers, the body begins with `{`,
    /// and a POST does not contain `_method`. Decodes nothing.
    func changesNothing(in request: ParseRequest) -> Bool {
        request.credentials.applicationId == applicationId && request.body.first == UInt8(ascii: "{")
            && (request.method != .post || !mayOverrideMethod(request))
    }

    /// Clients that use headers may still send `_method` in a body (Swift's POST queries); searching the text avoids
    /// decoding it. The search stops at each first character, and underscores are fewer than quotes.
    private func mayOverrideMethod(_ request: ParseRequest) -> Bool {
        guard !request.isForm else { return request.tunnelled?["_method"] != nil }
        return request.body.contains(text: "_method\"") && request.body.contains(text: "\"_method\"")
    }
}
