import MessageBus
import Messages
import ParseProtocol

/// A read that waits for nothing but the service that keeps its class.
struct DirectRead: Sendable {
    enum Question: Sendable {
        case get(GetRequest)
        case find(FindRequest)
    }

    let request: ParseRequest
    let question: Question
    let calls: ObjectCalls
    let principal: Principal
}

/// The stages of a plain read of objects, passed without waiting.
extension ParseRouter {
    /// A read that every stage lets pass without having to ask anybody. Nil for every other request: one that a stage
    /// would refuse, one whose session is not in the cache, one that webhooks, includes, sub-queries or limits have to
    /// do with. `passed` decides about those, and nothing has been done for them here.
    func direct(_ request: ParseRequest) -> DirectRead? {
        guard request.method == .get, !request.isHead, request.credentials.context == nil, admission.isOpen,
            let path = mount.stripped(from: request.path), path.count == 2 || path.count == 3,
            path[0] == "classes", path[1].utf8.first != UInt8(ascii: "_")
        else { return nil }
        let className = String(path[1])
        guard Names.isClassName(className), hooks.areNone(onReadsOf: className),
            let client = principals.admit(request), !client.isPrivileged,
            let principal = principals.known(client, request.credentials),
            let question = question(request, className, objectId: path.count == 3 ? path[2] : nil)
        else { return nil }
        var request = request
        request.path = path
        request.isCounted = true
        return DirectRead(
            request: request, question: question, calls: ServiceDirectory.calls(ofClass: className),
            principal: principal)
    }

    /// What the service is asked; nil when the answer takes more than that.
    private func question(
        _ request: ParseRequest, _ className: String, objectId: Substring?
    ) -> DirectRead.Question? {
        guard let options = try? request.options() else { return nil }
        if let objectId {
            guard let options = try? QueryOptions(get: options), options.include.isEmpty else { return nil }
            return .get(ObjectsController.message(className, String(objectId), options))
        }
        guard
            let options = try? QueryOptions(
                find: options, limitMax: configuration.limitMax, skipMax: configuration.skipMax),
            options.include.isEmpty, options.redirectKey == nil, !SubQueries.mayOccur(in: options.filter)
        else { return nil }
        let message = Federation.message(className, options, filter: options.filter, hooks: nil)
        // A name with a dot leads to other classes, which may have webhooks.
        return message.foreignClasses.isEmpty ? .find(message) : nil
    }

    /// Asks the service.
    /// - Parameters:
    ///   - bytesMax: the largest page that is wanted.
    ///   - completion: called on the broker's thread, with nil when the page is larger.
    func ask(
        _ read: DirectRead, _ hold: ByteHold, bytesMax: Int, completion: @escaping @Sendable (ParseResponse?) -> Void
    ) {
        let services = controllers.objects.services
        let budget = configuration.requestBudgetMicroseconds
        let trace = read.request.requestId
        switch read.question {
        case .get(let message):
            services.ask(read.calls.get, message, for: read.principal, trace: trace, budget, hold) { result in
                completion(Self.answer(result))
            }
        case .find(var message):
            message.answerBytesMax = UInt32(bytesMax)
            services.ask(read.calls.find, message, for: read.principal, trace: trace, budget, hold) { result in
                completion(Self.answer(result))
            }
        }
    }

    private static func answer<Reply>(_ result: Result<ServiceReply<Reply>, ParseError>) -> ParseResponse? {
        switch result {
        case .success(let reply): reply.documents.first.map { ParseResponse(body: $0) }
        case .failure(let error): ParseResponse(error)
        }
    }
}
