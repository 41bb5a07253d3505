import Logging
import Messages
import ParseProtocol

/// From a request to the controller that answers it: the table of every route.
struct ParseRouter: Sendable {
    let configuration: GatewayConfiguration
    let principals: PrincipalResolver
    let objects: ObjectsController
    let aggregates: AggregateController
    let accounts: AccountsController
    let functions: FunctionsController
    let intake: IntakeController
    let schemas: SchemasController
    let exports: ExportController
    let imports: ImportController
    let config: ConfigController
    let files: FilesController
    let push: PushController
    let pages: PagesController
    let sentry: SentryController
    let system: SystemController
    let meter: RequestMeter
    let logger: Logger

    /// Answers a request from the wire. Never throws: every error is an answer.
    func answer(_ request: ParseRequest) async -> ParseResponse {
        var request = request
        let response = await answered(&request)
        if request.isCounted { meter.count(request, response) }
        return response
    }

    private func answered(_ request: inout ParseRequest) async -> ParseResponse {
        do throws(ParseError) {
            guard let path = withoutMount(request.path) else { return try await sentry.report(request) }
            request.path = path
            if path == ["health"] { return system.health() }
            // Links from mails: whoever follows one has no keys, but a token.
            if path.first == "apps" { return await pages.answer(request) }
            // A payment provider has no keys of the shop's; its signature is checked by the service that has the secret.
            if path == ["webhooks", "stripe"] { return try await intake.stripe(request) }
            if isDownload(request) { return try await files.download(request) }
            request.isCounted = true
            try untunnel(&request)
            guard let admitted = principals.admit(request.credentials, from: request.clientAddress) else {
                return .forbidden()
            }
            // Signing in ignores an old token, so that an app with an expired session can get a new one.
            let principal =
                ["login", "verifyPassword"].contains(path.joined(separator: "/"))
                ? admitted
                : try await principals.signIn(admitted, request.credentials, trace: request.requestId)
            return try await route(request, principal)
        } catch {
            return response(to: error)
        }
    }

    /// Answers a request of a batch, whose credentials were checked with the batch's.
    /// - Throws: `ParseError`.
    func answer(inBatch request: ParseRequest, _ principal: Principal) async -> ParseResponse {
        do throws(ParseError) {
            var request = request
            guard let path = withoutMount(request.path) else {
                throw ParseError(.invalidJSON, "cannot route batch path /\(request.path.joined(separator: "/"))")
            }
            request.path = path
            return try await route(request, principal)
        } catch {
            return response(to: error)
        }
    }

    func response(to error: ParseError) -> ParseResponse {
        // Unknown routes are 404 for health checks of SDKs; the code says what it is.
        error == Self.noRoute ? ParseResponse(status: 404, error.body) : ParseResponse(error)
    }

    static let noRoute = ParseError(.commandUnavailable, "There is no such route.")

    /// The path under the mount, or under `/1`, where hosted Parse was.
    func withoutMount(_ path: [Substring]) -> [Substring]? {
        if path.first == "1" { return Array(path.dropFirst()) }
        guard path.starts(with: configuration.mount) else { return nil }
        return Array(path.dropFirst(configuration.mount.count))
    }

    private func isDownload(_ request: ParseRequest) -> Bool {
        request.method == .get && request.path.first == "files"
    }

    /// Whether the body is a file, which may be larger than other bodies.
    func isUpload(_ request: ParseRequest) -> Bool {
        request.method == .post && withoutMount(request.path)?.first == "files"
    }

    /// A body may carry credentials, options and the real verb, whatever its content type says (PARSE_PROTOCOL section 1.2).
    private func untunnel(_ request: inout ParseRequest) throws(ParseError) {
        // A client that knows its headers sends the application id there; its body is passed on as it is.
        let isFile = request.path.first == "files"
        guard request.method == .post, request.path.first != "import",
            request.credentials.applicationId == nil || (!isFile && mayOverrideMethod(request.body))
        else { return }
        // The bytes of a file without an application id are no JSON that somebody got wrong.
        if isFile, request.body.first != UInt8(ascii: "{") { return }
        var body = try request.object
        if let method = try request.credentials.take(from: &body) {
            guard let method = ParseRequest.Method(rawValue: method.uppercased()) else {
                throw ParseError(.invalidJSON, "_method is not a method of the protocol.")
            }
            request.method = method
        }
        request.tunnelled = body
    }

    /// Header clients may still send `_method` in a body (Swift's POST queries); looking for the text avoids a decode.
    private func mayOverrideMethod(_ body: [UInt8]) -> Bool {
        body.contains(text: "\"_method\"")
    }
}
