import Messages
import ParseProtocol

/// The result of a webhook or of cloud code.
package struct HookAnswer: Sendable {
    /// A function's result, or the value that a trigger returns; null for none.
    package var value: JSON
    /// The request's context after the code ran; nil when the code did not set it.
    package var context: JSON?
    /// The objects that a `beforeFind` returns in place of a query; nil when it returns a query.
    package var objects: [JSON]?
    /// The fields, and paths of members, of the client's change that the code removed.
    package var removedByCode: Set<String> = []
    /// Whether a function ended without a result, as opposed to the result null.
    package var isNothing = false
}

/// Calls functions and triggers of cloud code. It translates a webhook's body into the protocol with Node
/// (Services/Cloud/Runtime/README.md).
struct CloudCode: Sendable {
    let services: ServiceClient
    let links: FileLinks

    /// Nested calls of cloud code. Without a limit, a trigger that saves an object of its class would recurse for ever.
    private static let depthMax = 8
    /// Longer than every limit of `cloud`, which ends the call with a clearer text.
    private static let timeout = Duration.seconds(30)

    /// - Parameter body: as for a webhook.
    /// - Throws: the code's refusal; `.scriptFailed` (141) when it fails, is stopped or has nested too deep;
    ///   `.serviceUnavailable` (2) while no process runs it.
    func call(
        _ body: [String: JSON], _ principal: Principal, of request: ParseRequest
    ) async throws(ParseError) -> HookAnswer {
        guard request.codeDepth < Self.depthMax else {
            throw ParseError(
                .scriptFailed, "Cloud code has called itself \(Self.depthMax) levels deep; this call is refused.")
        }
        let call = CodeCall(body, sessionToken: principal.sessionToken)
        var message = call.message
        message.depth = UInt32(request.codeDepth)
        let reply = try await services.sendAtMostOnce(
            CloudCalls.run, message, documents: [links.linked(JSON.object(call.members).serialized)], for: principal,
            in: request.call, timeout: Self.timeout)
        let answer = try JSON(reply: reply.document, in: request.call)
        if let error = answer["error"] { throw WebhookAnswer.refusal(error) }
        var result = try call.answer(to: answer["result"] ?? .null)
        result.isNothing = answer["result"] == nil
        return result
    }
}

/// One call of cloud code: the members of `run`, and the interpretation of its result.
package struct CodeCall: Sendable {
    package let message: RunCode
    package let members: [String: JSON]
    private let sentObject: JSON?
    /// The member that lists the fields which the client writes.
    package static let written = "dirtyKeys"
    /// The member that holds the client's operations on members of fields, by path.
    package static let ofMembers = "members"
    /// The member that marks an `afterSave` for which the client's response waits.
    static let awaited = "awaited"
    /// The member with the new password of a user, for `beforeSave` alone. The object has none, so no JSON of it shows
    /// one.
    package static let password = "password"
    /// The members that webhooks do not get: webhooks get Parse Server's members only.
    static let ofCodeAlone: Set<String> = [written, ofMembers, awaited, password]
    /// Members of a trigger's call that are the same for webhooks and cloud code.
    private static let passed = [
        "object", "original", "query", "objects", "fileSize", "contentLength", written, ofMembers, awaited, password,
        "event", "clients", "subscriptions", "sessionToken", "useMasterKey", "sendEvent", "op", "requestId",
    ]

    /// - Parameters:
    ///   - body: a webhook's body, and `written`.
    ///   - sessionToken: the user's; empty when there is none.
    package init(_ body: [String: JSON], sessionToken: String) {
        var user = body["user"] ?? .null
        if !sessionToken.isEmpty, !user.isNull { user["sessionToken"] = .string(sessionToken) }
        let request: JSON = [
            "master": body["master"] ?? false, "user": user, "installationId": body["installationId"] ?? .null,
            "ip": body["ip"] ?? "", "headers": body["headers"] ?? [:], "context": body["context"] ?? [:],
        ]
        if let name = body["functionName"]?.stringValue {
            members = ["kind": "function", "name": .string(name), "params": body["params"] ?? [:], "request": request]
            message = .with {
                $0.kind = "function"
                $0.name = name
            }
            sentObject = nil
            return
        }
        let trigger = body["triggerName"]?.stringValue ?? ""
        // A call without an object, such as for a connection, names its class itself.
        let named = (body["object"] ?? body["query"])?["className"] ?? body["className"]
        let className = named?.stringValue ?? ""
        var members: [String: JSON] = [
            "kind": "trigger", "trigger": .string(trigger), "className": .string(className), "request": request,
            "isGet": body["isGet"] ?? false, "count": body["count"] ?? false,
        ]
        for name in Self.passed { members[name] = body[name] }
        self.members = members
        message = .with {
            $0.kind = "trigger"
            $0.name = trigger
            $0.className = className
        }
        sentObject = body["object"]
    }

    /// The result in the form of a webhook's `success`.
    /// - Throws: `.invalidKeyName` (105) and `.invalidJSON` (107) for values that clients may not send either, and
    ///   `.scriptFailed` (141) for malformed objects.
    package func answer(to result: JSON) throws(ParseError) -> HookAnswer {
        try WebhookAnswer.check(result)
        // Config has triggers of the same names as objects.
        if message.className == Hook.configClass {
            return HookAnswer(value: message.name == "beforeSave" ? result : .null)
        }
        switch message.name {
        case _ where message.kind == "function": return HookAnswer(value: result)
        case "beforeSave":
            guard let object = result["object"] else {
                return HookAnswer(value: sentObject ?? [:], context: result["context"])
            }
            return HookAnswer(value: object, context: result["context"], removedByCode: removedByCode(by: object))
        case "beforeSaveFile": return HookAnswer(value: result["file"] ?? .null)
        case "beforeDelete": return HookAnswer(value: .null, context: result["context"])
        case "afterSave": return HookAnswer(value: result)
        case "beforeFind":
            if let objects = result["objects"] {
                var answer = HookAnswer(value: .null, context: result["context"])
                answer.objects = try Self.objects(objects)
                return answer
            }
            // The current version of the code has no such trigger, and this gateway does not know it yet.
            guard let changed = result["query"] else { return HookAnswer(value: .null) }
            return HookAnswer(value: ["query": query(changed)], context: result["context"])
        case "afterFind": return HookAnswer(value: result["objects"] ?? [:])
        // `LiveTriggers` interprets the results for live queries.
        case "beforeSubscribe", "afterEvent": return HookAnswer(value: result)
        default: return HookAnswer(value: .null)
        }
    }

    /// The fields, and paths of members, that the client writes and that the result lacks. A result is complete, so
    /// that a missing field was removed by the code.
    private func removedByCode(by object: JSON) -> Set<String> {
        let paths = (members[Self.ofMembers]?.objectValue ?? [:]).keys
        let reached = Set(paths.map { String($0.prefix { $0 != "." }) })
        let fields = (members[Self.written]?.arrayValue ?? []).compactMap(\.stringValue).filter { field in
            // When only members of a field are written, the field itself is not in the result.
            !reached.contains(field) || members["object"]?[field]?["__op"] != nil
        }
        return Set(
            fields.filter { object[$0] == nil }
                + paths.filter { object[$0] == nil && object[String($0.prefix { $0 != "." })] == nil })
    }

    private static func objects(_ list: JSON) throws(ParseError) -> [JSON] {
        guard case .array(let elements) = list, elements.allSatisfy({ $0.objectValue != nil }) else {
            throw ParseError(.scriptFailed, "The code's answer to beforeFind is not an array of objects.")
        }
        return elements
    }

    /// The query with the code's removals: the result is the whole query, so a missing member was removed.
    private func query(_ result: JSON) -> JSON {
        var query = result
        let without: [String: JSON] = ["where": [:], "skip": 0, "order": "", "excludeKeys": "", "include": ""]
        for (name, nothing) in without where members["query"]?[name] != nil && query[name] == nil {
            query[name] = nothing
        }
        return query
    }
}
