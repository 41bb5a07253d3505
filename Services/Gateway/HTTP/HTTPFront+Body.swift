import Compression
import HTTPTypes
import ParseProtocol

/// A task reads the body of a request, inflates it and waits in the queue, before it drives the machine.
extension HTTPFront {
    /// Reads the body, then drives the machine.
    func readBodyAndDrive(_ request: Request, _ exchange: inout RequestExchange) async throws -> ParseResponse {
        let parsed = exchange.machine.request
        guard !exchange.machine.isRefused else { return await drive(&exchange.machine) }
        // Nil outside the mount.
        let path = router.mount.stripped(from: parsed.path)
        let isUpload = parsed.method == .post && path?.first == "files"
        // GET and DELETE have a body only when a header announces it.
        guard
            isUpload || parsed.method == .post || parsed.method == .put || request.headers[.contentLength] != nil
                || request.headers[.transferEncoding] != nil
        else {
            // Decoding the JSON of a long query takes as long as decoding a body, so it waits in the same queue.
            if let query = parsed.query {
                try await bodyQueues.waitToDecode(Array(query.utf8), from: parsed.network, .unauthenticated)
            }
            return await drive(&exchange.machine)
        }
        // Outside the mount only crash reports have bodies, and the crash service inflates them.
        let encodingHeader = path == nil ? "" : request.headers[.contentEncoding] ?? ""
        guard let encoding = ContentEncoding(header: encodingHeader) else { return Self.unsupportedEncoding }
        var sender = BodyQueues.Sender.unauthenticated
        if let path, !BodyReader.isQuick(request.headers) {
            switch await decision(on: parsed, at: path) {
            case .refuse(let answer):
                exchange.machine.recordRefusal(at: path)
                return answer
            case .read(let client): sender = client
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
            request, bytesMax: bytesMax,
            for: .init(network: parsed.network, isAuthenticated: sender != .unauthenticated),
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
        if !isFile { try await bodyQueues.waitToDecode(body.bytes, from: parsed.network, sender) }
        exchange.bodyTime = ContinuousClock.now - exchange.start
        parsed.call.times?.bodyEnded()
        exchange.machine.received(body.bytes, isFile: isFile)
        return await drive(&exchange.machine)
    }

    /// Inflates a body. A large body waits in the queue first, because inflating takes time.
    private func inflated(
        _ body: BodyReader.Body, _ encoding: ContentEncoding, bytesMax: Int, _ sender: BodyQueues.Sender,
        _ network: String
    ) async throws -> BodyReader.Body {
        do {
            return try bodies.inflated(body, encoding, bytesMax: min(BodyQueue.quickBytes, bytesMax))
        } catch Inflater.Problem.tooLarge where BodyQueue.quickBytes < bytesMax {
            let bytes = min(bytesMax, Inflater.limit(for: body.bytes.count))
            try await bodyQueues.wait(for: BodyQueue.work(toInflate: bytes), from: network, sender)
        }
        do {
            return try bodies.inflated(body, encoding, bytesMax: bytesMax)
        } catch Inflater.Problem.noRoom {
            await BodyScheduler.delay()
            throw BodyReader.full
        }
    }

    private static var unsupportedEncoding: ParseResponse {
        let error = ParseError(.invalidJSON, "Content-Encoding must be gzip, deflate or identity.")
        var answer = ParseResponse(status: 415, body: error.body.serialized)
        answer.headers[.acceptEncoding] = "gzip, deflate"
        return answer
    }

    // MARK: - Before a large body

    /// The decision about a large body before it is read.
    private enum BodyDecision {
        /// Refuse the request without its body.
        case refuse(ParseResponse)
        /// Read the body. Signed-in customers and the keys of the operator have larger limits.
        case read(from: BodyQueues.Sender)
    }

    /// Checks keys, session and the right to upload, as far as they are in the headers. A tunnelled request has its
    /// keys in the body; until that is read it counts as unauthenticated.
    /// - Parameter path: under the mount.
    private func decision(on request: ParseRequest, at path: [Substring]) async -> BodyDecision {
        var request = request
        request.path = path
        let route = RouteTable.mounted.route(request.method, path)
        if RouteTable.needsNoKeys(path, route) { return .read(from: .unauthenticated) }
        let isFile = path.first == "files"
        guard let client = router.principals.admit(request) else {
            let credentials = request.credentials
            // A POST may have its keys in the body, unless the keys in its headers are wrong already.
            let keysAreFinal =
                credentials.applicationId == configuration.applicationId
                && (isFile || credentials.masterKey != nil || credentials.maintenanceKey != nil)
            guard request.method != .post || Tunnel.isImport(path) || keysAreFinal else {
                return .read(from: .unauthenticated)
            }
            return .refuse(
                router.admission.refusal(byAddress: request, nil) ?? router.guidance.refusal(ofKeys: request))
        }
        do throws(ParseError) {
            let principal = try await router.signedIn(client, request, route)
            if isFile, request.method == .post { try router.controllers.files.authorize(principal) }
            // Any client can become an anonymous user, so such a user has the limits of an unauthenticated client.
            let isCustomer = !principal.userID.isEmpty && !principal.anonymous
            return .read(from: principal.isPrivileged ? .operator : isCustomer ? .customer : .unauthenticated)
        } catch {
            return .refuse(router.admission.refusal(byAddress: request, client) ?? router.response(to: error))
        }
    }
}
