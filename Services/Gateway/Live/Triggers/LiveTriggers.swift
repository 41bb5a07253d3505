import Messages
import NIOCore
import ParseProtocol

/// The cloud code triggers of live queries: for connections, for subscriptions and for events.
///
/// The code runs after all of Satchel's checks. A class without such a trigger, and a shop without `beforeConnect`,
/// cost one check of the gateway's table.
struct LiveTriggers: Sendable {
    /// The client in a trigger's call.
    struct Subject: Sendable {
        var principal: Principal
        /// The session token that the client sent, valid or not; nil without one.
        var sessionToken: String?
        var address: SocketAddress?
        /// Connections and subscriptions of this gateway.
        var clients: Int
        var subscriptions: Int
    }

    let scopes: HookScopes
    let links: FileLinks

    /// Whether cloud code has a trigger; nil when the table is not cached.
    func has(_ trigger: HookTable.Trigger, _ className: String) -> Bool? {
        scopes.registry.cached.map { $0.target(trigger, className) != nil }
    }

    /// Whether a class has `afterLiveQueryEvent`. While the table is read again the answer is true, because the new
    /// table may have a trigger that the old one lacked.
    var askers: (String) -> Bool {
        guard let table = scopes.registry.cached else { return { _ in true } }
        return { table.target(.afterEvent, $0) != nil }
    }

    /// - Throws: `.serviceUnavailable` (2) while the catalog cannot be reached.
    func isThere(
        _ trigger: HookTable.Trigger, _ className: String, in context: CallContext
    ) async throws(ParseError) -> Bool {
        try await scopes.registry.table(in: context).target(trigger, className) != nil
    }

    // MARK: Triggers

    /// - Throws: the refusal of `beforeConnect`; `.serviceUnavailable` (2) while it cannot be called.
    func beforeConnect(_ subject: Subject, in context: CallContext) async throws(ParseError) {
        _ = try await call(.beforeConnect, Hook.connectClass, subject, ["event": "connect"], in: context)
    }

    /// The query after `beforeSubscribe`.
    /// - Throws: its refusal; `.invalidQuery` (102) for a query that cannot be live; `.serviceUnavailable` (2) while it
    ///   cannot be called.
    func beforeSubscribe(
        _ subscribed: SubscribedQuery, requestId: Int64, _ subject: Subject, in context: CallContext
    ) async throws(ParseError) -> SubscribedQuery {
        let answer = try await call(
            .beforeSubscribe, subscribed.className, subject,
            ["event": "subscribe", "op": "subscribe", "requestId": .int(requestId), "query": subscribed.query],
            in: context)
        // The current version of the code has no such trigger, and this gateway does not know it yet.
        guard let query = answer?["query"] else { return subscribed }
        return try subscribed.changed(by: query)
    }

    /// The outcome of `afterLiveQueryEvent` for an event.
    /// - Parameter keys: the fields that the client selected; empty for all.
    /// - Throws: its refusal; `.serviceUnavailable` (2) while it cannot be called.
    func afterEvent(
        _ event: LiveDelivery, _ className: String, keys: [String], _ subject: Subject, in context: CallContext
    ) async throws(ParseError) -> LiveTriggerQueue.Outcome {
        guard let object = try? JSON(parsing: event.object) else { throw .internalError }
        var members: [String: JSON] = ["event": .string(event.kind.name), "object": object, "sendEvent": true]
        members["original"] = event.original.flatMap { try? JSON(parsing: $0) }
        // One call serves all guests, or all connections of a session, so it has no device and no address.
        var subject = subject
        subject.principal.installationID = ""
        subject.address = nil
        let answer = try await call(.afterEvent, className, subject, members, in: context)
        guard let answer else { return .deliver(event) }
        guard let changed = event.changed(by: answer, keys: keys) else { return .withheld }
        return .deliver(changed.linked(links))
    }

    // MARK: Calling

    /// The code's result; nil when there is no such trigger.
    private func call(
        _ trigger: HookTable.Trigger, _ className: String, _ subject: Subject, _ members: [String: JSON],
        in context: CallContext
    ) async throws(ParseError) -> JSON? {
        let request = ParseRequest(method: .get, path: ["live"], call: context, clientAddress: subject.address)
        guard let scope = scopes.scope(of: request),
            let target = try await scope.table(with: [trigger], className)?.target(trigger, className)
        else { return nil }
        var body = try await scope.subject(subject.principal).merging(members) { $1 }
        body["triggerName"] = .string(trigger.rawValue)
        body["className"] = .string(className)
        body["clients"] = .int(Int64(subject.clients))
        body["subscriptions"] = .int(Int64(subject.subscriptions))
        body["useMasterKey"] = .bool(subject.principal.master)
        body["sessionToken"] = subject.sessionToken.map(JSON.string)
        return try await scope.call(target, body, subject.principal).value
    }
}

extension SubscribedQuery {
    /// The query in the form for cloud code.
    var query: JSON {
        var query: JSON = ["className": .string(className), "where": (try? JSON(parsing: condition)) ?? [:]]
        if !keys.isEmpty { query["keys"] = .string(keys.joined(separator: ",")) }
        if !watch.isEmpty { query["watch"] = .string(watch.joined(separator: ",")) }
        return query
    }

    /// The query with cloud code's changes. `limit`, `skip`, `order` and `include` are ignored.
    /// - Throws: `.invalidQuery` (102) for `excludeKeys`, which live queries do not support: fields that the code wants
    ///   to hide must not be sent.
    package func changed(by query: JSON) throws(ParseError) -> SubscribedQuery {
        if let excluded = query["excludeKeys"], !OptionValue.isAbsent(excluded) {
            throw ParseError(.invalidQuery, "Live queries have no excludeKeys; select the fields that are shown.")
        }
        let chosen = query["keys"].flatMap { $0.isNull ? nil : $0 }
        let keys = try Self.names(chosen)
        return SubscribedQuery(
            className: className, condition: try query["where"].flatMap(OptionValue.condition) ?? Array("{}".utf8),
            // An empty selection does not mean all fields, as in a find.
            keys: chosen != nil && keys.isEmpty ? ["objectId"] : keys, watch: try Self.names(query["watch"]))
    }

    /// The names of a list, which may be a comma-separated text.
    /// - Throws: `.invalidQuery` (102) for anything else.
    package static func names(_ value: JSON?) throws(ParseError) -> [String] {
        switch value {
        case nil, .null: return []
        case .string(let text): return text.split(separator: ",").map(String.init)
        case .array(let items) where items.allSatisfy { $0.stringValue != nil }:
            return items.compactMap(\.stringValue)
        default: throw ParseError(.invalidQuery, "A list of names is needed.")
        }
    }
}

extension LiveDelivery {
    /// Members that cloud code cannot change: the object's identity and its access rights.
    private static let fixed: Set<String> = [
        "__type", "className", "objectId", "createdAt", "updatedAt", "ACL",
    ]

    /// The event after cloud code; nil when it must not be sent.
    ///
    /// The code may set and remove fields, except the object's identity, fields that the client did not select, and
    /// fields that the class hides from the client.
    /// - Parameters:
    ///   - answer: `object`, `original` and `sendEvent`; without `sendEvent` the trigger no longer exists.
    ///   - keys: the fields that the client selected; empty for all.
    package func changed(by answer: JSON, keys: [String]) -> LiveDelivery? {
        guard let sends = answer["sendEvent"]?.boolValue else { return self }
        guard sends else { return nil }
        let selection = keys.isEmpty || keys.contains("*") ? .everything : KeySelection(keys: keys, excludeKeys: [])
        return LiveDelivery(
            kind: kind, cursor: cursor, object: shown(object, as: answer["object"], selection),
            original: original.flatMap { original in
                answer["original"].map { shown(original, as: $0, selection) }
            }, hidden: hidden)
    }

    private func shown(_ text: [UInt8], as answer: JSON?, _ selection: KeySelection) -> [UInt8] {
        guard case .object(let new)? = answer, case .object(let old)? = try? JSON(parsing: text) else { return text }
        var members = old.filter { Self.fixed.contains($0.key) }
        for (name, value) in new where !Self.fixed.contains(name) {
            guard old[name] != nil || !hidden.contains(name) else { continue }
            members[name] = selection.selection(of: JSON.string(name).serialized.dropFirst().dropLast())?
                .applied(to: value)
        }
        return JSON.object(members).serialized
    }

    /// The event with URLs for the files that cloud code added by name.
    fileprivate func linked(_ links: FileLinks) -> LiveDelivery {
        LiveDelivery(
            kind: kind, cursor: cursor, object: links.linked(object), original: original.map(links.linked),
            hidden: hidden)
    }
}
