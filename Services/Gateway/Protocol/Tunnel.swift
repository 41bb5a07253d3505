import ParseProtocol

/// The way around headers and verbs: a body that carries credentials, options and the real verb, whatever its content
/// type says (PARSE_PROTOCOL section 1.2).
struct Tunnel: Sendable {
    /// The shop's.
    let applicationId: String

    /// Takes out of a request's body what is not the body's.
    /// - Parameter request: with a path without the mount.
    /// - Returns: whether the request now has another verb.
    /// - Throws: `.invalidJSON` (107) for a body that cannot be read as one, or a verb that is none.
    func open(_ request: inout ParseRequest) throws(ParseError) -> Bool {
        // A client that knows its headers sends the application id there; its body is passed on as it is.
        let isFile = request.path.first == "files"
        if request.path.first == "import" { return false }
        if !isFile { try request.readForm() }
        guard request.method == .post,
            // An id that is not the shop's may be a proxy's or an older app's: what the body says counts then.
            request.credentials.applicationId != applicationId || (!isFile && mayOverrideMethod(request))
        else { return false }
        // The bytes of a file without an application id are no JSON that somebody got wrong.
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

    /// Whether it is seen at once that `open` finds nothing in a request. Most have an object whose first byte says so.
    func isEmpty(_ request: ParseRequest) -> Bool {
        request.credentials.applicationId == applicationId && request.body.first == UInt8(ascii: "{")
            && (request.method != .post || !mayOverrideMethod(request))
    }

    /// Header clients may still send `_method` in a body (Swift's POST queries); looking for the text avoids a decode.
    private func mayOverrideMethod(_ request: ParseRequest) -> Bool {
        request.isForm ? request.tunnelled?["_method"] != nil : request.body.contains(text: "\"_method\"")
    }
}
