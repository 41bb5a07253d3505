import MessageBus
import Messages
import ParseProtocol

/// A change of one object that waits for nothing but the service that keeps its class and, for a create, cloud code. A
/// class, because it goes to the broker's thread and back.
final class DirectChange: Sendable {
    let change: Change
    let document: [UInt8]
    let principal: Principal
    /// The cloud code that has a say in it; nil where there is none for its class.
    let hooks: HookScope?

    init(_ change: Change, _ document: [UInt8], _ principal: Principal, _ hooks: HookScope?) {
        self.change = change
        self.document = document
        self.principal = principal
        self.hooks = hooks
    }
}

/// The stages of a change of one object, passed without waiting.
extension ParseRouter {
    /// A create or an update that every stage lets pass without having to ask anybody. Nil for every other request, as
    /// of reads: also for one whose body may be more than the object, or that may run once only. Nothing was done for
    /// those.
    /// - Parameter request: with its body; becomes one that is counted, with its path under the mount, when it is such
    ///   a change.
    func directChange(_ request: inout ParseRequest) -> DirectChange? {
        guard request.method == .post || request.method == .put, tunnel.isEmpty(request),
            !admission.mayBeOnce(request),
            let (path, className, principal) = passedAtOnce(request, without: []),
            path.count == (request.method == .post ? 2 : 3)
        else { return nil }
        let isFree = hooks.areNone(HookedWrite.triggers, on: className)
        // Of a create all is small that an event loop has to decode: an update has the stored object, and another host
        // answers what it likes.
        guard isFree || request.method == .post && hooks.areNoneElsewhere(HookedWrite.triggers, on: className) else {
            return nil
        }
        request.path = path
        request.isCounted = true
        let scope = isFree ? nil : hooks.scope(of: request)
        let change =
            request.method == .post
            ? ObjectsController.change(.create, className, nil)
            : ObjectsController.change(.update, className, String(path[2]))
        return DirectChange(change, request.body, principal, scope)
    }

    /// Has the service make the change. `broker.wake` has to follow.
    /// - Parameter completion: called on the broker's thread, or at once.
    func make(
        _ change: DirectChange, trace: String, _ hold: ByteHold,
        completion: @escaping @Sendable (Result<ServiceReply<WriteReply>, ParseError>) -> Void
    ) {
        let message = WriteRequest.with {
            $0.changes = [change.change]
            $0.atomic = true
        }
        let budget = RequestBudget(microseconds: configuration.requestBudgetMicroseconds)
        budget.use(jsonBytes: change.document.count)
        controllers.objects.services.ask(
            ServiceDirectory.calls(ofClass: change.change.className).write, toChange: message, change.document,
            for: change.principal, trace: trace, budget.left, hold, timeout: ObjectsController.writeTimeout,
            completion: completion)
    }

    /// Makes a change in which cloud code has a say.
    /// - Parameter request: the one that the change was made of.
    func make(_ change: DirectChange, of request: ParseRequest, _ hold: ByteHold) async -> ParseResponse {
        let budget = RequestBudget(microseconds: configuration.requestBudgetMicroseconds)
        budget.use(jsonBytes: change.document.count)
        return await AnswerHold.$current.withValue(hold) {
            await RequestBudget.$current.withValue(budget) { await made(change, of: request) }
        }
    }

    private func made(_ change: DirectChange, of request: ParseRequest) async -> ParseResponse {
        var request = request
        request.hooks = change.hooks
        let className = change.change.className
        do throws(ParseError) {
            let outcomes = try await controllers.objects.write(
                [(change.change, change.document)], to: ServiceDirectory.service(ofClass: className), atomic: true,
                change.principal, request)
            guard let (outcome, answer) = outcomes.first else { throw .internalError }
            return controllers.objects.created(className, outcome, answer)
        } catch {
            return response(to: error)
        }
    }

    /// The answer that a reply brings.
    func answer(to change: DirectChange, _ result: Result<ServiceReply<WriteReply>, ParseError>) -> ParseResponse {
        do throws(ParseError) {
            let reply = try result.get()
            let outcomes = try reply.message.outcomes
            guard let outcome = outcomes.first, outcomes.count == 1, reply.documents.count == 1 else {
                throw .internalError
            }
            let answer = try reply.document
            return change.change.verb == .create
                ? controllers.objects.created(change.change.className, outcome, answer) : ParseResponse(body: answer)
        } catch {
            return response(to: error)
        }
    }
}
