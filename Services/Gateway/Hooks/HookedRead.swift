import Foundation
import Messages
import ParseProtocol

/// Reads of a class that has `beforeFind` or `afterFind`, wherever in a request they are: finds, gets, includes and
/// sub-queries.
struct HookedRead: Sendable {
    let scope: HookScope
    let table: HookTable
    let className: String
    let principal: Principal
    /// The request's context as `beforeFind` left it, for `afterFind`; nil where it said nothing of it.
    private var context: JSON?

    static let triggers: [HookTable.Trigger] = [.beforeFind, .afterFind]

    /// Nil when the class has no such webhook.
    init?(_ scope: HookScope?, _ className: String, _ principal: Principal) async throws(ParseError) {
        guard let scope, let table = try await scope.table(with: Self.triggers, className) else {
            return nil
        }
        self.scope = scope
        self.table = table
        self.className = className
        self.principal = principal
    }

    /// A webhook's changes to a read by ids: a further condition, and the fields to leave.
    struct Restriction: Sendable {
        var condition: JSON?
        var selection = KeySelection.everything
        /// Of a get: the objects that the code answers in place of the stored one.
        var objects: [JSON]?

        static let kept: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL"]

        func applied(to object: JSON) -> JSON {
            guard case .object(let members) = object, !selection.isEverything else { return object }
            var left: [String: JSON] = [:]
            for (key, value) in members {
                left[key] = Self.kept.contains(key) ? value : selection.selection(of: key.utf8)?.applied(to: value)
            }
            return .object(left)
        }
    }

    // MARK: - Before

    /// A find, as `beforeFind` leaves it.
    struct Find: Sendable {
        var options: QueryOptions
        /// The objects that code answers in place of a query.
        var objects: [JSON]?
    }

    /// A find, as `beforeFind` leaves it.
    /// - Throws: the webhook's refusal.
    mutating func before(_ options: QueryOptions, limitMax: Int) async throws(ParseError) -> Find {
        guard let target = table.target(.beforeFind, className) else { return Find(options: options) }
        // What is wrong with the condition, its owner says.
        guard let condition = options.filter.isEmpty ? [:] : try? JSON(parsing: options.filter) else {
            return Find(options: options)
        }
        var query: JSON = [
            "className": .string(className), "where": condition, "limit": .int(Int64(options.limit)),
            "skip": .int(Int64(options.skip)), "order": .string(options.order.joined(separator: ",")),
        ]
        if !options.keys.isEmpty { query["keys"] = .string(options.keys.joined(separator: ",")) }
        if !options.excludeKeys.isEmpty { query["excludeKeys"] = .string(options.excludeKeys.joined(separator: ",")) }
        let (changes, objects) = try await ask(target, query, isGet: false, wantsCount: options.wantsCount)
        let new = try QueryOptions(find: changes, limitMax: limitMax)
        var result = options
        if changes["where"] != nil { result.filter = new.filter }
        if changes["limit"] != nil { result.limit = new.limit }
        if changes["skip"] != nil { result.skip = new.skip }
        if changes["order"] != nil { result.order = new.order }
        if changes["keys"] != nil { result.keys = new.keys }
        if changes["excludeKeys"] != nil { result.excludeKeys = new.excludeKeys }
        return Find(options: result, objects: objects)
    }

    /// The restriction that `beforeFind` puts on a read by ids.
    /// - Throws: the webhook's refusal.
    mutating func before(ids: [String], isGet: Bool) async throws(ParseError) -> Restriction {
        guard let target = table.target(.beforeFind, className) else { return Restriction() }
        let wanted: JSON = isGet ? .string(ids.first ?? "") : ["$in": .array(ids.map(JSON.string))]
        let query: JSON = [
            "className": .string(className), "where": ["objectId": wanted], "limit": .int(Int64(ids.count)), "skip": 0,
        ]
        let (changes, objects) = try await ask(target, query, isGet: isGet, wantsCount: false)
        if let objects {
            // Included are only objects that were pointed to, as they are stored.
            let named = objects.compactMap { $0["objectId"] }
            return isGet ? Restriction(objects: objects) : Restriction(condition: ["objectId": ["$in": .array(named)]])
        }
        var options = changes
        let condition = options.removeValue(forKey: "where")
        let new = try QueryOptions(find: options, limitMax: .max)
        var restriction = Restriction()
        restriction.selection = KeySelection(keys: new.keys.isEmpty ? nil : new.keys, excludeKeys: new.excludeKeys)
        if let condition, condition != query["where"] { restriction.condition = condition }
        return restriction
    }

    /// The members of the query that the webhook changed, and the objects that code answers instead.
    private mutating func ask(
        _ target: HookTarget, _ query: JSON, isGet: Bool, wantsCount: Bool
    ) async throws(ParseError) -> (changes: [String: JSON], objects: [JSON]?) {
        var body = try await scope.subject(principal)
        body["triggerName"] = "beforeFind"
        body["query"] = query
        body["isGet"] = .bool(isGet)
        body["count"] = .bool(wantsCount)
        let answer = try await scope.call(target, body, principal)
        context = answer.context
        let changed = (answer.value["query"] ?? answer.value).objectValue ?? [:]
        let known: Set<String> = ["where", "limit", "skip", "order", "keys", "excludeKeys"]
        return (changed.filter { known.contains($0.key) && $0.value != query[$0.key] }, answer.objects)
    }

    /// The objects that code answers, as the caller gets them: of those that are stored he gets what he may read, as
    /// it is stored; where none of them is, and with the master key, they are as the code made them.
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
            ServiceDirectory.calls(ofClass: className).find, message, for: principal, trace: scope.request.requestId)
        var stored: [String: JSON] = [:]
        for object in try JSON(reply: reply.document)["results"]?.arrayValue ?? [] {
            if let id = object["objectId"]?.stringValue { stored[id] = object }
        }
        return try await after(ids.compactMap { stored[$0] })
    }

    /// The ids of the objects that a restriction leaves. The condition is the webhook's, so that the caller's rights
    /// have no part in it; they decided about the objects before.
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
            ServiceDirectory.calls(ofClass: className).find, message, for: .ofHooks, trace: scope.request.requestId)
        let rows = try JSON(reply: reply.document)["results"]?.arrayValue ?? []
        return Set(rows.compactMap { $0["objectId"]?.stringValue })
    }

    // MARK: - After

    /// The objects as `afterFind` leaves them.
    /// - Throws: the webhook's refusal, or `.webhookError` (143) when it answers something else than objects.
    func after(_ objects: [JSON]) async throws(ParseError) -> [JSON] {
        guard let target = table.target(.afterFind, className), !objects.isEmpty else { return objects }
        var body = try await scope.subject(principal)
        body["triggerName"] = "afterFind"
        body["query"] = ["className": .string(className)]
        body["objects"] = .array(objects.map { HookedObject.told($0, of: className) })
        if let context { body["context"] = context }
        let answer = try await scope.call(target, body, principal).value
        guard case .array(let elements) = answer else {
            guard answer.isNull || answer == [:] || answer == true else {
                throw ParseError(.webhookError, "The webhook's answer to afterFind is not an array of objects.")
            }
            return objects
        }
        var result: [JSON] = []
        for element in elements {
            guard case .object(var members) = element else {
                throw ParseError(.webhookError, "The webhook's answer to afterFind is not an array of objects.")
            }
            members["className"] = nil
            result.append(.object(members))
        }
        return result
    }

    /// The objects of a read by ids after both webhooks.
    func restricted(_ objects: [String: JSON], _ restriction: Restriction) async throws(ParseError) -> [String: JSON] {
        let left = try await left(objects.keys.sorted(), by: restriction)
        let kept = objects.filter { left.contains($0.key) }.sorted { $0.key < $1.key }
        var result: [String: JSON] = [:]
        for object in try await after(kept.map { restriction.applied(to: $0.value) }) {
            // An object under another id would take the place of one that the caller asked for.
            guard let id = object["objectId"]?.stringValue, left.contains(id) else { continue }
            result[id] = object
        }
        return result
    }
}
