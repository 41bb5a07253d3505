import Messages
import ParseProtocol

extension ParseRouter {
    /// What is decided about a large body before it is read.
    enum Reception {
        /// Nothing of it is needed to say no.
        case refused(ParseResponse)
        /// - Parameter isKnown: somebody with an account, or the operator, sends it; there is more room for these.
        case read(isKnown: Bool)
    }

    /// Keys, session and the right to upload, as far as the headers tell. A tunnelled request has them in its body: it is read as that of a
    /// stranger.
    func reception(of request: ParseRequest) async -> Reception {
        guard let path = withoutMount(request.path) else { return .read(isKnown: false) }
        var request = request
        request.path = path
        let route = RouteTable.mounted.route(request.method, path)
        if route?.access == .anyone || path.first == "apps" { return .read(isKnown: false) }
        let isFile = path.first == "files"
        guard let client = principals.admit(request.credentials, from: request.clientAddress) else {
            let credentials = request.credentials
            let isDecided =
                credentials.applicationId == configuration.applicationId
                && (isFile || credentials.masterKey != nil || credentials.maintenanceKey != nil)
            guard request.method != .post || path.first == "import" || isDecided else { return .read(isKnown: false) }
            return refused(request, admission.refusal(byAddress: request, nil) ?? .forbidden())
        }
        do throws(ParseError) {
            let principal = try await signedIn(client, request, route)
            if isFile, request.method == .post { try files.authorize(principal) }
            // Everybody may be an anonymous user in no time.
            return .read(isKnown: principal.isPrivileged || !principal.userID.isEmpty && !principal.anonymous)
        } catch {
            return refused(request, response(to: error))
        }
    }

    private func refused(_ request: ParseRequest, _ answer: ParseResponse) -> Reception {
        var request = request
        request.isCounted = true
        meter.count(request, answer)
        return .refused(answer)
    }
}
