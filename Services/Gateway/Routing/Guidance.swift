import HTTPTypes
import ParseProtocol

/// The sentences that tell a developer how to correct a refused request: one table for the whole gateway.
///
/// Where the protocol fixes the text of an error, the sentence is the member `hint`, because SDKs compare the text.
/// Otherwise the sentence is added to the text. No sentence reveals more than `/developers` shows.
///
/// A class, so that a request copies nothing of it.
final class Guidance: Sendable {
    private let applicationId: String
    /// The headers of the configured client keys, as a list in words.
    private let keyHeaders: String
    /// The mount as clients see it: `/parse`.
    private let mount: String
    private let mountComponents: [Substring]
    /// The mount in the gateway's own paths. A proxy may show clients another one.
    private let ownMount: String
    /// A sentence that names the page for developers; empty where it is not served.
    private let developersPageHint: String

    init(_ configuration: GatewayConfiguration) {
        applicationId = configuration.applicationId
        keyHeaders = GatewayConfiguration.ClientKey.allCases.filter { configuration.clientKeys[$0] != nil }
            .map(\.header).joined(separator: " or ")
        mount = configuration.publicPath.map { "/\($0)" }.joined()
        mountComponents = configuration.publicPath
        ownMount = configuration.mount.map { "/\($0)" }.joined()
        developersPageHint =
            configuration.servesDashboard ? " The page /developers of this server shows working requests." : ""
    }

    // MARK: - Keys

    static let masterKey =
        "This route is for operators: it needs the master key, which no app may contain, or an operator's session."
    static let otherFiles = "The path must contain this server's application id: /files/{applicationId}/{name}."
    static let privatePicture = "The file is private. Only public pictures are served in other widths."
    static let fileLink = "The file is private: its URL needs a signature, which expires. Read the object again."

    /// The refusal of a request whose application id or keys are wrong.
    func refusal(ofKeys request: ParseRequest) -> ParseResponse {
        .forbidden(hint: hint(onKeys: request) + developersPageHint)
    }

    private func hint(onKeys request: ParseRequest) -> String {
        let credentials = request.credentials
        guard let id = credentials.applicationId else {
            return request.headers.contains(.authorization)
                ? "Authorization has no application id: it must be Basic with applicationId:masterKey or "
                    + "applicationId:javascript-key=key in Base64."
                : "The request has no application id: send the header X-Parse-Application-Id, or _ApplicationId in the "
                    + "JSON body of a POST."
        }
        guard id == applicationId else {
            return "This server has no application with that id. The id is case-sensitive and sent once."
        }
        // The text is the same for a wrong key and for a right one from a network that is not listed, so that it
        // reveals nothing.
        if credentials.masterKey != nil || credentials.maintenanceKey != nil {
            return "The master key or maintenance key is not accepted: compare it with the server's, and the client's "
                + "network with SATCHEL_MASTER_KEY_IPS. Apps send neither."
        }
        return credentials.clientKeys.isEmpty
            ? "The request has no client key: send \(keyHeaders)."
            : "The client key is not accepted: send \(keyHeaders), with the server's key."
    }

    // MARK: - Routes

    /// The response at the mount itself.
    var atMount: ParseResponse {
        notFound("This is the address of the API, the server URL of an SDK: its routes are below, as \(mount)/health.")
    }

    /// The response to a request outside the mount for which there is no route.
    func outside(_ path: [Substring]) -> ParseResponse {
        RouteTable.mounted.methods(of: path).isEmpty
            ? notFound("The API is at \(ownMount).")
            : notFound("The path must begin with \(ownMount).")
    }

    /// The response to a request under the mount for which there is no route: 404, as in Parse Server, also when the
    /// path has routes of other methods.
    /// - Parameter path: without the mount.
    func noRoute(_ method: ParseRequest.Method, _ path: [Substring]) -> ParseResponse {
        let methods = RouteTable.mounted.methods(of: path)
        guard methods.isEmpty else { return wrongMethod(method, methods, path) }
        return notFound(sentence(on: path))
    }

    private func wrongMethod(
        _ method: ParseRequest.Method, _ methods: [ParseRequest.Method], _ path: [Substring]
    ) -> ParseResponse {
        let names = methods.map(\.rawValue)
        var text = "This path does not support \(method.rawValue), only \(names.joined(separator: ", "))."
        if path.first == "functions" {
            text += " The parameters of a function are a JSON object in the body."
        } else if method == .post {
            text += " A client that sends every request as POST puts the real method into _method of the JSON body."
        } else if let longer = RouteTable.mounted.continued(path, method) {
            text += " \(method.rawValue) is for \(mount)\(longer.path)."
        }
        var answer = ParseResponse(status: 404, ParseError(.commandUnavailable, text + developersPageHint).body)
        answer.headers[.allow] = names.joined(separator: ", ")
        return answer
    }

    private func sentence(on path: [Substring]) -> String {
        let table = RouteTable.mounted
        for doubled in [mountComponents, ["1"]] where !doubled.isEmpty && path.starts(with: doubled) {
            guard table.methods(of: Array(path.dropFirst(doubled.count))).isEmpty else {
                let rest = doubled.joined(separator: "/")
                return "The server URL already ends with \(mount): leave /\(rest) out of the path."
            }
        }
        if let longer = table.continued(path) {
            return "The path needs one more part: \(mount)\(longer.path)."
        }
        if let first = path.first {
            if let known = table.firstComponents.first(where: { $0 != first && $0 == first.lowercased() }) {
                return "Paths are case-sensitive: this one begins with \(mount)/\(known)."
            }
            if path.count <= 2, first.first?.isUppercase == true {
                return "Objects of a class are at \(mount)/classes/{className}."
            }
        }
        return "\(mount)/openapi.json lists the routes."
    }

    private func notFound(_ sentence: String) -> ParseResponse {
        ParseResponse(
            status: 404,
            ParseError(.commandUnavailable, "\(ParseRouter.noRoute.message) \(sentence)\(developersPageHint)").body)
    }

    // MARK: - Errors

    /// The response with the sentence for its error, if the table has one.
    func completed(_ answer: ParseResponse, to request: ParseRequest) -> ParseResponse {
        guard let error = answer.error else { return answer }
        var body = error.body
        if let sentence = sentence(on: error, of: request) {
            body["error"] = .string("\(error.message) \(sentence)")
        } else if let hint = hint(on: error) {
            body["hint"] = .string(hint)
        } else {
            return answer
        }
        var answer = answer
        answer.body = body.serialized
        return answer
    }

    /// A sentence to append to an error text that Satchel chose.
    private func sentence(on error: ParseError, of request: ParseRequest) -> String? {
        guard error.code == .invalidJSON else { return nil }
        switch error.message {
        case "The body is not valid JSON.":
            let type = request.headers[.contentType]?.lowercased() ?? ""
            if type.hasPrefix("multipart/") {
                return "Send a JSON object in place of a form; a file is the body of POST \(mount)/files/{fileName}."
            }
            return "Send a JSON object, such as {\"name\":\"Rose\"}, with Content-Type: application/json."
        case "The body must be a JSON object.", "An object to save must be a JSON object.", "An object is needed.":
            return "Send its members in braces; \(mount)/batch saves several objects."
        default: return nil
        }
    }

    /// A sentence for the member `hint`, beside an error text that the protocol fixes.
    private func hint(on error: ParseError) -> String? {
        switch error.code {
        case .operationForbidden where error.message.hasPrefix("This user is not allowed to access non-existent class"):
            "Compare the name with the class, which is case-sensitive. Clients may not add classes to this server; an "
                + "operator can, on the dashboard's page Data."
        case .scriptFailed where error.message.hasPrefix("Invalid function: "):
            "Compare the name with the function, which is case-sensitive, and check that the cloud code is deployed."
        // A stage of a pipeline begins with a dollar sign.
        case .invalidQuery
        where error.message.hasPrefix("Invalid parameter for query: ") && !error.message.contains("$"):
            "A condition on a field is a member of where: where={\"name\":\"Rose\"}."
        case .invalidQuery where error.message == "Improper encode of parameter":
            "A read of one object takes keys, excludeKeys and include; other options are for a query of the class."
        case .invalidSessionToken where error.message == ParseError.invalidSession.message:
            "The session has ended, or the request has none: sign in, and send the sessionToken of the response."
        default: nil
        }
    }
}

extension GatewayConfiguration.ClientKey {
    fileprivate var header: String {
        switch self {
        case .rest: "X-Parse-REST-API-Key"
        case .javascript: "X-Parse-Javascript-Key"
        case .client: "X-Parse-Client-Key"
        case .windows: "X-Parse-Windows-Key"
        }
    }
}
