import MessageBus
import Messages
import ParseProtocol

/// A change that waits for nothing but one service, or for a create also cloud code: of one object, or an app event. A
/// class, because it goes to the broker's thread and back.
final class DirectChange: Sendable {
    enum Message: Sendable {
        case object(Change)
        /// A create in which cloud code has a say.
        case hooked(Change, HookScope)
        case event(AppEvent)
    }

    let message: Message
    let document: [UInt8]
    let principal: Principal

    init(_ message: Message, _ document: [UInt8], _ principal: Principal) {
        self.message = message
        self.document = document
        self.principal = principal
    }
}

/// The stages of such a change, passed without waiting.
extension ParseRouter {
    /// A create, an update or an event that every stage lets pass without having to ask anybody. Nil for every other
    /// request, as of reads: also for one whose body may be more than the object, or that may run once only. Nothing
    /// was done for those.
    /// - Parameter request: with its body; becomes one that is counted, with its path under the mount, when it is such
    ///   a change.
    func directChange(_ request: inout ParseRequest) -> DirectChange? {
        guard request.method == .post || request.method == .put, tunnel.isEmpty(request),
            !admission.mayBeOnce(request), let (path, change) = change(of: request)
        else { return nil }
        request.path = path
        request.isCounted = true
        return change
    }

    private func change(of request: ParseRequest) -> (path: [Substring], DirectChange)? {
        if let (path, className, principal) = passedAtOnce(request, without: []) {
            return changeOfObject(path, className, request).map { (path, DirectChange($0, request.body, principal)) }
        }
        guard request.method == .post, let path = openPath(of: request), path.count == 2, path[0] == "events",
            let event = EventsController.event(named: path[1]), let principal = clientAtOnce(request)
        else { return nil }
        return (path, DirectChange(.event(event), request.body, principal))
    }

    private func changeOfObject(
        _ path: [Substring], _ className: String, _ request: ParseRequest
    ) -> DirectChange.Message? {
        let isCreate = request.method == .post
        guard path.count == (isCreate ? 2 : 3) else { return nil }
        let change = ObjectsController.change(
            isCreate ? .create : .update, className, isCreate ? nil : String(path[2]))
        if hooks.areNone(HookedWrite.triggers, on: className) { return .object(change) }
        // Of a create all is small that an event loop has to decode: an update has the stored object, and another host
        // answers what it likes.
        guard isCreate, hooks.areNoneElsewhere(HookedWrite.triggers, on: className) else { return nil }
        return hooks.scope(of: request).map { .hooked(change, $0) }
    }

    /// Has the service make a change in which nobody else has a say. `broker.wake` has to follow.
    /// - Parameter completion: called on the broker's thread, or at once, with what makes the answer.
    func make(
        _ change: DirectChange, trace: String, _ hold: ByteHold,
        completion: @escaping @Sendable (@escaping @Sendable () -> ParseResponse) -> Void
    ) {
        let services = controllers.objects.services
        let budget = RequestBudget(microseconds: configuration.requestBudgetMicroseconds)
        budget.use(jsonBytes: change.document.count)
        switch change.message {
        case .object(let object), .hooked(let object, _):
            let message = WriteRequest.with {
                $0.changes = [object]
                $0.atomic = true
            }
            services.ask(
                ServiceDirectory.calls(ofClass: object.className).write, toChange: message, change.document,
                for: change.principal, trace: trace, budget.left, hold, timeout: ObjectsController.writeTimeout
            ) { result in
                completion { [self] in answer(result) { reply throws(ParseError) in try written(object, reply) } }
            }
        case .event(let event):
            services.ask(
                AnalyticsCalls.event, toChange: event, change.document, for: change.principal, trace: trace,
                budget.left, hold, timeout: EventsController.timeout
            ) { result in
                completion { [self] in answer(result) { EventsController.answer(to: $0) } }
            }
        }
    }

    /// Makes a create in which cloud code has a say.
    /// - Parameter request: the one that it was made of.
    func make(
        _ create: Change, with hooks: HookScope, _ change: DirectChange, of request: ParseRequest, _ hold: ByteHold
    ) async -> ParseResponse {
        var request = request
        request.hooks = hooks
        let budget = RequestBudget(microseconds: configuration.requestBudgetMicroseconds)
        budget.use(jsonBytes: change.document.count)
        return await AnswerHold.$current.withValue(hold) {
            await RequestBudget.$current.withValue(budget) { [request] in
                await created(create, change.document, change.principal, request)
            }
        }
    }

    private func created(
        _ create: Change, _ document: [UInt8], _ principal: Principal, _ request: ParseRequest
    ) async -> ParseResponse {
        do throws(ParseError) {
            let outcomes = try await controllers.objects.write(
                [(create, document)], to: ServiceDirectory.service(ofClass: create.className), atomic: true,
                principal, request)
            guard let (outcome, answer) = outcomes.first else { throw .internalError }
            return controllers.objects.created(create.className, outcome, answer)
        } catch {
            return response(to: error)
        }
    }

    private func answer<Reply>(
        _ result: Result<ServiceReply<Reply>, ParseError>,
        _ made: (ServiceReply<Reply>) throws(ParseError) -> ParseResponse
    ) -> ParseResponse {
        do throws(ParseError) {
            return try made(try result.get())
        } catch {
            return response(to: error)
        }
    }

    private func written(
        _ change: Change, _ reply: ServiceReply<WriteReply>
    ) throws(ParseError) -> ParseResponse {
        let outcomes = try reply.message.outcomes
        guard let outcome = outcomes.first, outcomes.count == 1, reply.documents.count == 1 else {
            throw .internalError
        }
        let answer = try reply.document
        return change.verb == .create
            ? controllers.objects.created(change.className, outcome, answer) : ParseResponse(body: answer)
    }
}
