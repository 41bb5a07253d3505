import Foundation
import Messages
import ParseProtocol

/// Reads of a class that has `beforeFind` or `afterFind`, at any place of a request: finds, gets, includes and
/// sub-queries.
struct HookedRead: Sendable {
    let scope: HookScope
    let table: HookTable
    let className: String
    let principal: Principal
    /// The context that `beforeFind` set, for `afterFind`; nil when it set none.
    private var context: JSON?
    /// The query after `beforeFind`, and the other members of the read for `afterFind`.
    private var asked: [String: JSON]

    static let triggers: [HookTable.Trigger] = [.beforeFind, .afterFind]

    /// Nil when the class has no such hook.
    init?(_ scope: HookScope?, _ className: String, _ principal: Principal) async throws(ParseError) {
        guard let scope, let table = try await scope.table(with: Self.triggers, className) else {
            return nil
        }
        self.scope = scope
        self.table = table
        self.className = className
        self.principal = principal
        asked = ["query": ["className": .string(className)]]
    }

    /// A hook's changes to a read by ids: a further condition, and the fields to send.
    struct Restriction: Sendable {
        var condition: JSON?
        var selection = KeySelection.everything
        /// For a get: the objects that the code returns in place of the stored one.
        var objects: [JSON]?
        /// For a get: its options.
        var options: QueryOptions?

        static let kept: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL"]

        func applied(to object: JSON) -> JSON {
            guard case .object(let members) = object, !selection.isEverything else { return object }
            return .object(selection.applied(to: members, always: Self.kept))
        }
    }

    // MARK: - Before

    /// A find after `beforeFind`.
    struct Find: Sendable {
        var options: QueryOptions
        /// The objects that code returns in place of a query.
        var objects: [JSON]?
    }

    /// Runs `beforeFind` for a find.
    /// - Throws: the hook's refusal.
    mutating func before(_ options: QueryOptions, limitMax: Int) async throws(ParseError) -> Find {
        // The class's owner reports an invalid condition.
        guard let condition = options.filter.isEmpty ? [:] : try? JSON(parsing: options.filter) else {
            return Find(options: options)
        }
        var query = options.triggerOptions
        query["className"] = .string(className)
        query["where"] = condition
        query["limit"] = .int(Int64(options.limit))
        query["skip"] = .int(Int64(options.skip))
        query["order"] = .string(options.order.joined(separator: ","))
        if options.wantsCount { query["count"] = 1 }
        let (changes, objects) = try await ask(query, isGet: false, wantsCount: options.wantsCount)
        return Find(options: try options.changed(by: changes, limitMax: limitMax), objects: objects)
    }

    /// The restriction that `beforeFind` puts on a read by ids.
    /// - Parameter options: the options of a get; nil for objects that are included.
    /// - Throws: the hook's refusal.
    mutating func before(ids: [String], get options: QueryOptions? = nil) async throws(ParseError) -> Restriction {
        let isGet = options != nil
        let wanted: JSON = isGet ? .string(ids.first ?? "") : ["$in": .array(ids.map(JSON.string))]
        var query = options?.triggerOptions ?? [:]
        query["className"] = .string(className)
        query["where"] = ["objectId": wanted]
        query["limit"] = .int(Int64(ids.count))
        query["skip"] = 0
        let (changed, objects) = try await ask(query, isGet: isGet, wantsCount: false)
        if let objects {
            // An include returns stored objects only, and only objects with a pointer to them.
            let named = objects.compactMap { $0["objectId"] }
            return isGet ? Restriction(objects: objects) : Restriction(condition: ["objectId": ["$in": .array(named)]])
        }
        var changes = changed
        var restriction = Restriction(condition: changes.removeValue(forKey: "where"))
        if let options {
            restriction.options = try options.changed(by: changes, limitMax: .max)
        } else {
            let new = try QueryOptions(find: changes, limitMax: .max)
            restriction.selection = KeySelection(keys: new.keys.isEmpty ? nil : new.keys, excludeKeys: new.excludeKeys)
        }
        return restriction
    }

    private static let changeable: Set<String> = [
        "where", "limit", "skip", "order", "keys", "excludeKeys", "include",
    ]

    /// Calls `beforeFind`: the members of the query that it changed, and the objects that code returns instead.
    private mutating func ask(
        _ query: [String: JSON], isGet: Bool, wantsCount: Bool
    ) async throws(ParseError) -> (changes: [String: JSON], objects: [JSON]?) {
        asked = ["query": .object(query), "isGet": .bool(isGet), "count": .bool(wantsCount)]
        guard let target = table.target(.beforeFind, className) else { return ([:], nil) }
        var body = try await scope.subject(principal)
        body["triggerName"] = "beforeFind"
        body.merge(asked) { _, new in new }
        let answer = try await scope.call(target, body, principal)
        context = answer.context
        let changed = (answer.value["query"] ?? answer.value).objectValue ?? [:]
        let changes = changed.filter { Self.changeable.contains($0.key) && $0.value != query[$0.key] }
        asked["query"] = .object(query.merging(changes) { _, new in new })
        return (changes, answer.objects)
    }

    /// The objects that code returns, as the caller gets them: the code's versions when none has an id, and with the
    /// master key. Otherwise the caller gets the stored versions that it may read, and no others.
    func answered(
        _ objects: [JSON], keys: [String], excludeKeys: [String]
    ) async throws(ParseError) -> [JSON] {
        let ids = objects.compactMap { $0["objectId"]?.stringValue }
        guard !principal.master, !ids.isEmpty else {
            return try await after(objects.map { $0.removing(["className"]) })
        }
        let filter: JSON = ["objectId": ["$in": .array(ids.map(JSON.string))]]
        let message = FindRequest.with {
            $0.className = className
            $0.where = Data(filter.serialized)
            $0.limit = UInt32(clamping: ids.count)
            $0.keys = keys
            $0.excludeKeys = excludeKeys
        }
        let reply = try await scope.services.read(
            ServiceDirectory.calls(ofClass: className).find, message, for: principal, in: scope.request.call)
        var stored: [String: JSON] = [:]
        for object in try JSON(reply: reply.document, in: scope.request.call)["results"]?.arrayValue ?? [] {
            if let id = object["objectId"]?.stringValue { stored[id] = object }
        }
        return try await after(ids.compactMap { stored[$0] })
    }

    /// The ids of the objects that match a restriction. The condition comes from the hook and is checked without the
    /// caller's rights; those were checked before.
    func left(_ ids: [String], by restriction: Restriction) async throws(ParseError) -> Set<String> {
        guard let condition = restriction.condition else { return Set(ids) }
        let filter: JSON = ["$and": [["objectId": ["$in": .array(ids.map(JSON.string))]], condition]]
        let message = FindRequest.with {
            $0.className = className
            $0.where = Data(filter.serialized)
            $0.limit = UInt32(clamping: ids.count)
            $0.keys = ["objectId"]
        }
        let reply = try await scope.services.read(
            ServiceDirectory.calls(ofClass: className).find, message, for: .ofHooks, in: scope.request.call)
        let rows = try JSON(reply: reply.document, in: scope.request.call)["results"]?.arrayValue ?? []
        return Set(rows.compactMap { $0["objectId"]?.stringValue })
    }

    // MARK: - After

    /// The objects after `afterFind`.
    /// - Throws: the hook's refusal, or `.scriptFailed` (141) when it returns anything but objects.
    func after(_ objects: [JSON]) async throws(ParseError) -> [JSON] {
        guard let target = table.target(.afterFind, className), !objects.isEmpty else { return objects }
        var body = try await scope.subject(principal)
        body["triggerName"] = "afterFind"
        body.merge(asked) { _, new in new }
        body["objects"] = .array(objects.map { HookedObject.forHook($0, of: className) })
        if let context { body["context"] = context }
        let answer = try await scope.call(target, body, principal).value
        guard case .array(let elements) = answer else {
            guard answer.isNull || answer == [:] || answer == true else {
                throw ParseError(.scriptFailed, "The webhook's answer to afterFind is not an array of objects.")
            }
            return objects
        }
        var result: [JSON] = []
        for element in elements {
            guard case .object(var members) = element else {
                throw ParseError(.scriptFailed, "The webhook's answer to afterFind is not an array of objects.")
            }
            members["className"] = nil
            result.append(.object(members))
        }
        return result
    }

    /// The objects of a read by ids after both hooks.
    func restricted(_ objects: [String: JSON], _ restriction: Restriction) async throws(ParseError) -> [String: JSON] {
        let left = try await left(objects.keys.sorted(), by: restriction)
        let kept = objects.filter { left.contains($0.key) }.sorted { $0.key < $1.key }
        var result: [String: JSON] = [:]
        for object in try await after(kept.map { restriction.applied(to: $0.value) }) {
            // Drops ids that the caller did not ask for: they would replace requested objects.
            guard let id = object["objectId"]?.stringValue, left.contains(id) else { continue }
            result[id] = object
        }
        return result
    }
}
