import MessageBus
import Messages
import ParseProtocol
import ProcessKit

/// `/batch`: several requests in one, run in order. The controller only distributes them: each is routed and authorized
/// separately. Consecutive object changes at one service share one message and one commit.
struct BatchController: Sendable {
    let router: ParseRouter

    private static let requestsMax = 200

    func run(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        guard !request.isInBatch else { throw ParseError(.invalidJSON, "A batch cannot hold another batch.") }
        let body = try request.object
        guard case .array(let items) = body["requests"] else {
            throw ParseError(.invalidJSON, "requests must be an array")
        }
        guard items.count <= Self.requestsMax else {
            throw ParseError(.invalidJSON, "A batch holds at most \(Self.requestsMax) requests.")
        }
        // Each item is parsed separately, so that an invalid one fails alone.
        let parsed = items.map { item(of: $0, request, principal) }
        let (requests, refusals) = (parsed.map(\.request), parsed.map(\.refusal))
        switch body["transaction"] {
        case true?:
            if let refusal = refusals.lazy.compactMap(\.self).first { return refusal }
            return try await runAtomically(requests, principal, of: request)
        case nil, .null?, false?: break
        default: throw ParseError(.invalidJSON, "transaction must be true or false.")
        }

        var answer = BatchResponse(bytesMax: router.configuration.capacity.batchAnswerBytesMax, request.call.hold)
        var index = 0
        while index < requests.count {
            if let refusal = refusals[index] {
                answer.append(refusal)
                index += 1
                continue
            }
            // There is no room for the response of a read.
            if let refusal = answer.refusal, isOnlyRead(requests[index]) {
                answer.append(refusal)
                index += 1
                continue
            }
            let end = refusals[index...].firstIndex { $0 != nil } ?? requests.endIndex
            // Under an Idempotency-Key each request has its own key, whatever happens to the requests before it.
            let run = request.call.keys == nil ? changes(startingAt: index, in: requests[..<end], principal) : []
            if run.count > 1 {
                await write(run, principal, request, to: &answer)
                index += run.count
            } else {
                let keys = request.call.keys?.part(index)
                let part = await held(requests[index], principal, keys, bytesLeft: answer.bytesLeft)
                answer.append(part, isHooked: keys != nil && isHooked(requests[index]))
                index += 1
            }
        }
        return answer.finished()
    }

    /// The response of one request. Its memory is released before the next one begins.
    private func held(
        _ request: ParseRequest, _ principal: Principal, _ keys: WriteKeys?, bytesLeft: Int
    ) async -> ParseResponse {
        var part = request
        part.call.keys = keys
        part.call.hold = request.call.hold?.part(answerBytesMax: bytesLeft)
        return await router.answer(inBatch: part, principal)
    }

    /// Whether a request changes nothing, or is a function, whose effect is unknown before it runs.
    private func isOnlyRead(_ request: ParseRequest) -> Bool {
        request.method == .get || router.mount.stripped(from: request.path)?.first == "functions"
    }

    /// Whether a webhook or cloud code answers a request, or may see its change.
    private func isHooked(_ request: ParseRequest) -> Bool {
        guard request.method != .get, let path = router.mount.stripped(from: request.path), let first = path.first
        else { return false }
        if first == "functions", path.count > 1 { return router.hooks.hasFunction(String(path[1])) }
        guard let className = OwnClasses.byPath[first] ?? (first == "classes" && path.count > 1 ? String(path[1]) : nil)
        else { return false }
        return !router.hooks.hasNoTriggers(HookedWrite.triggers, on: className)
    }

    /// An item's request, and its refusal when it is not even tried.
    private func item(
        of json: JSON, _ batch: ParseRequest, _ principal: Principal
    ) -> (request: ParseRequest, refusal: ParseResponse?) {
        do throws(ParseError) {
            let request = try parse(json, of: batch)
            return (request, router.refusal(inBatch: request, principal))
        } catch {
            // A placeholder for the item; it never runs.
            let nothing = ParseRequest(method: .get, path: [], call: batch.call, clientAddress: nil)
            return (nothing, ParseResponse(error))
        }
    }

    private func parse(_ item: JSON, of batch: ParseRequest) throws(ParseError) -> ParseRequest {
        guard let path = item["path"]?.stringValue, let methodName = item["method"]?.stringValue,
            let method = ParseRequest.Method(rawValue: methodName.uppercased())
        else { throw ParseError(.invalidJSON, "Each request of a batch needs a method and a path.") }
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var request = try batch.part(method, String(parts[0]), under: router.mount)
        request.isInBatch = true
        request.context = batch.context
        if parts.count > 1 { request.query = String(parts[1]) }
        switch item["body"] {
        case .object(let members)? where method != .get || !members.isEmpty: request.tunnelled = members
        // PHP writes an empty object as `[]`.
        case nil, .null?, .object?, []?: if method != .get { request.tunnelled = [:] }
        default: throw ParseError(.invalidJSON, "The body of a request in a batch must be an object.")
        }
        return request
    }

    private struct ObjectChange {
        let change: Change
        let document: [UInt8]
        let service: String
    }

    /// The request as a change of one object; nil for every other request.
    /// - Throws: the error of a change that needs no service to be refused.
    private func change(_ request: ParseRequest, _ principal: Principal) throws(ParseError) -> ObjectChange? {
        guard let path = router.mount.stripped(from: request.path), let first = path.first else { return nil }
        let own = OwnClasses.byPath[first]
        guard own != nil || first == "classes" && path.count > 1 else { return nil }
        let className = own ?? String(path[1])
        let rest = path.dropFirst(own == nil ? 2 : 1)
        guard Names.isClassName(className) else { return nil }
        let verb: Change.Verb
        switch (request.method, rest.count) {
        // A sign-up is more than a change: its response has a session.
        case (.post, 0) where className != "_User": verb = .create
        case (.put, 1): verb = .update
        case (.delete, 1): verb = .delete
        default: return nil
        }
        let change = ObjectsController.change(verb, className, rest.first.map(String.init))
        try OwnClasses.checkChange(change, router.admission.rights(principal, for: ["classes"]))
        return ObjectChange(
            change: change, document: request.document, service: ServiceDirectory.service(ofClass: className))
    }

    /// The longest run of consecutive changes at one service from `start` on. A change that is refused ends it.
    private func changes(
        startingAt start: Int, in requests: ArraySlice<ParseRequest>, _ principal: Principal
    ) -> [ObjectChange] {
        var run: [ObjectChange] = []
        for request in requests[start...] {
            guard let change = try? change(request, principal),
                run.last.map({ $0.service == change.service }) ?? true
            else { break }
            run.append(change)
        }
        return run
    }

    private func write(
        _ changes: [ObjectChange], _ principal: Principal, _ batch: ParseRequest, to answer: inout BatchResponse
    ) async {
        do throws(ParseError) {
            let outcomes = try await router.controllers.objects.write(
                changes.map { ($0.change, $0.document) }, to: changes[0].service, atomic: false,
                router.admission.rights(principal, for: ["classes"]), batch)
            for (outcome, document) in outcomes { answer.append(outcome, document) }
        } catch {
            // Earlier requests of the batch have taken effect; therefore the whole response must not be an error, which
            // clients would retry.
            for _ in changes { answer.append(error) }
        }
    }

    /// Runs the requests atomically, which requires that one service owns all of their classes.
    private func runAtomically(
        _ requests: [ParseRequest], _ principal: Principal, of batch: ParseRequest
    ) async throws(ParseError) -> ParseResponse {
        let run = changes(startingAt: 0, in: requests[...], principal)
        guard run.count == requests.count else {
            _ = try change(requests[run.count], principal)
            throw ParseError(
                .commandUnavailable,
                "A transaction can only hold creates, updates and deletes of objects that one service "
                    + "keeps: request \(run.count) "
                    + "(\(requests[run.count].method.rawValue)) cannot be in it.")
        }
        guard let first = run.first else { return ParseResponse([]) }
        let outcomes = try await router.controllers.objects.write(
            run.map { ($0.change, $0.document) }, to: first.service, atomic: true,
            router.admission.rights(principal, for: ["classes"]), batch)
        var answer = BatchResponse(bytesMax: router.configuration.capacity.batchAnswerBytesMax, batch.call.hold)
        for (outcome, document) in outcomes { answer.append(outcome, document) }
        return answer.finished()
    }
}
