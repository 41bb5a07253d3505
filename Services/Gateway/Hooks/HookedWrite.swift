import MessageBus
import Messages
import ParseProtocol
import ProcessKit

/// Changes of objects whose classes have hooks. Unless the class is known to be open, the gateway first asks the
/// class's owner whether the principal may make the change. Then `beforeSave` or `beforeDelete` runs. Finally the owner
/// checks the resulting change against its rules and the principal's rights.
struct HookedWrite: Sendable {
    let scope: HookScope
    let table: HookTable
    let service: String
    let principal: Principal
    let openClasses: OpenClasses

    typealias Item = (change: Change, document: [UInt8])
    typealias Outcome = (outcome: WriteOutcome, answer: [UInt8])

    static let triggers: [HookTable.Trigger] = [.beforeSave, .afterSave, .beforeDelete, .afterDelete]

    /// A change with a hook, as the client sent it.
    private struct Asked: Sendable {
        let item: Item
        /// The change's document, decoded once. Nil when no hook runs before the change, and for invalid JSON.
        let document: JSON?
    }

    /// A change after its `before` trigger.
    private struct Decided: Sendable {
        var item: Item
        var original: JSON?
        /// Fields that the hook set or removed.
        var changed = HookedObject.Changed()
        /// The context that the `before` trigger set for the `after` trigger; nil when it set none.
        var context: JSON?
        var hasTrigger = false
    }

    private var services: ServiceClient { scope.services }
    private var call: CallContext { scope.request.call }

    /// The scope's table when one of the changes has a hook. Imports by operators run without hooks.
    static func table(_ scope: HookScope, for changes: [Item]) async throws(ParseError) -> HookTable? {
        let table = try await scope.registry.table(in: scope.request.call)
        return changes.contains { hasTrigger($0.change, table) } ? table : nil
    }

    private static func hasTrigger(_ change: Change, _ table: HookTable) -> Bool {
        !change.imports && table.has(triggers, change.className)
    }

    func run(
        _ changes: [Item], atomic: Bool, _ write: ([Item]) async throws(ParseError) -> [Outcome]
    ) async throws(ParseError) -> [Outcome] {
        let subject = try await scope.subject(principal)
        let hooked = changes.filter { Self.hasTrigger($0.change, table) }.map(decoded)
        var pairs = Array(zip(hooked, try await originals(of: hooked)))[...]
        var decided: [Result<Decided, ParseError>] = []
        for item in changes {
            guard Self.hasTrigger(item.change, table), let (asked, original) = pairs.popFirst() else {
                decided.append(.success(Decided(item: item)))
                continue
            }
            do throws(ParseError) {
                decided.append(.success(try await decide(asked, original.get(), subject)))
            } catch {
                if atomic { throw error }
                decided.append(.failure(error))
            }
        }
        let going = decided.compactMap { try? $0.get() }
        var written = try await going.isEmpty ? [] : write(going.map(\.item))[...]
        var outcomes: [Outcome] = []
        for result in decided {
            switch result {
            case .failure(let error): outcomes.append((.with { $0.failure = Self.failure(error) }, []))
            case .success(let change):
                guard let outcome = written.popFirst() else { throw .internalError }
                outcomes.append(await finished(change, outcome, subject))
            }
        }
        return outcomes
    }

    private static func failure(_ error: ParseError) -> Failure {
        .with {
            $0.code = Int32(clamping: error.code.rawValue)
            $0.message = error.message
        }
    }

    private func decoded(_ item: Item) -> Asked {
        let hasBeforeSave = item.change.verb != .delete && table.target(.beforeSave, item.change.className) != nil
        return Asked(item: item, document: hasBeforeSave ? try? JSON(clientText: item.document) : nil)
    }

    /// The stored objects, or the error when the principal may not change them.
    private func originals(of changes: [Asked]) async throws(ParseError) -> [Result<JSON?, ParseError>] {
        let isFree = changes.map(isFree)
        guard isFree.contains(false) else { return changes.map { _ in .success(nil) } }
        var answers = try await preview(zip(changes, isFree).filter { !$0.1 }.map(\.0))[...]
        return isFree.compactMap { $0 ? .success(nil) : answers.popFirst() }
    }

    /// Whether a create needs no check before its hook: every client may make it, or no hook runs before it. The
    /// read-only key creates nothing.
    private func isFree(_ asked: Asked) -> Bool {
        let change = asked.item.change
        guard change.verb == .create, change.objectID.isEmpty, !principal.readOnly else { return false }
        guard table.target(.beforeSave, change.className) != nil else { return true }
        return openClasses.admit(change.className, asked.document)
    }

    private func preview(_ changes: [Asked]) async throws(ParseError) -> [Result<JSON?, ParseError>] {
        let stamp = openClasses.stamp(of: service)
        let message = WriteRequest.with { $0.changes = changes.map(\.item.change) }
        let reply = try await services.write(
            ObjectCalls(of: service).preview, message, documents: changes.map(\.item.document), for: principal,
            in: call, timeout: .seconds(30))
        let outcomes = try reply.message.outcomes
        guard outcomes.count == changes.count, reply.documents.count == changes.count else { throw .internalError }
        for (asked, outcome) in zip(changes, outcomes) where outcome.everybody {
            openClasses.learn(asked.item.change.className, asked.document, stamp)
        }
        return zip(outcomes, reply.documents).map { outcome, document in
            outcome.hasFailure
                ? .failure(ParseError(BusFailure(outcome.failure)))
                : Result { () throws(ParseError) in document.isEmpty ? nil : try JSON(reply: document, in: call) }
        }
    }

    private func decide(
        _ asked: Asked, _ original: JSON?, _ subject: [String: JSON]
    ) async throws(ParseError) -> Decided {
        let item = asked.item
        let className = item.change.className
        var decided = Decided(item: item, original: original, hasTrigger: true)
        let isDelete = item.change.verb == .delete
        guard let target = table.target(isDelete ? .beforeDelete : .beforeSave, className) else { return decided }
        var body = subject
        let sentOriginal = original.map { HookedObject.forHook($0, of: className) }
        if isDelete {
            body["triggerName"] = "beforeDelete"
            body["object"] = sentOriginal
            decided.context = try await scope.call(target, body, principal).context
            return decided
        }
        let document = if let decoded = asked.document { decoded } else { try JSON(clientText: item.document) }
        var object = HookedObject.merged(document, into: original, of: className)
        var members: [String: JSON] = [:]
        // Cloud code gets the operators themselves, so that its own and the client's are combined.
        if target == .code {
            object = HookedObject.withOperators(of: document, object)
            members = HookedObject.members(of: document, sent: object)
            if !members.isEmpty { body[CodeCall.ofMembers] = .object(members) }
        }
        body["triggerName"] = "beforeSave"
        body["object"] = object
        body["original"] = sentOriginal
        let written = HookedObject.written(by: document, sent: object)
        body[CodeCall.written] = .array(written.sorted().map(JSON.string))
        if className == "_User" { body[CodeCall.password] = HookedObject.password(in: document) }
        let answer = try await scope.call(target, body, principal)
        decided.context = answer.context
        let fields = HookedObject.replaced(by: answer.value, sent: object, members: members)
        decided.item.document =
            HookedObject.document(document, replacing: fields, without: answer.removedByCode).serialized
        decided.changed = .init(replaced: fields, removedByCode: answer.removedByCode, original: original)
        decided.item.change.shown = decided.changed.fields.sorted()
        return decided
    }

    /// Adds the hook's fields to the response and calls the `after` triggers. An error of an awaited `afterDelete` is
    /// returned; an error of an `afterSave` is not, as in Parse Server.
    private func finished(_ change: Decided, _ outcome: Outcome, _ subject: [String: JSON]) async -> Outcome {
        guard change.hasTrigger, !outcome.outcome.hasFailure else { return outcome }
        let (className, objectId) = (change.item.change.className, outcome.outcome.objectID)
        let isDelete = change.item.change.verb == .delete
        if let target = table.target(isDelete ? .afterDelete : .afterSave, className) {
            let original = change.original.map { HookedObject.forHook($0, of: className) }
            let body: @Sendable (HookScope) async throws -> [String: JSON] = { scope in
                var body = subject
                body["triggerName"] = isDelete ? "afterDelete" : "afterSave"
                body["original"] = isDelete ? nil : original
                if let context = change.context { body["context"] = context }
                body["object"] = isDelete ? original : try await scope.object(className, objectId, as: .ofHooks)
                return body
            }
            guard isDelete else {
                return await withHookChanges(change, outcome, scope.callAfterSave(target, principal, body))
            }
            do throws(ParseError) {
                try await scope.callAfter(target, principal, body)
            } catch {
                return (.with { $0.failure = Self.failure(error) }, [])
            }
        }
        return await withHookChanges(change, outcome, nil)
    }

    /// The outcome with the triggers' changes to the client's response.
    private func withHookChanges(_ change: Decided, _ outcome: Outcome, _ afterSave: JSON?) async -> Outcome {
        guard !change.changed.isEmpty || afterSave != nil,
            var answer = try? JSON(reply: outcome.answer, in: call)
        else { return outcome }
        let supportsRemovals = scope.supportsRemovals
        if !change.changed.isEmpty, let stored = await stored(outcome.outcome, of: change.item.change.className) {
            answer = HookedObject.response(
                answer, with: change.changed, stored: stored, supportsRemovals: supportsRemovals)
        }
        if let afterSave {
            answer = HookedObject.response(answer, afterSave: afterSave, supportsRemovals: supportsRemovals)
        }
        return (outcome.outcome, answer.serialized)
    }

    /// The stored values of the fields that a hook set, read with the caller's rights, so that the response has nothing
    /// that the caller may not read. Nil when the caller cannot read the object.
    private func stored(_ outcome: WriteOutcome, of className: String) async -> JSON? {
        guard outcome.hasShown else {
            return try? await scope.object(className, outcome.objectID, as: principal)
        }
        return outcome.shown.isEmpty ? nil : try? JSON(reply: Array(outcome.shown), in: call)
    }
}
