import Foundation
import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// The routes of every service with Parse objects: get, find, fetch and write (Shared/Messages/Protos/objects.proto).
extension ServiceRoutes {
    mutating func installObjects() {
        let calls = ObjectCalls(of: host.plan.name)
        let rules = rules
        let plan = host.plan
        let completion = host.plan.completion
        /// The body with data that only the requesting client may see.
        let completed: @Sendable (ShownAnswer, ServiceRequest, StoreReader) throws -> [UInt8] = {
            answer, request, reader in
            try completion?(answer, request, reader) ?? answer.body
        }
        let caller: @Sendable (Principal, String) -> Caller = { principal, className in
            plan.caller(principal, reading: className)
        }

        let isSchemaClosed = host.quotas.settings.isSchemaClosed
        let slow = SlowQueries(limit: host.configuration.start.slowAfter, logger: host.logger)

        let getReply: @Sendable (ReadObject) throws -> BusReply = { object in
            guard object.sharing != .nobody else { return BusReply(documents: [object.body]) }
            let reply = GetReply.with {
                $0.alike = true
                $0.everybody = object.sharing == .everybody
            }
            return try BusReply(reply, documents: [object.body])
        }
        read(
            framed: calls.get,
            collecting: { message, request, reader in
                guard completion == nil else { return nil }
                return try reader.collectedRead(
                    message.className, message.objectID, keys: message.keys, excludeKeys: message.excludeKeys,
                    caller: caller(request.envelope.principal, message.className))
            }, answer: getReply
        ) { message, request, reader in
            let caller = caller(request.envelope.principal, message.className)
            let object: ReadObject
            do {
                object = try reader.read(
                    message.className, message.objectID, keys: message.keys, excludeKeys: message.excludeKeys,
                    caller: caller)
            } catch let error as ParseError where error.code == .objectNotFound {
                if isSchemaClosed, !caller.isOperator { try reader.requireKnown(message.className) }
                throw error
            }
            guard completion != nil else { return try getReply(object) }
            // A completed body is specific to the client and must not be shared.
            let body = try completed(
                ShownAnswer(
                    className: message.className, keys: message.keys, excludeKeys: message.excludeKeys,
                    body: object.body),
                request, reader)
            return BusReply(documents: [body])
        }

        read(framed: calls.find) { message, request, reader in
            if message.explain {
                try request.requireMaster(or: .developers)
                // A developer gets the plan of the query with a developer's own permissions.
                let principal = request.envelope.principal
                let asker = principal.master ? .master : caller(principal, message.className)
                return try BusReply(FindReply(), documents: [try reader.explain(Query(message), caller: asker)])
            }
            let caller = caller(request.envelope.principal, message.className)
            let query = Query(message)
            let page = try slow.watching(query, caller, request, reader) { try reader.find(query, caller: caller) }
            if isSchemaClosed, !caller.isOperator {
                try reader.requireKnown(message.className, order: message.order)
            }
            if page.bytesNeeded > 0 {
                return try BusReply(FindReply.with { $0.bytesNeeded = UInt32(page.bytesNeeded) })
            }
            let body = try completed(
                ShownAnswer(
                    className: message.className, keys: message.keys, excludeKeys: message.excludeKeys,
                    body: page.body),
                request, reader)
            let reply = FindReply.with {
                $0.rows = UInt32(page.rows)
                $0.alike = completion == nil && page.sharing != .nobody
                $0.everybody = completion == nil && page.sharing == .everybody
            }
            return try BusReply(reply, documents: [body])
        }

        installLookups(for: caller)

        read(framed: calls.fetch) { message, request, reader in
            var reply = FetchReply()
            var documents: [[UInt8]] = []
            let bytesMax = message.answerBytesMax == 0 ? nil : Int(message.answerBytesMax)
            var bytes = 0
            for wanted in message.wanted {
                let found: [(objectId: String, document: [UInt8])]
                do {
                    found = try reader.fetch(
                        wanted.className, ids: wanted.objectIds, keys: wanted.keys,
                        caller: caller(request.envelope.principal, wanted.className),
                        bytesMax: bytesMax.map { max(0, $0 - bytes) })
                } catch let answer as ResponseTooBig {
                    let rows = message.wanted.reduce(0) { $0 + $1.objectIds.count }
                    let needed = answer.needed(rows: rows, after: (bytes, reply.found.count))
                    return try BusReply(FetchReply.with { $0.bytesNeeded = UInt32(needed) })
                }
                bytes = found.reduce(bytes) { $0 + $1.document.count }
                for (objectId, document) in found {
                    reply.found.append(
                        .with {
                            $0.className = wanted.className; $0.objectID = objectId
                        })
                    documents.append(
                        try completed(
                            ShownAnswer(
                                className: wanted.className, keys: wanted.keys, excludeKeys: [], body: document),
                            request, reader))
                }
            }
            return try BusReply(reply, documents: documents)
        }

        // Runs in a task on the store's readers: an aggregate may take seconds and must not block a lane.
        task(framed: calls.aggregate) { [host] message, request in
            let caller = caller(request.envelope.principal, message.className)
            let page = try await host.store.read(for: request.share) { reader in
                if !message.distinct.isEmpty {
                    let query = Query(className: message.className, where: Array(message.where))
                    return try reader.distinct(message.distinct, of: query, caller: caller)
                }
                return try reader.aggregate(
                    Aggregate(
                        className: message.className, pipeline: try JSON(clientText: Array(message.pipeline)),
                        explains: message.explain), caller: caller)
            }
            return try BusReply(
                AggregateReply.with { $0.rows = UInt32(clamping: page.rows) }, documents: [page.body])
        }

        routes[calls.write.kind] = .choice { [host] request in
            let message = try WriteRequest(serializedBytes: request.body)
            let proposals = try Self.proposals(message, request)
            let audit = AuditedWrite(message, request, host.audit)
            let prepares = message.changes.contains { rules[$0.className]?.prepares ?? false }
            // Without preparation the lane submits the write directly, without a task.
            if !prepares {
                let isPlain = message.changes.allSatisfy { rules[$0.className] == nil }
                let isCreate = isPlain && proposals.allSatisfy(\.isRepeatableCreate)
                return .plainWrite(
                    // Unkeyed, a repetition of an audited create would find the object and be logged again.
                    keyed: !isCreate || audit != nil,
                    atOnce: Self.changesAtOnce(isPlain && audit == nil ? proposals : [], isCreate: isCreate),
                    { try Self.apply(proposals, atomic: message.atomic, rules: rules, audit: audit, in: $0) })
            }
            return .task { request in
                var prepared: [Result<ProposedChange, ParseError>] = []
                for proposal in proposals {
                    // Stops slow work, such as hashing a batch of passwords, once the client has timed out; also for
                    // operators.
                    guard !request.isTooLate else { throw BusFailure.timedOut }
                    prepared.append(await Self.prepare(proposal, rules))
                }
                let changes = prepared
                return try await host.commit(request) {
                    try Self.apply(changes, atomic: message.atomic, rules: rules, audit: audit, in: $0)
                }
            }
        }
    }
}

extension ServiceRoutes {
    /// Whether the changes are one change that needs no savepoint.
    /// - Parameter proposals: empty for changes with more effects than on their objects.
    private static func changesAtOnce(
        _ proposals: [Result<ProposedChange, ParseError>], isCreate: Bool
    ) -> @Sendable (StoreTransaction) -> Bool {
        guard proposals.count == 1, case .success(let change) = proposals[0], isCreate || change.verb == .update else {
            return { _ in false }
        }
        let (className, object) = (change.className, change.object)
        // PostgreSQL cannot store the reply to a refused update without a savepoint.
        return { (isCreate || $0.dialect == .sqlite) && $0.changesAtOnce(className, object) }
    }
}

extension Result<ProposedChange, ParseError> {
    /// True for a create with the id that the gateway proposed, not one chosen by the client.
    fileprivate var isRepeatableCreate: Bool {
        guard case .success(let change) = self else { return false }
        return change.verb == .create && !change.isImported && change.objectId == nil && change.proposedId != nil
            && change.object["objectId"] == nil
    }
}

extension Query {
    init(_ message: FindRequest) {
        self.init(
            className: message.className, where: Array(message.where), order: message.order, limit: Int(message.limit),
            skip: Int(message.skip), wantsCount: message.count, keys: message.keys, excludeKeys: message.excludeKeys)
        if message.hasAfter { after = message.after }
        foreignClasses = Set(message.foreignClasses)
        hookedClasses = Set(message.hookedClasses)
        if message.answerBytesMax > 0 { answerBytesMax = Int(message.answerBytesMax) }
    }
}
