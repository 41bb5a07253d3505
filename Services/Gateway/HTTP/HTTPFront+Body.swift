import Compression
import HTTPTypes
import ParseProtocol

/// A task reads the body of a request, inflates it and waits for its turn, before it drives the machine.
extension HTTPFront {
    /// Reads the body, then drives the machine.
    func received(_ request: Request, _ exchange: inout RequestExchange) async throws -> ParseResponse {
        let parsed = exchange.machine.request
        guard !exchange.machine.isRefused else { return await drive(&exchange.machine) }
        // Nil outside the mount.
        let path = router.mount.stripped(from: parsed.path)
        let isUpload = parsed.method == .post && path?.first == "files"
        // A body of GET and DELETE counts only when the client announces it.
        guard
            isUpload || parsed.method == .post || parsed.method == .put || request.headers[.contentLength] != nil
                || request.headers[.transferEncoding] != nil
        else {
            // The condition in the URL is JSON.
            if let query = parsed.query { try await turns.turn(of: parsed.network, .stranger, Array(query.utf8)) }
            return await drive(&exchange.machine)
        }
        // `crash` inflates the reports, whose routes are outside the mount.
        let stated = path == nil ? "" : request.headers[.contentEncoding] ?? ""
        guard let encoding = ContentEncoding(header: stated) else { return Self.unsupportedEncoding }
        var sender = LargeBodyTurns.Sender.stranger
        if let path, !BodyReader.isQuick(request.headers) {
            switch await reception(of: parsed, at: path) {
            case .refused(let answer):
                exchange.machine.refused(at: path)
                return answer
            case .read(let known): sender = known
            }
        }
        // A tunnelled file is Base64 in JSON.
        let isTunnelled = parsed.credentials.applicationId == nil
        let fileBytesMax = configuration.fileBytesMax
        let bytesMax =
            !isUpload
            ? configuration.bodyBytesMax : isTunnelled ? fileBytesMax / 3 * 4 + BodyReader.tunnelBytesMax : fileBytesMax
        let tooLarge: any Error = isUpload ? ParseError.fileTooLarge(fileBytesMax) : BodyTooLarge()
        var body = try await bodies.read(
            request, bytesMax: bytesMax, for: .init(network: parsed.network, isKnown: sender != .stranger),
            tooLarge: tooLarge)
        if encoding != .identity {
            do {
                body = try await inflated(body, encoding, bytesMax: bytesMax, sender, parsed.network)
            } catch Inflater.Problem.tooLarge {
                throw tooLarge
            }
        }
        defer { withExtendedLifetime(body.hold) {} }
        // The content of a file is not decoded.
        let isFile = isUpload && !isTunnelled
        if !isFile { try await turns.turn(of: parsed.network, sender, body.bytes) }
        parsed.call.parts?.bodyEnded()
        exchange.machine.received(body.bytes, isFile: isFile)
        return await drive(&exchange.machine)
    }

    /// Inflates a body. A large body waits in the queue before, because inflating takes time.
    private func inflated(
        _ body: BodyReader.Body, _ encoding: ContentEncoding, bytesMax: Int, _ sender: LargeBodyTurns.Sender,
        _ network: String
    ) async throws -> BodyReader.Body {
        do {
            return try bodies.inflated(body, encoding, bytesMax: min(BodyTurns.quickBytes, bytesMax))
        } catch Inflater.Problem.tooLarge where BodyTurns.quickBytes < bytesMax {
            let bytes = min(bytesMax, Inflater.limit(for: body.bytes.count))
            try await turns.turn(of: network, sender, work: BodyTurns.work(toInflate: bytes))
        }
        do {
            return try bodies.inflated(body, encoding, bytesMax: bytesMax)
        } catch Inflater.Problem.noRoom {
            await BodyGate.delay()
            throw BodyReader.full
        }
    }

    private static var unsupportedEncoding: ParseResponse {
        let error = ParseError(.invalidJSON, "The Content-Encoding of a body is gzip, deflate or identity.")
        var answer = ParseResponse(status: 415, body: error.body.serialized)
        answer.headers[.acceptEncoding] = "gzip, deflate"
        return answer
    }

    // MARK: - Before a large body

    /// The decision about a large body before it is read.
    private enum Reception {
        /// The request is refused without its body.
        case refused(ParseResponse)
        /// The body is read. Signed-in customers and the keys of the operator have larger limits.
        case read(from: LargeBodyTurns.Sender)
    }

    /// Checks keys, session and the right to upload, as far as they are in the headers. A tunnelled request has them in
    /// its body, which is read like an unknown client's.
    /// - Parameter path: under the mount.
    private func reception(of request: ParseRequest, at path: [Substring]) async -> Reception {
        var request = request
        request.path = path
        let route = RouteTable.mounted.route(request.method, path)
        if RouteTable.isOpen(path, route) { return .read(from: .stranger) }
        let isFile = path.first == "files"
        guard let client = router.principals.admit(request) else {
            let credentials = request.credentials
            // A POST may have its keys in the body, unless the keys in its headers are wrong already.
            let isDecided =
                credentials.applicationId == configuration.applicationId
                && (isFile || credentials.masterKey != nil || credentials.maintenanceKey != nil)
            guard request.method != .post || Tunnel.isImport(path) || isDecided else { return .read(from: .stranger) }
            return .refused(
                router.admission.refusal(byAddress: request, nil) ?? router.guidance.refusal(ofKeys: request))
        }
        do throws(ParseError) {
            let principal = try await router.signedIn(client, request, route)
            if isFile, request.method == .post { try router.controllers.files.authorize(principal) }
            // Every client can become an anonymous user at once.
            let isKnown = !principal.userID.isEmpty && !principal.anonymous
            return .read(from: principal.isPrivileged ? .operator : isKnown ? .customer : .stranger)
        } catch {
            return .refused(router.admission.refusal(byAddress: request, client) ?? router.response(to: error))
        }
    }
}
