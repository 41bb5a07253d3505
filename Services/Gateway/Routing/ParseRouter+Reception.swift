import Messages
import ParseProtocol

/// The stage before a body is read.
extension ParseRouter {
    /// Whether the body is a file, which may be larger than other bodies.
    func isUpload(_ request: ParseRequest) -> Bool {
        request.method == .post && mount.stripped(from: request.path)?.first == "files"
    }

    /// The decision about a large body before it is read.
    enum Reception {
        /// Nothing of it is needed to say no.
        case refused(ParseResponse)
        /// There is more room for those with an account and for the operator.
        case read(from: LargeBodyTurns.Sender)
    }

    /// Keys, session and the right to upload, as far as the headers tell. A tunnelled request has them in its body: it
    /// is read as that of a stranger.
    func reception(of request: ParseRequest) async -> Reception {
        guard let path = mount.stripped(from: request.path) else { return .read(from: .stranger) }
        var request = request
        request.path = path
        let route = RouteTable.mounted.route(request.method, path)
        if route?.access == .anyone || path.first == "apps" { return .read(from: .stranger) }
        let isFile = path.first == "files"
        guard let client = principals.admit(request) else {
            let credentials = request.credentials
            let isDecided =
                credentials.applicationId == configuration.applicationId
                && (isFile || credentials.masterKey != nil || credentials.maintenanceKey != nil)
            guard request.method != .post || path.first == "import" || isDecided else { return .read(from: .stranger) }
            return refused(request, admission.refusal(byAddress: request, nil) ?? .forbidden())
        }
        do throws(ParseError) {
            let principal = try await signedIn(client, request, route)
            if isFile, request.method == .post { try controllers.files.authorize(principal) }
            // Everybody may be an anonymous user in no time.
            let isKnown = !principal.userID.isEmpty && !principal.anonymous
            return .read(from: principal.isPrivileged ? .operator : isKnown ? .customer : .stranger)
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
