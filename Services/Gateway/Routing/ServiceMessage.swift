import MessageBus
import Messages
import ParseProtocol
import SwiftProtobuf

/// One message to a service, whose reply is the response to a request.
enum ServiceMessage: Sendable {
    case get(GetRequest)
    case find(FindRequest)
    case file(FileRequest)
    case change(Change, document: [UInt8])
    case event(AppEvent, document: [UInt8])

    fileprivate var isChange: Bool {
        switch self {
        case .get, .find, .file: false
        case .change, .event: true
        }
    }
}

/// The reply to a `ServiceMessage`.
enum ServiceResult: Sendable {
    /// - alike: whether all callers of the same kind get this reply. The two kinds are the master key, and callers
    ///   without a user.
    /// - everybody: with `alike`, whether also callers with a user get the reply of callers without one.
    case document([UInt8], alike: Bool, everybody: Bool)
    /// The page is larger than the message allowed; it needs so many bytes.
    case tooLarge(needed: Int)
    case file(FileReply, firstPart: [UInt8])
    /// The event loop, not the broker's thread, decodes this reply and that of `accepted`.
    case written(ServiceReply<WriteReply>)
    case accepted(ServiceReply<Accepted>)
    case failure(ParseError)
}

extension ServiceClient {
    /// Sends the message, and does not wake the broker: the caller then calls `broker.wake`.
    /// - Parameter completion: called once, on the broker's thread or before this method returns. It must not block.
    func ask(
        _ message: ServiceMessage, for principal: Principal, in context: CallContext,
        completion: @escaping @Sendable (ServiceResult) -> Void
    ) {
        switch message {
        case .get(let message):
            let calls = ServiceDirectory.plainCalls(ofClass: message.className)
            ask(calls.get, message, for: principal, in: context) {
                completion(Self.documentAnswer($0) { ($0.alike, $0.everybody, needed: 0) })
            }
        case .find(var message):
            let calls = ServiceDirectory.plainCalls(ofClass: message.className)
            if let hold = context.hold { message.answerBytesMax = UInt32(ReplySizeLimit(for: hold).bytesMax) }
            ask(calls.find, message, for: principal, in: context) {
                completion(Self.documentAnswer($0) { ($0.alike, $0.everybody, needed: Int($0.bytesNeeded)) })
            }
        case .file(let message):
            ask(FileCalls.get, message, for: principal, in: context) { completion(Self.fileAnswer($0)) }
        case .change(let change, let document):
            let message = ObjectsController.message([change], atomic: true)
            ask(
                ServiceDirectory.plainCalls(ofClass: change.className).write, toChange: { try message.encoded() },
                document, for: principal, in: context, timeout: ObjectsController.writeTimeout
            ) { result in completion(Self.changeAnswer(result) { .written($0) }) }
        case .event(let event, let document):
            ask(
                AnalyticsCalls.event, toChange: { try event.serializedBytes() }, document, for: principal,
                in: context, timeout: EventsController.timeout
            ) { result in completion(Self.changeAnswer(result) { .accepted($0) }) }
        }
    }

    /// Sends the message for a task, and waits for the reply.
    func reply(
        to message: ServiceMessage, for principal: Principal, in context: CallContext
    ) async -> ServiceResult {
        // The client has gone, so no read is sent. For a change, `ask` first calls `hold.markChanging()`.
        if !message.isChange, context.hold?.isAbandoned == true { return .failure(ParseError(.abandoned)) }
        if context.budget?.isSpent == true { return .failure(ParseError(.budgetSpent)) }
        return await withCheckedContinuation { continuation in
            ask(message, for: principal, in: context) { continuation.resume(returning: $0) }
            broker.wake()
        }
    }

    private static func changeAnswer<Reply>(
        _ result: Result<ServiceReply<Reply>, ParseError>, _ made: (ServiceReply<Reply>) -> ServiceResult
    ) -> ServiceResult {
        switch result {
        case .success(let reply): made(reply)
        case .failure(let error): .failure(error)
        }
    }

    private static func fileAnswer(_ result: Result<ServiceReply<FileReply>, ParseError>) -> ServiceResult {
        do throws(ParseError) {
            let reply = try result.get()
            return .file(try reply.message, firstPart: reply.documents.first ?? [])
        } catch {
            return .failure(error)
        }
    }

    private static func documentAnswer<Reply>(
        _ result: Result<ServiceReply<Reply>, ParseError>,
        _ read: (Reply) -> (alike: Bool, everybody: Bool, needed: Int)
    ) -> ServiceResult {
        do throws(ParseError) {
            let reply = try result.get()
            let (alike, everybody, needed) = read(try reply.message)
            guard let document = reply.documents.first else { return .tooLarge(needed: needed) }
            return .document(document, alike: alike, everybody: everybody)
        } catch {
            return .failure(error)
        }
    }
}
