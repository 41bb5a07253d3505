import HTTPTypes
import MessageBus
import Messages
import ParseProtocol
import ProcessKit
import ServiceContextModule

/// The requests of cloud code: passes them from the bus to the router, and the responses back.
struct CodeRequests: Sendable {
    let router: ParseRouter
    /// The memory budget that clients' responses share.
    let answers: ByteBudget

    /// Called on the broker's thread.
    func take(_ request: ServiceRequest) {
        Task {
            let budget = RequestBudget(microseconds: microseconds(of: request))
            var context = CallContext(
                budget: budget,
                hold: answers.hold(for: .init(network: request.envelope.principal.network, isAuthenticated: false)),
                deadline: request.envelope.deadline)
            if !request.envelope.traceID.isEmpty { context.trace = request.envelope.traceID }
            context.span = request.trace.context.map { RequestSpan(context: $0, parent: nil) }
            let result = await ServiceContext.$current.withValue(context.requestTrace.serviceContext) { [context] in
                await answer(request, in: context)
            }
            request.reply(result, used: budget.used)
        }
    }

    /// The rest of the budget of the request that the code serves. Code that runs without a request, such as a job, has
    /// the default budget.
    private func microseconds(of request: ServiceRequest) -> Int64 {
        let own = router.configuration.requestBudgetMicroseconds
        return request.envelope.budget > 0 ? min(own, request.envelope.budget) : own
    }

    private func answer(_ request: ServiceRequest, in context: CallContext) async -> Result<BusReply, BusFailure> {
        do {
            guard let message = try? CodeRequest(serializedBytes: request.body), let text = request.documents.first
            else { throw ParseError(.invalidJSON, "The request of cloud code cannot be read.") }
            let asked = try JSON(clientText: text)
            let answer = await answer(
                asked, depth: Int(message.depth), of: request.envelope.principal.network, in: context)
            return .success(try BusReply(CodeAnswer(), documents: [document(of: answer)]))
        } catch let error as ParseError {
            return .failure(BusFailure(error))
        } catch {
            return .failure(BusFailure(.internalError))  // Only for a message that does not encode.
        }
    }

    private func answer(
        _ asked: JSON, depth: Int, of network: String, in context: CallContext
    ) async -> ParseResponse {
        do throws(ParseError) {
            let parsed = try parse(asked, depth: max(1, depth), of: network, in: context)
            return await router.answer(ofCode: parsed, isMaster: asked["auth"]?["master"] == true)
        } catch {
            return ParseResponse(error)
        }
    }

    private func parse(
        _ asked: JSON, depth: Int, of network: String, in context: CallContext
    ) throws(ParseError) -> ParseRequest {
        guard var method = asked["method"]?.stringValue.flatMap({ ParseRequest.Method(rawValue: $0.uppercased()) }),
            let path = asked["path"]?.stringValue
        else { throw ParseError(.invalidJSON, "A request of cloud code needs a method and a path.") }
        var body: [String: JSON] = [:]
        switch asked["body"] {
        case nil, .null?: break
        case .object(let members)?: body = members
        default: throw ParseError(.invalidJSON, "The body of a request of cloud code must be an object.")
        }
        var credentials = Credentials()
        // The JavaScript SDK tunnels the method in the body; `auth` alone gives the principal.
        if let meant = try credentials.take(from: &body, knownId: "") {
            guard let other = ParseRequest.Method(rawValue: meant.uppercased()) else {
                throw ParseError(.invalidJSON, "_method is not a method of the protocol.")
            }
            method = other
        }
        credentials.sessionToken = asked["auth"]?["sessionToken"]?.stringValue
        credentials.installationId = asked["auth"]?["installationId"]?.stringValue
        if let context = asked["context"], !context.isNull { credentials.context = context }

        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var request = ParseRequest(
            method: method, path: try router.mount.path(ofCode: String(parts.first ?? "")),
            call: context, ofCodeFor: network, depth: depth)
        if parts.count > 1 { request.query = String(parts[1]) }
        switch asked["query"] {
        case .object(let options)?: body.merge(options) { _, inQuery in inQuery }
        case .string(let text)?: request.query = text
        default: break
        }
        request.credentials = credentials
        request.tunnelled = body
        return request
    }

    /// The response for the code: with the URLs of its files, and not as a stream.
    private func document(of answer: ParseResponse) -> [UInt8] {
        // A final body with a type is a file or a picture.
        guard answer.stream == nil, answer.final == nil || answer.headers[.contentType] == nil else {
            return document(of: ParseResponse(ParseError(.commandUnavailable, "Cloud code cannot download files.")))
        }
        var headers: [String: JSON] = [:]
        for field in answer.headers { headers[field.name.canonicalName] = .string(field.value) }
        if let location = answer.location { headers["location"] = .string(location) }
        var text = Array("{\"status\":\(answer.status),\"headers\":".utf8)
        JSON.object(headers).append(to: &text)
        text += Array(",\"body\":".utf8)
        if let final = answer.final {
            text += final.buffer.readableBytesView
        } else if answer.headers[.contentType].map({ !$0.hasPrefix("application/json") }) ?? false {
            JSON.string(String(decoding: answer.body, as: UTF8.self)).append(to: &text)
        } else {
            text += answer.body.isEmpty ? Array("null".utf8) : router.configuration.fileLinks.linked(answer.body)
        }
        text.append(UInt8(ascii: "}"))
        return text
    }
}
