import Messages
import ParseProtocol

/// Builds OpenAPI operations from routes.
struct OpenAPIOperations: Sendable {
    let components: JSON
    /// By operation id: `query`, `headers`, `body`, `bodyTypes`, `bodyOptional`, `status`, `answer`, `answerTypes`,
    /// `answerHeaders`, `alsoAnswers` and `description`.
    let bodies: JSON

    func operation(of route: Route) -> JSON {
        let body = bodies[route.id] ?? ["body": route.method.hasBody ? "Any" : .null, "answer": "Any"]
        var operation: JSON = [
            "operationId": .string(route.id),
            "summary": .string(route.summary),
            "tags": [.string(route.tag.rawValue)],
            "security": security(route.access),
            "parameters": .array(parameters(of: route, body)),
            "responses": answers(of: route, body),
        ]
        operation["requestBody"] = requestBody(body)
        operation["description"] = body["description"]
        return operation
    }

    /// - Parameters:
    ///   - function: `summary`, `caller`, `parameters` and `required`.
    ///   - example: `request`, `result`, and `parameters` with a text about each.
    func operation(ofFunction name: String, _ function: JSON, _ example: JSON) -> JSON {
        let who =
            switch function["caller"] {
            case "admin": Self.members(of: function["areas"]?.arrayValue ?? [])
            case "user": "Signed-in users."
            case "master": "Only the master key."
            default: "Everybody."
            }
        var properties = function["parameters"]?.objectValue ?? [:]
        for (parameter, text) in example["parameters"]?.objectValue ?? [:] {
            properties[parameter]?["description"] = text
        }
        let schema: JSON = [
            "type": "object", "properties": .object(properties), "required": function["required"] ?? [],
        ]
        var request: JSON = ["schema": schema]
        request["example"] = example["request"]
        var result: JSON = ["schema": ["$ref": "#/components/schemas/FunctionAnswer"]]
        result["example"] = example["result"].map { ["result": $0] }
        return [
            "operationId": .string("function.\(name)"),
            "summary": function["summary"] ?? .string(name),
            "description": .string(who),
            "tags": [.string(Route.Tag.cloud.rawValue)],
            "security": Self.security(ofCaller: function["caller"]),
            "parameters": [reference("header.idempotencyKey")],
            "requestBody": ["content": ["application/json": request]],
            "responses": .object(
                Self.failures(body: true, keyed: true).merging([
                    "200": ["description": "The result.", "content": ["application/json": result]]
                ]) { _, own in own }),
        ]
    }

    private static func members(of areas: [JSON]) -> String {
        let roles = areas.compactMap { $0.stringValue.flatMap(OperatorArea.init)?.role }
        return roles.isEmpty
            ? "Members of the role admins." : "Members of the roles \(([adminsRole] + roles).joined(separator: ", "))."
    }

    // MARK: - Parameters and bodies

    private func parameters(of route: Route, _ body: JSON) -> [JSON] {
        var parameters = route.path.split(separator: "/").filter { $0.hasPrefix("{") }.map { part -> JSON in
            let name = String(part.dropFirst().dropLast())
            guard components["parameters"]?["path.\(name)"] == nil else { return reference("path.\(name)") }
            return ["name": .string(name), "in": "path", "required": true, "schema": ["type": "string"]]
        }
        parameters += (body["query"]?.arrayValue ?? []).compactMap { $0.stringValue.map(reference) }
        parameters += (body["headers"]?.arrayValue ?? []).compactMap {
            $0.stringValue.map { reference("header.\($0)") }
        }
        if route.access != .anyone {
            parameters += [reference("header.installation"), reference("header.clientVersion")]
            if route.method.hasBody { parameters.append(reference("header.requestId")) }
            if route.isKeyed { parameters.append(reference("header.idempotencyKey")) }
        }
        return parameters
    }

    private func reference(_ name: String) -> JSON { ["$ref": .string("#/components/parameters/\(name)")] }

    private func requestBody(_ body: JSON) -> JSON? {
        let types = body["bodyTypes"]?.arrayValue ?? []
        guard body["body"]?.stringValue != nil || !types.isEmpty else { return nil }
        return [
            "required": body["bodyOptional"] == true ? false : true,
            "content": Self.content(body["body"]?.stringValue, types),
        ]
    }

    /// Media types with the schema for JSON; other types have a name only.
    private static func content(_ schema: String?, _ types: [JSON]) -> JSON {
        var content: [String: JSON] = [:]
        if let schema {
            content["application/json"] = ["schema": ["$ref": .string("#/components/schemas/\(schema)")]]
        }
        for type in types { content[type.stringValue ?? "*/*"] = [:] }
        return .object(content)
    }

    // MARK: - Responses

    private func answers(of route: Route, _ body: JSON) -> JSON {
        var answers = Self.failures(body: route.method.hasBody, keyed: route.isKeyed)
        if route.access == .anyone { answers["403"] = nil }
        let status = body["status"]?.intValue ?? 200
        var success: JSON = [
            "description": status < 400 ? "Done." : "Refused.",
            "content": Self.content(body["answer"]?.stringValue, body["answerTypes"]?.arrayValue ?? []),
        ]
        if let names = body["answerHeaders"]?.arrayValue?.compactMap(\.stringValue) {
            success["headers"] = .object(
                Dictionary(names.map { ($0, ["schema": ["type": "string"]]) }) { first, _ in first })
        }
        answers[String(status)] = success
        for (status, schema) in body["alsoAnswers"]?.objectValue ?? [:] {
            answers[status] = ["description": "Done otherwise.", "content": Self.content(schema.stringValue, [])]
        }
        return .object(answers)
    }

    private static func failures(body: Bool, keyed: Bool) -> [String: JSON] {
        var failures = [
            "400": "BadRequest", "403": "Forbidden", "404": "NotFound", "429": "TooMany", "500": "Fault",
            "503": "Unavailable",
        ]
        if body { failures["413"] = "TooLarge" }
        if keyed { failures["422"] = "OtherRequest" }
        return failures.mapValues { ["$ref": .string("#/components/responses/\($0)")] }
    }

    // MARK: - Rights

    private func security(_ access: Route.Access) -> JSON {
        switch access {
        case .anyone: []
        case .client: .array((Self.clientKeys.arrayValue ?? []) + (Self.session.arrayValue ?? []) + Self.masterKeys)
        case .master: .array(Self.masterKeys)
        case .desk: .array((Self.session.arrayValue ?? []) + Self.masterKeys)
        }
    }

    private static func security(ofCaller caller: JSON?) -> JSON {
        switch caller {
        case "anyone": clientKeys
        case "master": .array(masterKeys)
        default: session
        }
    }

    /// Client keys are required when some are configured.
    private static let clientKeys: JSON = .array(
        [["applicationId": []]]
            + ["restKey", "javascriptKey", "clientKey", "windowsKey"].map { ["applicationId": [], $0: []] })
    private static let session: JSON = [["applicationId": [], "sessionToken": []]]
    private static let masterKeys: [JSON] = [["applicationId": [], "masterKey": []], ["basic": []]]
}

extension Route {
    /// Whether an `Idempotency-Key` counts.
    fileprivate var isKeyed: Bool { method != .get && access != .anyone }
}

extension ParseRequest.Method {
    fileprivate var hasBody: Bool { self == .post || self == .put }
}
