import Messages
import ParseProtocol

/// The answer of a webhook or of cloud code.
package struct HookAnswer: Sendable {
    /// A function's result, or what a trigger makes of what it was told; null for nothing.
    package var value: JSON
    /// The request's context, as the code left it; nil where it said nothing of it.
    package var context: JSON?
    /// The objects that a beforeFind answers in place of a query; nil where it answers a query.
    package var objects: [JSON]?
    /// The fields of the client's change that the code took back.
    package var takenBack: Set<String> = []
    /// Whether a function ended without a result, which is not the result null.
    package var isNothing = false
}

/// Calls functions and triggers of cloud code: what a webhook would be told, in the words of the protocol with Node
/// (Services/Cloud/Runtime/README.md).
struct CloudCode: Sendable {
    let services: ServiceClient

    /// Calls of cloud code inside of one another. A trigger that saves an object of its own class would else go on for
    /// ever.
    private static let depthMax = 8
    /// Past every limit of `cloud`'s own, which ends the call with a clearer text.
    private static let timeout = Duration.seconds(30)

    /// - Parameter body: as for a webhook.
    /// - Throws: what the code refuses; `.scriptFailed` (141) when it fails, is ended or has called itself too often;
    ///   `.serviceUnavailable` (2) while nobody runs it.
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
        let reply = try await services.once(
            CloudCalls.run, message, documents: [JSON.object(call.members).serialized], for: principal,
            trace: request.requestId, timeout: Self.timeout)
        let answer = try JSON(reply: reply.document)
        if let error = answer["error"] { throw WebhookAnswer.refusal(error) }
        var result = try call.answer(to: answer["result"] ?? .null)
        result.isNothing = answer["result"] == nil
        return result
    }
}

/// One call of cloud code: the members of `run`, and the meaning of its result.
package struct CodeCall: Sendable {
    package let message: RunCode
    package let members: [String: JSON]
    private let told: JSON?
    /// The member by which the code hears which fields the client writes.
    package static let written = "dirtyKeys"
    /// Members of a trigger's call that are the same in both.
    private static let passed = [
        "object", "original", "query", "objects", "fileSize", "contentLength", written, "event", "clients",
        "subscriptions", "sessionToken", "useMasterKey", "sendEvent",
    ]

    /// - Parameters:
    ///   - body: what a webhook is told, and `written`.
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
            told = nil
            return
        }
        let trigger = body["triggerName"]?.stringValue ?? ""
        // What is about no object, such as a connection, names its class itself.
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
        told = body["object"]
    }

    /// The result in the words of a webhook's `success`.
    /// - Throws: `.invalidKeyName` (105) and `.invalidJSON` (107) for what clients may not send either, and
    ///   `.scriptFailed` (141) for objects that are none.
    package func answer(to result: JSON) throws(ParseError) -> HookAnswer {
        try WebhookAnswer.check(result)
        // It has triggers of the same names as objects have.
        if message.className == Hook.configClass {
            return HookAnswer(value: message.name == "beforeSave" ? result : .null)
        }
        switch message.name {
        case _ where message.kind == "function": return HookAnswer(value: result)
        case "beforeSave":
            guard let object = result["object"] else {
                return HookAnswer(value: told ?? [:], context: result["context"])
            }
            // The result has every field that is to be written.
            let written = Set((members[Self.written]?.arrayValue ?? []).compactMap(\.stringValue))
            return HookAnswer(
                value: object, context: result["context"],
                takenBack: written.subtracting((object.objectValue ?? [:]).keys))
        case "beforeSaveFile": return HookAnswer(value: result["file"] ?? .null)
        case "beforeDelete": return HookAnswer(value: .null, context: result["context"])
        case "beforeFind":
            if let objects = result["objects"] {
                var answer = HookAnswer(value: .null, context: result["context"])
                answer.objects = try Self.objects(objects)
                return answer
            }
            // The code that is loaded now has no such trigger any more, which is not known here yet.
            guard let changed = result["query"] else { return HookAnswer(value: .null) }
            return HookAnswer(value: ["query": query(changed)], context: result["context"])
        case "afterFind": return HookAnswer(value: result["objects"] ?? [:])
        // What live queries make of them, `LiveTriggers` says.
        case "beforeSubscribe", "afterEvent": return HookAnswer(value: result)
        default: return HookAnswer(value: .null)
        }
    }

    private static func objects(_ list: JSON) throws(ParseError) -> [JSON] {
        guard case .array(let elements) = list, elements.allSatisfy({ $0.objectValue != nil }) else {
            throw ParseError(.scriptFailed, "The code's answer to beforeFind is no array of objects.")
        }
        return elements
    }

    /// The query with what the code took out of it: the result is the whole query, and what it lacks is meant so.
    private func query(_ result: JSON) -> JSON {
        var query = result
        let without: [String: JSON] = ["where": [:], "skip": 0, "order": "", "excludeKeys": ""]
        for (name, nothing) in without where members["query"]?[name] != nil && query[name] == nil {
            query[name] = nothing
        }
        return query
    }
}
