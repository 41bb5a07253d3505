import MessageBus
import Messages
import ParseProtocol

/// A read that waits for nothing but the service that keeps its class, or the file.
enum DirectRead: Sendable {
    /// Its answer is kept.
    case answer(ParseResponse)
    case question(Question)

    /// The question to the service. A class, because it goes to the broker's thread and back.
    final class Question: Sendable {
        enum Message: Sendable {
            case get(GetRequest)
            case find(FindRequest)
            case file(FileRequest, FileCache.Look, trace: String)
        }

        let message: Message
        /// Empty for a file.
        let className: String
        let principal: Principal
        /// The place where the answer may be kept.
        let missing: ReadCache.Missing?

        init(_ message: Message, _ className: String, _ principal: Principal, _ missing: ReadCache.Missing?) {
            self.message = message
            self.className = className
            self.principal = principal
            self.missing = missing
        }
    }

    /// A service's answer.
    enum Reply: Sendable {
        case document([UInt8], alike: Bool, everybody: Bool)
        case file(FileReply, firstPart: [UInt8])
        case failure(ParseError)
        /// The page is larger than was asked for; it needs so many bytes.
        case tooLarge(needed: Int)
    }

    /// The fate of a reply.
    enum Outcome: Sendable {
        case answer(ParseResponse)
        /// Too large for the connection's event loop: the way of all requests goes on with what there is.
        case handedOver(LookedRead)
    }
}

/// The stages of a plain read of objects or of a file, passed without waiting.
extension ParseRouter {
    /// A read that every stage lets pass without having to ask anybody. Nil for every other request: one that a stage
    /// would refuse, one whose session is not in the cache, one that webhooks, includes, sub-queries or limits have to
    /// do with. `passed` decides about those, and for them no more was done here than `ParseRequest.looked` has.
    /// - Parameter request: becomes one that is counted, with its path under the mount, when it is such a read.
    func direct(_ request: inout ParseRequest) -> DirectRead? {
        guard request.method == .get, !request.isHead else { return nil }
        if let download = download(request) { return download }
        guard let (path, className, principal) = passedAtOnce(request, without: HookedRead.triggers)
        else { return nil }
        let objectId = path.count == 3 ? String(path[2]) : nil
        let read: DirectRead
        switch controllers.objects.cache?.look(className, objectId, request, principal) ?? .unfit {
        case .found(let answer): read = .answer(answer)
        case let look:
            let options = options(of: request, isGet: objectId != nil)
            guard let options, let message = message(options, className, objectId) else {
                request.looked = LookedRead(look, options: options)
                return nil
            }
            let missing: ReadCache.Missing? = if case .missing(let place) = look { place } else { nil }
            read = .question(.init(message, className, principal, missing))
        }
        request.path = path
        request.isCounted = true
        return read
    }

    /// The download of a whole file that is everybody's: its stages are the mount, the limits by address and the route,
    /// and it is not counted.
    private func download(_ request: ParseRequest) -> DirectRead? {
        guard let path = openPath(of: request), path.first == "files" else { return nil }
        switch controllers.files.begin(path, request.headers, request.requestId) {
        case .answer(let answer): return .answer(answer)
        case .question(let message, let look):
            return .question(.init(.file(message, look, trace: request.requestId), "", .init(), nil))
        case nil: return nil
        }
    }

    /// The way to `/classes/<C>` or an object of it past stages that let a request pass without having to ask anybody;
    /// nil when one of them may have to, or would refuse it.
    /// - Parameter triggers: those that must not be there.
    /// - Returns: the path under the mount, the class and who asks, who has no key but a client's.
    func passedAtOnce(
        _ request: ParseRequest, without triggers: [HookTable.Trigger]
    ) -> (path: [Substring], className: String, principal: Principal)? {
        guard let path = openPath(of: request), path.count == 2 || path.count == 3,
            path[0] == "classes", path[1].utf8.first != UInt8(ascii: "_")
        else { return nil }
        let className = String(path[1])
        guard Names.isClassName(className), hooks.areNone(triggers, on: className),
            let principal = clientAtOnce(request)
        else { return nil }
        return (path, className, principal)
    }

    /// The path under the mount of a request that neither limits nor a viewer or a context have to do with.
    func openPath(of request: ParseRequest) -> [Substring]? {
        guard request.credentials.context == nil, request.credentials.asUser == nil, admission.isOpen else {
            return nil
        }
        return mount.stripped(from: request.path)
    }

    /// Who asks, with no key but a client's and a session that is known; nil for everybody else.
    func clientAtOnce(_ request: ParseRequest) -> Principal? {
        guard let client = principals.admit(request), !client.isPrivileged else { return nil }
        return principals.known(client, request.credentials)
    }

    /// The options of a read; nil when they cannot be, which its route will say.
    private func options(of request: ParseRequest, isGet: Bool) -> QueryOptions? {
        guard let options = try? request.options() else { return nil }
        return isGet
            ? try? QueryOptions(get: options)
            : try? QueryOptions(find: options, limitMax: configuration.limitMax, skipMax: configuration.skipMax)
    }

    /// What the service is asked; nil when the answer takes more than that.
    private func message(
        _ options: QueryOptions, _ className: String, _ objectId: String?
    ) -> DirectRead.Question.Message? {
        guard options.include.isEmpty else { return nil }
        if let objectId { return .get(ObjectsController.message(className, objectId, options)) }
        guard options.redirectKey == nil, !SubQueries.mayOccur(in: options.filter) else { return nil }
        let message = Federation.message(className, options, filter: options.filter, hooks: nil)
        // A name with a dot leads to other classes, which may have webhooks.
        return message.foreignClasses.isEmpty ? .find(message) : nil
    }

    /// Asks the service. `broker.wake` has to follow.
    /// - Parameter completion: called on the broker's thread.
    func ask(
        _ question: DirectRead.Question, trace: String, _ hold: ByteHold,
        completion: @escaping @Sendable (DirectRead.Reply) -> Void
    ) {
        let services = controllers.objects.services
        let (principal, budget) = (question.principal, configuration.requestBudgetMicroseconds)
        switch question.message {
        case .get(let message):
            let calls = ServiceDirectory.calls(ofClass: question.className)
            services.ask(calls.get, message, for: principal, trace: trace, budget, hold) {
                completion(Self.reply($0) { ($0.alike, $0.everybody, needed: 0) })
            }
        case .find(var message):
            let calls = ServiceDirectory.calls(ofClass: question.className)
            message.answerBytesMax = UInt32(AnswerRoom(for: hold).bytesMax)
            services.ask(calls.find, message, for: principal, trace: trace, budget, hold) {
                completion(Self.reply($0) { ($0.alike, $0.everybody, needed: Int($0.bytesNeeded)) })
            }
        case .file(let message, _, _):
            services.ask(FileCalls.get, message, for: principal, trace: trace, budget, hold) {
                completion(Self.reply($0))
            }
        }
    }

    private static func reply(_ result: Result<ServiceReply<FileReply>, ParseError>) -> DirectRead.Reply {
        do throws(ParseError) {
            let reply = try result.get()
            return .file(try reply.message, firstPart: reply.documents.first ?? [])
        } catch {
            return .failure(error)
        }
    }

    private static func reply<Message>(
        _ result: Result<ServiceReply<Message>, ParseError>,
        _ read: (Message) -> (alike: Bool, everybody: Bool, needed: Int)
    ) -> DirectRead.Reply {
        do throws(ParseError) {
            let reply = try result.get()
            let (alike, everybody, needed) = read(try reply.message)
            guard let document = reply.documents.first else { return .tooLarge(needed: needed) }
            return .document(document, alike: alike, everybody: everybody)
        } catch {
            return .failure(error)
        }
    }

    /// The answer that a reply brings, which is kept when others would get the same, or what is known for the way of
    /// all requests: the body itself or, of one that was not made, how much room it needs.
    /// - Parameters:
    ///   - hold: the memory that the reply is held in.
    ///   - bytesMax: the largest body that is answered from where the reply arrives.
    func outcome(
        of question: DirectRead.Question, _ reply: DirectRead.Reply, _ hold: ByteHold, bytesMax: Int
    ) -> DirectRead.Outcome {
        switch reply {
        case .document(let body, _, _) where body.count > bytesMax:
            return .handedOver(LookedRead(.found(ParseResponse(body: body)), hold: hold))
        case .document(let body, let alike, let everybody):
            guard let missing = question.missing, let cache = controllers.objects.cache else {
                return .answer(ParseResponse(body: body))
            }
            return .answer(cache.answer(body, to: missing, alike: alike, everybody: everybody))
        case .file(let file, let part): return outcome(of: question, file, part, hold)
        case .failure(let error):
            if case .file = question.message, error.code == .objectNotFound { return .answer(FilesController.notFound) }
            return .answer(ParseResponse(error))
        case .tooLarge(let needed):
            let look = question.missing.map { ReadCache.Look.missing($0) } ?? .unfit
            return .handedOver(LookedRead(look, hold: hold, bytesNeeded: needed))
        }
    }

    /// A file that its first part is all of is answered; the rest of another one is sent as the client takes it.
    private func outcome(
        of question: DirectRead.Question, _ file: FileReply, _ part: [UInt8], _ hold: ByteHold
    ) -> DirectRead.Outcome {
        guard case .file(let message, let look, let trace) = question.message else {
            return .answer(ParseResponse(.internalError))
        }
        let answer = controllers.files.answer(toPlain: message, look, file, part, trace)
        return answer.stream == nil ? .answer(answer) : .handedOver(LookedRead(.found(answer), hold: hold))
    }
}
