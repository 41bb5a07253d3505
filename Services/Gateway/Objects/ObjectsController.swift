import Foundation
import MessageBus
import Messages
import ParseProtocol
import ProcessKit

/// `/classes/<C>` and its synonyms: reads and writes objects at the class's owner.
///
/// A class: each use of a struct in `Controllers` would copy it with all of its parts, for each request several times.
final class ObjectsController: Sendable {
    let services: ServiceClient
    let federation: Federation
    let configuration: GatewayConfiguration
    /// Nil when caching is off.
    let cache: ReadCache?
    let openClasses: OpenClasses

    init(
        services: ServiceClient, federation: Federation, configuration: GatewayConfiguration, cache: ReadCache?,
        openClasses: OpenClasses
    ) {
        self.services = services
        self.federation = federation
        self.configuration = configuration
        self.cache = cache
        self.openClasses = openClasses
    }

    /// The catalog takes up to a few seconds for a product with a new photo, and a batch may have several.
    static let writeTimeout = Duration.seconds(30)

    func get(
        _ className: String, _ objectId: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        if let viewer = request.viewer {
            return try await FilteredRead(className, objectId, request, principal, self).answer(as: viewer)
        }
        let look = request.prepared?.look ?? cache?.look(className, objectId, request, principal) ?? .unfit
        if case .found(let answer) = look { return answer }
        var options =
            if let known = request.prepared?.options { known } else { try self.options(of: request, isGet: true) }
        var hooked = try await HookedRead(request.hooks, className, principal)
        let restriction = try await hooked?.before(ids: [objectId], get: options)
        if let changed = restriction?.options { options = changed }
        let message = Self.message(className, objectId, options)
        let reply: ServiceReply<GetReply>?
        var document: [UInt8]
        if let hooked, let objects = restriction?.objects {
            let left = try await hooked.answered(objects, keys: options.keys, excludeKeys: options.excludeKeys)
            guard let object = left.first else { throw .objectNotFound }
            reply = nil
            document = object.serialized
        } else {
            let read = try await services.read(
                ServiceDirectory.calls(ofClass: className).get, message, for: principal, in: request.call)
            reply = read
            document = try read.document
        }
        if let hooked, let restriction, restriction.objects == nil {
            let stored = try JSON(reply: document, in: request.call)
            let object = try await hooked.restricted([objectId: stored], restriction)[objectId]
            guard let object else { throw .objectNotFound }
            document = object.serialized
        }
        let isOwnUser = className == "_User" && objectId == principal.userID && !principal.sessionToken.isEmpty
        guard isOwnUser || !options.include.isEmpty else {
            guard hooked == nil, let missing = look.miss, let reply else { return ParseResponse(body: document) }
            let sharing = try reply.message
            return self.answer(document, to: missing, alike: sharing.alike, everybody: sharing.everybody)
        }
        var object = try JSON(reply: document, in: request.call)
        if !options.include.isEmpty {
            let expanded = try await federation.expand([object], options.include, principal, for: request)
            object = options.selected(expanded[0])
        }
        // Added whatever fields were selected, as in Parse Server: SDKs treat the current user without a token as
        // signed out. Cloud code may have returned another object.
        if isOwnUser, object["objectId"] == .string(objectId) {
            object["sessionToken"] = .string(principal.sessionToken)
        }
        return ParseResponse(object)
    }

    func find(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        if let viewer = request.viewer {
            return try await FilteredRead(className, nil, request, principal, self).answer(as: viewer)
        }
        let look = request.prepared?.look ?? cache?.look(className, nil, request, principal) ?? .unfit
        if case .found(let answer) = look { return answer }
        let asked =
            if let known = request.prepared?.options {
                known
            } else {
                try self.options(of: request, isGet: false, mayExplain: principal.runs([.developers]))
            }
        var target = className
        if let key = asked.redirectKey {
            target = try await federation.target(of: key, className, principal, in: request.call)
        }
        let found = try await federation.found(target, asked, principal, for: request)
        let options = found.options
        let expands = !options.include.isEmpty && !options.explains
        guard expands || options.redirectKey != nil else {
            guard let missing = look.miss, let sharing = try found.sharing else {
                return ParseResponse(body: found.body)
            }
            return self.answer(found.body, to: missing, alike: sharing.alike, everybody: sharing.everybody)
        }
        var answer = try JSON(reply: found.body, in: request.call)
        if expands {
            guard case .array(let results) = answer["results"] else { throw .internalError }
            answer["results"] = .array(
                try await federation.expand(results, options.include, principal, for: request)
                    .map(options.selected))
        }
        if options.redirectKey != nil {
            answer["className"] = .string(target)
            if !options.explains, case .array(let results)? = answer["results"] {
                answer["results"] = .array(
                    results.map { object in
                        var object = object
                        object["className"] = .string(target)
                        return object
                    })
            }
        }
        return ParseResponse(answer)
    }

    func create(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        try await write(Self.change(.create, className, nil), request, principal)
    }

    func update(
        _ className: String, _ objectId: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        try await write(Self.change(.update, className, objectId), request, principal)
    }

    func delete(
        _ className: String, _ objectId: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        try await write(Self.change(.delete, className, objectId), request, principal)
    }

    /// The URL of an object, under the class's own path (PARSE_PROTOCOL section 16.1).
    func location(_ className: String, _ objectId: String) -> String {
        className == "_User"
            ? "\(configuration.publicURL)/users/\(objectId)"
            : "\(configuration.publicURL)/classes/\(className)/\(objectId)"
    }

    private func write(
        _ change: Change, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let outcomes = try await write(
            [(change, request.document)], to: ServiceDirectory.service(ofClass: change.className), atomic: true,
            principal, request)
        guard let first = outcomes.first else { throw .internalError }
        return try answer(to: change, first.outcome, first.answer)
    }

    /// The response to a change, from the reply to a message with this change alone.
    func answer(to change: Change, _ reply: ServiceReply<WriteReply>) throws(ParseError) -> ParseResponse {
        guard let outcome = try Self.outcomes(of: reply, count: 1).first else { throw .internalError }
        return try answer(to: change, outcome, reply.document)
    }

    /// The response to a change. A create gets 201, also for an existing favourite, but 200 for an existing device.
    private func answer(
        to change: Change, _ outcome: WriteOutcome, _ document: [UInt8]
    ) throws(ParseError) -> ParseResponse {
        guard !outcome.hasFailure else { throw ParseError(BusFailure(outcome.failure)) }
        guard change.verb == .create, !outcome.existed || change.className != "_Installation" else {
            return ParseResponse(body: document)
        }
        return ParseResponse(status: 201, body: document, location: location(change.className, outcome.objectID))
    }

    /// The outcomes in the reply to so many changes. Each has a document.
    private static func outcomes(
        of reply: ServiceReply<WriteReply>, count: Int
    ) throws(ParseError) -> [WriteOutcome] {
        let outcomes = try reply.message.outcomes
        guard outcomes.count == count, reply.documents.count == count else { throw .internalError }
        return outcomes
    }

    /// The message for one change; the caller adds its document.
    static func change(_ verb: Change.Verb, _ className: String, _ objectId: String?) -> Change {
        Change.with {
            $0.verb = verb
            $0.className = className
            $0.objectID = objectId ?? ""
            if verb == .create { $0.proposedID = Names.objectId() }
        }
    }

    /// Sends several changes to one service in one message.
    /// - Parameter atomic: all or nothing: a failure is thrown. Otherwise a failure is in its outcome. An error of an
    ///   awaited `afterDelete` is always in the outcome, because the change was made.
    func write(
        _ changes: [(change: Change, document: [UInt8])], to service: String, atomic: Bool, _ principal: Principal,
        _ request: ParseRequest
    ) async throws(ParseError) -> [(outcome: WriteOutcome, answer: [UInt8])] {
        if let scope = request.hooks, let table = try await HookedWrite.table(scope, for: changes) {
            let hooked = HookedWrite(
                scope: scope, table: table, service: service, principal: principal,
                openClasses: openClasses)
            return try await hooked.run(changes, atomic: atomic) { items throws(ParseError) in
                try await writeWithoutTriggers(items, to: service, atomic: atomic, principal, request.call)
            }
        }
        return try await writeWithoutTriggers(changes, to: service, atomic: atomic, principal, request.call)
    }

    private func writeWithoutTriggers(
        _ changes: [(change: Change, document: [UInt8])], to service: String, atomic: Bool, _ principal: Principal,
        _ context: CallContext
    ) async throws(ParseError) -> [(outcome: WriteOutcome, answer: [UInt8])] {
        let reply = try await services.write(
            ObjectCalls(of: service).write, Self.message(changes.map(\.change), atomic: atomic),
            documents: changes.map(\.document), for: principal, in: context, timeout: Self.writeTimeout)
        return Array(zip(try Self.outcomes(of: reply, count: changes.count), reply.documents))
    }

    /// The message with several changes; the caller adds their documents.
    static func message(_ changes: [Change], atomic: Bool) -> WriteRequest {
        WriteRequest.with {
            $0.changes = changes
            $0.atomic = atomic
        }
    }
}
