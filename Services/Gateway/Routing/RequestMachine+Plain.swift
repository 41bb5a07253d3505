import Messages
import ParseProtocol

/// The route stage. It answers plain requests: the read cache, or one message to one service, is enough for them. It
/// leaves every other request to the route's handler in a task.
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

    /// Answers with the caller's own account, if it is in the cache.
    private mutating func plainAccount() -> Action? {
        guard let look = router.controllers.objects.cache?.lookAccount(request, principal) else { return nil }
        if case .found(let answer) = look { return .respond(answer) }
        setPreparedRead(PreparedRead(look))
        return nil
    }

    /// Answers a read that needs no trigger, include, sub-query or field of another class; nil for any other.
    private mutating func plainRead() -> Action? {
        guard let className, router.hooks.hasNoTriggers(HookedRead.triggers, on: className) else { return nil }
        let objectId = request.path.count == 3 ? String(request.path[2]) : nil
        switch router.controllers.objects.oneMessage(for: className, objectId, request, principal) {
        case .cached(let answer): return .respond(answer)
        case .ask(let message, let missing): return ask(.read(missing), message)
        case .more(let read):
            setPreparedRead(read)
            return nil
        }
    }

    /// Starts the download of a whole public file; nil for any other request.
    mutating func plainDownload() -> Action? {
        guard request.method == .get, !request.isHead, request.path.first == "files", request.credentials.context == nil
        else { return nil }
        switch router.controllers.files.startDownload(request.path, request.headers, request.requestId) {
        case .cached(let answer): return .respond(answer)
        case .ask(let message, let look): return ask(.file(message, look), .file(message))
        case nil: return nil
        }
    }

    // MARK: - Changes

    /// Sends a create or an update of one object; nil for any other request.
    private mutating func plainChange(of className: String) -> Action? {
        let isCreate = request.method == .post
        guard request.path.count == (isCreate ? 2 : 3) else { return nil }
        guard router.hooks.hasNoTriggers(HookedWrite.triggers, on: className) else {
            guard !isInTask else { return nil }
            // A create whose triggers are all cloud code decodes little, so its task may run on the event loop. A task
            // for an update decodes the stored object; a task for a webhook decodes a response that may be large.
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

    /// The action after a service's reply. When a page is larger than the message allowed, the route's handler reads it
    /// again.
    mutating func outcome(of pending: Pending, _ result: ServiceResult) -> Action {
        switch (pending, result) {
        case (.read(let missing), .document(let body, let alike, let everybody)):
            return .respond(
                router.controllers.objects.answer(body, to: missing, alike: alike, everybody: everybody))
        case (.read(let missing), .tooLarge(let needed)):
            setPreparedRead(PreparedRead(missing.map { ReadCache.Look.missing($0) } ?? .unfit, bytesNeeded: needed))
            return next()
        case (.file(let message, let look), .file(let file, let part)):
            return .respond(router.controllers.files.wholeFile(message, look, file, part, request.requestId))
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

/// The parts of a read that the route stage and the handlers share.
extension ObjectsController {
    /// How a read of a class without triggers is answered.
    enum ReadStart {
        case cached(ParseResponse)
        /// One message to one service is enough.
        case ask(ServiceMessage, ReadCache.Missing?)
        /// More than one message is needed, or the options are not valid.
        case more(PreparedRead)
    }

    /// - Parameter objectId: nil for a query.
    func oneMessage(
        for className: String, _ objectId: String?, _ request: ParseRequest, _ principal: Principal
    ) -> ReadStart {
        let look = cache?.look(className, objectId, request, principal) ?? .unfit
        if case .found(let answer) = look { return .cached(answer) }
        let options = try? self.options(of: request, isGet: objectId != nil)
        guard let options, let message = Self.oneMessage(options, className, objectId) else {
            return .more(PreparedRead(look, options: options))
        }
        return .ask(message, look.miss)
    }

    /// The message to the service; nil when the response takes more than one message.
    private static func oneMessage(
        _ options: QueryOptions, _ className: String, _ objectId: String?
    ) -> ServiceMessage? {
        guard options.include.isEmpty else { return nil }
        if let objectId { return .get(Self.message(className, objectId, options)) }
        guard options.redirectKey == nil, !SubQueries.mayOccur(in: options.filter) else { return nil }
        let message = Federation.message(className, options, filter: options.filter, hooks: nil)
        // A name with a dot leads to other classes, which may have triggers.
        return message.foreignClasses.isEmpty ? .find(message) : nil
    }

    func options(
        of request: ParseRequest, isGet: Bool, mayExplain: Bool = false
    ) throws(ParseError) -> QueryOptions {
        let options = try request.options()
        if isGet { return try QueryOptions(get: options) }
        return try QueryOptions(
            find: options, limitMax: configuration.limitMax, skipMax: configuration.skipMax, mayExplain: mayExplain)
    }

    /// The response to a read that took one message. It is cached when other callers get the same.
    func answer(_ body: [UInt8], to missing: ReadCache.Missing?, alike: Bool, everybody: Bool) -> ParseResponse {
        guard let missing, let cache else { return ParseResponse(body: body) }
        return cache.answer(body, to: missing, alike: alike, everybody: everybody)
    }

    /// The request for one object, without the objects in its pointers.
    static func message(_ className: String, _ objectId: String, _ options: QueryOptions) -> GetRequest {
        GetRequest.with {
            $0.className = className
            $0.objectID = objectId
            $0.keys = options.keys
            $0.excludeKeys = options.excludeKeys
        }
    }
}

/// The state of a read before its route's handler runs: the result of the cache look-up, the decoded options, and the
/// size of the reply.
final class PreparedRead: Sendable {
    let look: ReadCache.Look
    /// Nil when they are still to be decoded.
    let options: QueryOptions?
    /// The size of the reply in bytes as the service estimates it; 0 when the service was not asked.
    let bytesNeeded: Int

    init(_ look: ReadCache.Look, options: QueryOptions? = nil, bytesNeeded: Int = 0) {
        self.look = look
        self.options = options
        self.bytesNeeded = bytesNeeded
    }
}
