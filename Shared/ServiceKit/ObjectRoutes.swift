import Foundation
import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// The kinds every service with Parse objects answers: get, find, fetch and write (Shared/Messages/Protos/objects.proto).
extension ServiceRoutes {
    mutating func installObjects() {
        let calls = ObjectCalls(of: host.plan.name)
        let rules = rules
        let readingCaller = host.plan.readingCaller
        let completion = host.plan.completion
        /// The body with what the asking client alone may see.
        let completed: @Sendable (ShownAnswer, ServiceRequest, StoreReader) throws -> [UInt8] = { answer, request, reader in
            try completion?(answer, request, reader) ?? answer.body
        }
        let caller: @Sendable (Principal, String) -> Caller = { principal, className in
            // Whoever reads a session's token can act as its user, which the read-only key must not lead to: with it nobody's
            // sessions are there.
            principal.readOnly && className == "_Session" ? .anonymous : readingCaller(principal)
        }

        read(framed: calls.get) { message, request, reader in
            let body = try reader.get(
                message.className, message.objectID, keys: message.keys, excludeKeys: message.excludeKeys,
                caller: caller(request.envelope.principal, message.className))
            return BusReply(documents: [
                try completed(
                    ShownAnswer(
                        className: message.className, keys: message.keys, excludeKeys: message.excludeKeys, body: body),
                    request, reader)
            ])
        }

        read(framed: calls.find) { message, request, reader in
            if message.explain {
                try request.requireMaster()
                return try BusReply(
                    FindReply(), documents: [try reader.explain(Query(message), caller: .master)])
            }
            let page = try reader.find(Query(message), caller: caller(request.envelope.principal, message.className))
            if page.bytesNeeded > 0 { return try BusReply(FindReply.with { $0.bytesNeeded = UInt32(page.bytesNeeded) }) }
            let answer = ShownAnswer(
                className: message.className, keys: message.keys, excludeKeys: message.excludeKeys, body: page.body)
            let body = try completed(answer, request, reader)
            return try BusReply(FindReply.with { $0.rows = UInt32(page.rows) }, documents: [body])
        }

        installLookups(for: caller)

        read(framed: calls.fetch) { message, request, reader in
            var reply = FetchReply()
            var documents: [[UInt8]] = []
            var room = message.answerBytesMax == 0 ? nil : Int(message.answerBytesMax)
            for wanted in message.wanted {
                let found: [(objectId: String, document: [UInt8])]
                do {
                    found = try reader.fetch(
                        wanted.className, ids: wanted.objectIds, keys: wanted.keys,
                        caller: caller(request.envelope.principal, wanted.className), bytesMax: room)
                } catch let answer as OutgrownAnswer {
                    let rows = message.wanted.reduce(0) { $0 + $1.objectIds.count }
                    return try BusReply(FetchReply.with { $0.bytesNeeded = UInt32(answer.needed(rows: rows)) })
                }
                room = room.map { left in max(0, found.reduce(left) { $0 - $1.document.count }) }
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

        // From a task and the store's own readers: an aggregate may take seconds, for which no lane should be closed to others.
        task(framed: calls.aggregate) { [host] message, request in
            let caller = caller(request.envelope.principal, message.className)
            let page = try await host.store.read { reader in
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
            // Plain data has nothing to prepare: the lane hands it to the writer without a task in between.
            if message.changes.allSatisfy({ rules[$0.className] == nil }) {
                return .write(keyed: !proposals.allSatisfy(\.isRepeatableCreate)) { _ in
                    { try Self.apply(proposals, atomic: message.atomic, rules: [:], in: $0) }
                }
            }
            return .task { request in
                var prepared: [Result<ProposedChange, ParseError>] = []
                for proposal in proposals { prepared.append(await Self.prepare(proposal, rules)) }
                let changes = prepared
                return try await host.commit(request) {
                    try Self.apply(changes, atomic: message.atomic, rules: rules, in: $0)
                }
            }
        }
    }

    /// The changes of a message, decoded; a document that cannot be is a failure of its own change only.
    static func proposals(
        _ message: WriteRequest, _ request: ServiceRequest
    ) throws -> [Result<ProposedChange, ParseError>] {
        guard message.changes.count == request.documents.count, !message.changes.isEmpty else {
            throw ParseError(.invalidJSON, "Each change needs its document.")
        }
        return zip(message.changes, request.documents).map { change, document in
            Result { () throws(ParseError) in
                let verb = try ProposedChange.Verb(change.verb)
                let object = verb == .delete ? [:] : try JSON(clientText: document)
                guard case .object = object else { throw ParseError(.invalidJSON, "An object is needed.") }
                // Files name the class again in each row.
                if !change.imports { try ProposedChange.requireUnnamed(object) }
                let chosenId = change.imports ? object["objectId"]?.stringValue ?? "" : change.objectID
                return ProposedChange(
                    verb: verb, className: change.className, objectId: chosenId.isEmpty ? nil : chosenId,
                    proposedId: change.proposedID.isEmpty ? nil : change.proposedID, object: object,
                    principal: request.envelope.principal, isImported: change.imports, bytes: document.count)
            }
        }
    }

    static func prepare(
        _ proposal: Result<ProposedChange, ParseError>, _ rules: [String: any ClassRules]
    ) async -> Result<ProposedChange, ParseError> {
        do {
            var change = try proposal.get()
            try await rules[change.className]?.prepare(&change)
            return .success(change)
        } catch let error as ParseError {
            return .failure(error)
        } catch {
            return .failure(.internalError)
        }
    }

    /// Applies the changes in order. Not atomic: each stands for itself, and a failure is an answer, not an error.
    private static func apply(
        _ changes: [Result<ProposedChange, ParseError>], atomic: Bool, rules: [String: any ClassRules],
        in transaction: StoreTransaction
    ) throws -> BusReply {
        var reply = WriteReply()
        var answers: [[UInt8]] = []
        var forget: Forget?
        for change in changes {
            try transaction.requireBudget()
            do {
                let change = try change.get()
                // All or nothing is what the job's own savepoint does already.
                let outcome =
                    atomic
                    ? try apply(change, rules[change.className], in: transaction)
                    : try transaction.nested { try apply(change, rules[change.className], in: transaction) }
                reply.outcomes.append(.with { $0.objectID = outcome.objectId })
                answers.append(outcome.answer.serialized)
                if let new = outcome.forget { forget = forget.map { $0.merging(new) } ?? new }
            } catch let error as ParseError where !atomic {
                reply.outcomes.append(.with { $0.failure = BusFailure(error).failure })
                answers.append([])
            }
        }
        return try BusReply(reply, documents: answers, forget: forget)
    }

    /// One change with its class's rules.
    package static func apply(
        _ proposed: ProposedChange, _ rules: (any ClassRules)?, in transaction: StoreTransaction
    ) throws -> ChangeOutcome {
        var change = proposed
        if change.isImported, let id = change.objectId, try transaction.exists(change.className, id) {
            change.verb = .update
        }
        try count(change, in: transaction)
        if let outcome = try rules?.replaces(change, in: transaction) { return outcome }
        try rules?.before(&change, in: transaction)
        var outcome: ChangeOutcome
        switch change.verb {
        case .create:
            outcome = try create(change, in: transaction)
        case .update:
            let updated = try transaction.update(
                change.className, try change.requiredObjectId, change.object,
                keepsTimes: change.principal.maintenance, caller: change.caller)
            outcome = ChangeOutcome(
                objectId: try change.requiredObjectId, before: updated.before, after: updated.document,
                answer: updated.answer)
        case .delete:
            let before = try transaction.delete(change.className, try change.requiredObjectId, caller: change.caller)
            outcome = ChangeOutcome(objectId: try change.requiredObjectId, before: before, after: nil, answer: [:])
        }
        try rules?.after(change, &outcome, in: transaction)
        return outcome
    }
}

extension ServiceRoutes {
    /// What a client saves counts, whatever becomes of it. What it deletes does not, so that there is always a way back.
    private static func count(_ change: ProposedChange, in transaction: StoreTransaction) throws {
        let caller = change.caller
        guard change.verb != .delete, !caller.isOperator else { return }
        let quotas = transaction.quotas
        if change.verb == .create { try quotas.requireDiskSpace(for: caller) }
        try quotas.take([(.objects, change.verb == .create ? 1 : 0), (.objectBytes, change.bytes)], by: caller)
    }

    /// A repetition of a create is told from a chance collision of ids by its age: nobody repeats after so long.
    private static let repetitionMax = Duration.seconds(60)

    /// Creates the object, or finds that this very create was done before and its answer lost.
    private static func create(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome {
        do {
            let created = try transaction.create(
                change.className, change.object, objectId: change.objectId, proposedId: change.proposedId,
                isImported: change.isImported, keepsTimes: change.principal.maintenance, caller: change.caller)
            return ChangeOutcome(
                objectId: created.objectId, before: nil, after: created.document, answer: created.answer)
        } catch let error as ParseError where error.code == .duplicateValue {
            guard let id = change.proposedId,
                let stored = try? JSON(parsing: transaction.get(change.className, id, caller: .master)),
                let createdAt = stored["createdAt"]?.stringValue, let time = Timestamp(iso: createdAt),
                transaction.now < time.advanced(by: repetitionMax)
            else { throw error }
            return ChangeOutcome(
                objectId: id, before: nil, after: stored,
                answer: ["objectId": .string(id), "createdAt": .string(createdAt)])
        }
    }
}

extension Result<ProposedChange, ParseError> {
    /// A create that gets the id the gateway proposed, not one the client chose.
    fileprivate var isRepeatableCreate: Bool {
        guard case .success(let change) = self else { return false }
        return change.verb == .create && !change.isImported && change.objectId == nil && change.proposedId != nil
            && change.object["objectId"] == nil
    }
}

extension ProposedChange {
    /// The path names the class, and a body does not.
    /// - Throws: `.invalidKeyName` (105) for a body that does.
    public static func requireUnnamed(_ object: JSON) throws(ParseError) {
        if object["className"] != nil { throw ParseError.invalidFieldName("className") }
    }

    /// - Throws: `.missingObjectId` (104) when the change names no object.
    public var requiredObjectId: String {
        get throws {
            guard let objectId else { throw ParseError(.missingObjectId, "An objectId is needed.") }
            return objectId
        }
    }
}

extension ProposedChange.Verb {
    fileprivate init(_ verb: Change.Verb) throws(ParseError) {
        switch verb {
        case .create: self = .create
        case .update: self = .update
        case .delete: self = .delete
        case .unknown, .UNRECOGNIZED: throw ParseError(.invalidJSON, "Unknown verb.")
        }
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

extension Forget {
    fileprivate func merging(_ other: Forget) -> Forget {
        var merged = self
        merged.userIds += other.userIds
        merged.everything = everything || other.everything
        return merged
    }
}
