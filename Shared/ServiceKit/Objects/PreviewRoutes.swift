import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// Checks whether the principal may make a change, without making it, and returns the object that it would change. The
/// gateway calls this before it calls a webhook, so that a webhook reveals no object that the client may not change.
extension ServiceRoutes {
    mutating func installPreview() {
        let rules = rules
        attempt(ObjectCalls(of: host.plan.name).preview) { [host] message, request, reader in
            // The next run of a client's write with a key needs the objects of the first one.
            guard !request.hasClientKey,
                message.changes.allSatisfy({ rules[$0.className] == nil && !$0.imports })
            else { return nil }
            return try Self.rights(of: message, request, host, reader)
        } otherwise: { [host] message, request in
            var changes: [PreviewedChange] = []
            for proposal in try Self.proposals(message, request) {
                changes.append(
                    PreviewedChange(proposed: proposal, prepared: await Self.prepare(proposal, rules)))
            }
            let previewed = changes
            let preview: @Sendable (StoreTransaction) throws -> BusReply = { transaction in
                var reply = PreviewReply()
                var documents: [[UInt8]] = []
                for change in previewed {
                    do {
                        documents.append(try change.before(rules, in: transaction)?.serialized ?? [])
                        reply.outcomes.append(PreviewOutcome())
                    } catch let error as ParseError {
                        documents.append([])
                        reply.outcomes.append(.with { $0.failure = BusFailure(error).failure })
                    }
                }
                return try BusReply(reply, documents: documents)
            }
            return request.hasClientKey
                ? try await host.commit(request, preview)
                : try await host.store.write(for: request.share, preview)
        }
    }

    /// The reply for classes without rules, where a read suffices; nil where it does not.
    private static func rights(
        of message: WriteRequest, _ request: ServiceRequest, _ host: ServiceHost, _ reader: StoreReader
    ) throws -> BusReply? {
        let proposals = try proposals(message, request)
        return try reader.onOneSnapshot {
            var reply = PreviewReply()
            var documents: [[UInt8]] = []
            for proposal in proposals {
                do {
                    let change = try proposal.get()
                    if change.verb == .create { try host.quotas.requireDiskSpace(for: change.caller) }
                    guard case .granted(let before, let everybody) = try change.right(by: reader) else { return nil }
                    documents.append(before ?? [])
                    reply.outcomes.append(.with { $0.everybody = everybody })
                } catch let error as ParseError {
                    documents.append([])
                    reply.outcomes.append(.with { $0.failure = BusFailure(error).failure })
                }
            }
            return try BusReply(reply, documents: documents)
        }
    }
}

extension ProposedChange {
    /// - Throws: `ParseError` when the principal may not make the change.
    fileprivate func right(by reader: StoreReader) throws -> ChangeRight {
        let fields = (object.objectValue ?? [:]).keys
        switch verb {
        case .create:
            // A create with a chosen id is not a plain create.
            guard objectId == nil else { return .undecided }
            return try reader.right(to: .create, className, nil, fields: fields, caller: caller)
        case .update:
            return try reader.right(to: .update, className, try requiredObjectId, fields: fields, caller: caller)
        case .delete:
            return try reader.right(to: .delete, className, try requiredObjectId, fields: fields, caller: caller)
        }
    }
}

/// A change that is tried in a savepoint and rolled back.
private struct PreviewedChange: Sendable {
    let proposed: Result<ProposedChange, ParseError>
    let prepared: Result<ProposedChange, ParseError>

    private struct ForcedRollback: Error {}

    /// Errors about permissions or missing objects. Errors about values are not final: a webhook may correct the
    /// values, and the service validates the result again.
    private static let final: Set<ParseError.Code> = [
        .internalServerError, .serviceUnavailable, .objectNotFound, .invalidClassName, .missingObjectId,
        .operationForbidden, .sessionMissing, .invalidSessionToken, .timeout,
    ]

    /// The stored object; nil on create.
    /// - Throws: `ParseError` when the principal may not make the change.
    func before(_ rules: [String: any ClassRules], in transaction: StoreTransaction) throws -> JSON? {
        do {
            return try attempt(prepared.get(), rules, in: transaction)
        } catch let error as ParseError where !Self.final.contains(error.code) {
            var change = try proposed.get()
            guard change.verb == .update else { return nil }
            // The permission to change the object does not depend on the values.
            change.object = [:]
            return try attempt(change, rules, in: transaction)
        }
    }

    private func attempt(
        _ change: ProposedChange, _ rules: [String: any ClassRules], in transaction: StoreTransaction
    ) throws -> JSON? {
        var before: JSON?
        do {
            try transaction.nested {
                before = try ServiceRoutes.apply(change, rules[change.className], in: transaction).before
                throw ForcedRollback()
            }
        } catch is ForcedRollback {}
        return before
    }
}
