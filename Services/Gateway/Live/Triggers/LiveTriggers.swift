import Messages
import NIOCore
import ParseProtocol

/// The triggers of cloud code around live queries: who connects, what is subscribed to, and what an event shows.
///
/// The code is asked after everything that the suite itself decides about rights. A class without such a trigger, and a
/// suite without `beforeConnect`, cost a look at the gateway's own table.
struct LiveTriggers: Sendable {
    /// The client that a trigger is told of.
    struct Subject: Sendable {
        var principal: Principal
        /// The session that the client named, whoever has it; nil without one.
        var sessionToken: String?
        var address: SocketAddress?
        /// Connections and subscriptions of this gateway.
        var clients: Int
        var subscriptions: Int
    }

    let scopes: HookScopes
    let links: FileLinks

    /// Whether cloud code has a trigger; nil while that is not known without asking.
    func has(_ trigger: HookTable.Trigger, _ className: String) -> Bool? {
        scopes.registry.known.map { $0.target(trigger, className) != nil }
    }

    /// Says of classes whether `afterLiveQueryEvent` is asked about their events. While the table is being read again
    /// it may be: the new one may have a trigger that the one before had not.
    var askers: (String) -> Bool {
        guard let known = scopes.registry.known else { return { _ in true } }
        return { known.target(.afterEvent, $0) != nil }
    }

    /// - Throws: `.serviceUnavailable` (2) while nobody can be asked.
    func isThere(_ trigger: HookTable.Trigger, _ className: String) async throws(ParseError) -> Bool {
        try await scopes.registry.table().target(trigger, className) != nil
    }

    // MARK: Triggers

    /// - Throws: what `beforeConnect` refuses; `.serviceUnavailable` (2) while nobody can ask it.
    func beforeConnect(_ subject: Subject) async throws(ParseError) {
        _ = try await call(.beforeConnect, Hook.connectClass, subject, ["event": "connect"])
    }

    /// The query as `beforeSubscribe` leaves it.
    /// - Throws: what it refuses; `.invalidQuery` (102) for a query that cannot be live; `.serviceUnavailable` (2)
    ///   while nobody can ask it.
    func beforeSubscribe(_ wish: LiveWish, _ subject: Subject) async throws(ParseError) -> LiveWish {
        let answer = try await call(
            .beforeSubscribe, wish.className, subject, ["event": "subscribe", "query": wish.query])
        // The code that is loaded now has no such trigger any more, which is not known here yet.
        guard let query = answer?["query"] else { return wish }
        return try wish.changed(by: query)
    }

    /// What `afterLiveQueryEvent` makes of an event.
    /// - Parameter keys: the fields that are shown; empty for all.
    /// - Throws: what it refuses; `.serviceUnavailable` (2) while nobody can ask it.
    func afterEvent(
        _ event: LiveDelivery, _ className: String, keys: [String], _ subject: Subject
    ) async throws(ParseError) -> LiveTurns.Outcome {
        guard let object = try? JSON(parsing: event.object) else { throw .internalError }
        var members: [String: JSON] = ["event": .string(event.kind.name), "object": object, "sendEvent": true]
        members["original"] = event.original.flatMap { try? JSON(parsing: $0) }
        // One call is for all guests, or all connections of a session: it has no device and no address.
        var subject = subject
        subject.principal.installationID = ""
        subject.address = nil
        guard let answer = try await call(.afterEvent, className, subject, members) else { return .told(event) }
        guard let changed = event.changed(by: answer, keys: keys) else { return .withheld }
        return .told(changed.linked(links))
    }

    // MARK: Calling

    /// The code's answer; nil when there is no such trigger.
    private func call(
        _ trigger: HookTable.Trigger, _ className: String, _ subject: Subject, _ members: [String: JSON]
    ) async throws(ParseError) -> JSON? {
        let request = ParseRequest(
            method: .get, path: ["live"], requestId: RequestIds.next(), clientAddress: subject.address)
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

extension LiveWish {
    /// The query as cloud code is told of it.
    var query: JSON {
        var query: JSON = ["className": .string(className), "where": (try? JSON(parsing: condition)) ?? [:]]
        if !keys.isEmpty { query["keys"] = .string(keys.joined(separator: ",")) }
        if !watch.isEmpty { query["watch"] = .string(watch.joined(separator: ",")) }
        return query
    }

    /// The query with what cloud code made of it. `limit`, `skip`, `order` and `include` mean nothing here.
    /// - Throws: `.invalidQuery` (102) for `excludeKeys`, which live queries do not have: what the code wants to hide
    ///   must not be shown.
    package func changed(by query: JSON) throws(ParseError) -> LiveWish {
        if let excluded = query["excludeKeys"], !OptionValue.isAbsent(excluded) {
            throw ParseError(.invalidQuery, "Live queries have no excludeKeys; select the fields that are shown.")
        }
        let chosen = query["keys"].flatMap { $0.isNull ? nil : $0 }
        let keys = try Self.names(chosen)
        return LiveWish(
            className: className, condition: try query["where"].flatMap(OptionValue.condition) ?? Array("{}".utf8),
            // A choice of nothing is not one of everything, as in a find.
            keys: chosen != nil && keys.isEmpty ? ["objectId"] : keys, watch: try Self.names(query["watch"]))
    }

    /// The names of a list, which may be a text with commas.
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
    /// Members that stay as they are: of which object it is and who may read it cloud code has no say.
    private static let fixed: Set<String> = [
        "__type", "className", "objectId", "createdAt", "updatedAt", "ACL",
    ]

    /// The event as cloud code's answer has it; nil when it is not to be sent.
    ///
    /// The code may set and take away fields, but for those that say which object it is, for those that the client
    /// chose not to be shown, and for those that the class hides from him.
    /// - Parameters:
    ///   - answer: `object`, `original` and `sendEvent`; without `sendEvent` there is no such trigger any more.
    ///   - keys: the fields that are shown; empty for all.
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

    /// The event with the URLs of files that cloud code put in by their names.
    fileprivate func linked(_ links: FileLinks) -> LiveDelivery {
        LiveDelivery(
            kind: kind, cursor: cursor, object: links.linked(object), original: original.map(links.linked),
            hidden: hidden)
    }
}
