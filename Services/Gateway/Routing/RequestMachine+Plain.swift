import Messages
import ParseProtocol

/// The route stage on the event loop. It answers a plain request: one that the read cache or one message to one service
/// answers. It leaves every other request to the route's handler in a task.
extension RequestMachine {
    /// Answers a plain request of a client, or asks the service. Nil for every other request.
    mutating func plain() -> Action? {
        guard request.credentials.context == nil, request.viewer == nil, !principal.isPrivileged else { return nil }
        switch request.method {
        case .get:
            guard !request.isHead else { return nil }
            return isOwnAccount ? plainAccount() : plainRead()
        case .post, .put:
            guard let className else { return plainEvent() }
            return plainChange(of: className)
        case .delete: return nil
        }
    }

    /// The class of `/classes/<C>` or an object of it; nil for every other path, and for classes of the protocol.
    private var className: String? {
        let path = request.path
        guard path.count == 2 || path.count == 3, path[0] == "classes", path[1].utf8.first != UInt8(ascii: "_") else {
            return nil
        }
        let className = String(path[1])
        return Names.isClassName(className) ? className : nil
    }

    // MARK: - Reads

    /// Whether the path is `/users/me`.
    private var isOwnAccount: Bool {
        request.path.count == 2 && request.path[0] == "users" && request.path[1] == "me"
    }

    /// The caller's own account, if it is in the cache.
    private mutating func plainAccount() -> Action? {
        guard let look = router.controllers.objects.cache?.lookAccount(request, principal) else { return nil }
        if case .found(let answer) = look { return .respond(answer) }
        prepared(PreparedRead(look))
        return nil
    }

    /// A read of one class without triggers, includes, sub-queries or fields of other classes.
    private mutating func plainRead() -> Action? {
        guard let className, router.hooks.areNone(HookedRead.triggers, on: className) else { return nil }
        let objectId = request.path.count == 3 ? String(request.path[2]) : nil
        let look = router.controllers.objects.cache?.look(className, objectId, request, principal) ?? .unfit
        if case .found(let answer) = look { return .respond(answer) }
        let options = options(isGet: objectId != nil)
        guard let options, let message = message(options, className, objectId) else {
            prepared(PreparedRead(look, options: options))
            return nil
        }
        let missing: ReadCache.Missing? = if case .missing(let place) = look { place } else { nil }
        return ask(.object(missing), message)
    }

    /// The options of a read; nil when they are not valid, which the route's handler reports.
    private func options(isGet: Bool) -> QueryOptions? {
        guard let options = try? request.options() else { return nil }
        let configuration = router.configuration
        return isGet
            ? try? QueryOptions(get: options)
            : try? QueryOptions(find: options, limitMax: configuration.limitMax, skipMax: configuration.skipMax)
    }

    /// The message to the service; nil when the answer takes more than one message.
    private func message(_ options: QueryOptions, _ className: String, _ objectId: String?) -> ServiceMessage? {
        guard options.include.isEmpty else { return nil }
        if let objectId { return .get(ObjectsController.message(className, objectId, options)) }
        guard options.redirectKey == nil, !SubQueries.mayOccur(in: options.filter) else { return nil }
        let message = Federation.message(className, options, filter: options.filter, hooks: nil)
        // A name with a dot leads to other classes, which may have triggers.
        return message.foreignClasses.isEmpty ? .find(message) : nil
    }

    /// The download of a whole public file.
    mutating func plainDownload() -> Action? {
        guard request.method == .get, !request.isHead, request.path.first == "files", request.credentials.context == nil
        else { return nil }
        switch router.controllers.files.begin(request.path, request.headers, request.requestId) {
        case .answer(let answer): return .respond(answer)
        case .question(let message, let look): return ask(.file(message, look), .file(message))
        case nil: return nil
        }
    }

    // MARK: - Changes

    /// A create or an update of one object.
    private mutating func plainChange(of className: String) -> Action? {
        let isCreate = request.method == .post
        guard request.path.count == (isCreate ? 2 : 3) else { return nil }
        guard router.hooks.areNone(HookedWrite.triggers, on: className) else {
            // The task of a create decodes little when only cloud code has triggers. The task of an update decodes the
            // stored object, and that of a webhook an answer that may be large.
            return .needsTask(onLoop: isCreate && router.hooks.hasNoWebhook(HookedWrite.triggers, on: className))
        }
        let change = ObjectsController.change(
            isCreate ? .create : .update, className, isCreate ? nil : String(request.path[2]))
        return ask(.change(change), .change(change, document: request.document))
    }

    private mutating func plainEvent() -> Action? {
        let path = request.path
        guard request.method == .post, path.count == 2, path[0] == "events",
            let event = EventsController.event(named: path[1])
        else { return nil }
        return ask(.event, .event(event, document: request.document))
    }

    // MARK: - Replies

    /// The response that a reply brings. A read that needs more room goes on in its route's handler.
    mutating func outcome(of pending: Pending, _ result: ServiceResult) -> Action {
        switch (pending, result) {
        case (.object(let missing), .document(let body, let alike, let everybody)):
            guard let missing, let cache = router.controllers.objects.cache else {
                return .respond(ParseResponse(body: body))
            }
            return .respond(cache.answer(body, to: missing, alike: alike, everybody: everybody))
        case (.object(let missing), .tooLarge(let needed)):
            prepared(PreparedRead(missing.map { ReadCache.Look.missing($0) } ?? .unfit, bytesNeeded: needed))
            return .needsTask(onLoop: false)
        case (.file(let message, let look), .file(let file, let part)):
            return .respond(router.controllers.files.answer(toPlain: message, look, file, part, request.requestId))
        case (.file, .failure(let error)) where error.code == .objectNotFound:
            return .respond(FilesController.notFound)
        case (.change(let change), .written(let reply)):
            do throws(ParseError) {
                return .respond(try router.controllers.objects.answer(to: change, reply))
            } catch {
                return .respond(router.response(to: error))
            }
        case (.event, .accepted(let reply)): return .respond(EventsController.answer(to: reply))
        case (_, .failure(let error)): return .respond(router.response(to: error))
        default: return .respond(ParseResponse(.internalError))
        }
    }
}

/// The state of a read before its route's handler begins: the result of the cache look-up, the decoded options, and the
/// room that the answer needs.
final class PreparedRead: Sendable {
    let look: ReadCache.Look
    /// Nil when they are still to be decoded.
    let options: QueryOptions?
    /// The size of the answer in bytes as the service estimates it; 0 when the service was not asked.
    let bytesNeeded: Int

    init(_ look: ReadCache.Look, options: QueryOptions? = nil, bytesNeeded: Int = 0) {
        self.look = look
        self.options = options
        self.bytesNeeded = bytesNeeded
    }
}
