import Foundation
import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// Object changes, from the message to the outcomes.
extension ServiceRoutes {
    /// The decoded changes of a message. An undecodable document fails only its own change.
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
                // Import files repeat the class name in each row.
                if !change.imports { try ProposedChange.requireUnnamed(object) }
                let chosenId = change.imports ? object["objectId"]?.stringValue ?? "" : change.objectID
                var proposed = ProposedChange(
                    verb: verb, className: change.className, objectId: chosenId.isEmpty ? nil : chosenId,
                    proposedId: change.proposedID.isEmpty ? nil : change.proposedID, object: object,
                    principal: request.envelope.principal, isImported: change.imports, bytes: document.count,
                    for: request)
                proposed.shown = change.shown
                return proposed
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

    /// Applies the changes in order. Unless `atomic`, each change succeeds or fails alone, and a failure becomes part
    /// of the reply.
    /// - Parameter audit: collects notes about an operator's changes; nil for customers.
    static func apply(
        _ changes: [Result<ProposedChange, ParseError>], atomic: Bool, rules: [String: any ClassRules],
        audit: AuditedWrite? = nil, in transaction: StoreTransaction
    ) throws -> BusReply {
        var audit = audit
        var reply = WriteReply()
        var answers: [[UInt8]] = []
        var forget: Forget?
        for change in changes {
            try transaction.requireBudget()
            do {
                let change = try change.get()
                let rules = rules[change.className]
                // Atomic changes rely on the savepoint of the whole job.
                let outcome =
                    atomic
                    ? try apply(change, rules, in: transaction)
                    : try transaction.alone(rules == nil ? change : nil) { try apply(change, rules, in: transaction) }
                var reported = WriteOutcome()
                reported.objectID = outcome.objectId
                reported.existed = change.verb == .create && outcome.before != nil
                if rules == nil, !change.shown.isEmpty, outcome.after != nil,
                    let shown = shown(change, outcome.objectId, in: transaction)
                {
                    reported.shown = shown
                }
                reply.outcomes.append(reported)
                audit?.add(change, outcome, in: transaction)
                answers.append(outcome.answer.serialized)
                if let new = outcome.forget { forget = forget.map { $0.merging(new) } ?? new }
            } catch let error as ParseError where !atomic {
                reply.outcomes.append(.with { $0.failure = BusFailure(error).failure })
                answers.append([])
            }
        }
        try audit?.store(in: transaction)
        return BusReply(body: try reply.encoded(), documents: answers, forget: forget)
    }

    /// The fields requested by the gateway, as the client may read them; empty if it may read none. Nil if they cannot
    /// be selected.
    private static func shown(_ change: ProposedChange, _ objectId: String, in transaction: StoreTransaction) -> Data? {
        do {
            let caller = Caller(change.principal)
            return Data(
                try transaction.get(
                    change.className, objectId, keys: change.shown, excludeKeys: [], caller: caller))
        } catch let error as ParseError where [.objectNotFound, .operationForbidden].contains(error.code) {
            return Data()
        } catch {
            return nil
        }
    }

    /// Applies one change with its class's rules. Live queries do not report accounts and roles of another server.
    package static func apply(
        _ proposed: ProposedChange, _ rules: (any ClassRules)?, in transaction: StoreTransaction
    ) throws -> ChangeOutcome {
        guard proposed.isImported, proposed.className.hasPrefix("_") else {
            return try applied(proposed, rules, in: transaction)
        }
        return try transaction.quietly { try applied(proposed, rules, in: transaction) }
    }

    private static func applied(
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

extension StoreTransaction {
    /// Runs a change so that a failure leaves no trace of it.
    /// - Parameter plain: the change, if no rules apply to it.
    fileprivate func alone<T>(_ plain: ProposedChange?, _ body: () throws -> T) throws -> T {
        // A job that runs at once has only this change.
        guard let plain, runsAtOnce || plain.verb != .delete && changesAtOnce(plain.className, plain.object) else {
            return try nested(body)
        }
        return try atOnce(body)
    }
}

extension ServiceRoutes {
    /// Charges a change to the client's quotas, whether or not it succeeds. Deletions are free, so that a client can
    /// always free space.
    private static func count(_ change: ProposedChange, in transaction: StoreTransaction) throws {
        let caller = change.caller
        guard change.verb != .delete, !caller.isOperator else { return }
        let quotas = transaction.quotas
        if change.verb == .create { try quotas.requireDiskSpace(for: caller) }
        try quotas.take([(.objects, change.verb == .create ? 1 : 0), (.objectBytes, change.bytes)], by: caller)
    }

    /// Age that distinguishes a repeated create from a chance collision of ids: no client repeats a create after this
    /// time.
    private static let repetitionMax = Duration.seconds(60)

    /// Creates the object, or detects that the same create was committed before and its reply was lost.
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
            var outcome = ChangeOutcome(
                objectId: id, before: nil, after: stored,
                answer: ["objectId": .string(id), "createdAt": .string(createdAt)])
            outcome.isRepeated = true
            return outcome
        }
    }
}

extension ProposedChange {
    /// Checks that the body does not name the class; the path does.
    /// - Throws: `.invalidKeyName` (105) for a body that does.
    public static func requireUnnamed(_ object: JSON) throws(ParseError) {
        if object["className"] != nil { throw ParseError.invalidFieldName("className") }
    }

    /// The id of the object.
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

extension Forget {
    /// The union of both.
    func merging(_ other: Forget) -> Forget {
        var merged = self
        merged.userIds += other.userIds
        merged.everything = everything || other.everything
        merged.hooks = hooks || other.hooks
        merged.loggedOut += other.loggedOut
        return merged
    }
}
