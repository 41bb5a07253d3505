import HTTPTypes
import MessageBus
import ParseProtocol

/// What operators and SDKs ask about the suite itself.
struct SystemController: Sendable {
    let broker: Broker
    let document: OpenAPIDocument

    static let version = "0.1.0"

    /// What this gateway offers, as OpenAPI.
    func openAPI() -> ParseResponse {
        var response = ParseResponse(body: document.text)
        // Says that the body is final: its examples of files get no links.
        response.headers[.contentType] = "application/json; charset=utf-8"
        return response
    }

    /// 200 when every service has a writer, else 503 with what is missing.
    func health() -> ParseResponse {
        let states = broker.services
        var services: [String: JSON] = [:]
        for name in Owners.services {
            let state = states[name] ?? .init()
            services[name] = ["replicas": .int(Int64(state.replicas.count)), "writer": .bool(state.hasWriter)]
        }
        let isReady = Owners.services.allSatisfy { states[$0]?.hasWriter == true }
        var answer = ParseResponse(
            status: isReady ? 200 : 503, ["status": isReady ? "ok" : "starting", "services": .object(services)])
        if !isReady { answer.retryAfterSeconds = 1 }
        return answer
    }

    /// The features SDKs and dashboards look for (PARSE_PROTOCOL section 12); false where Satchel has none yet.
    func serverInfo() -> ParseResponse {
        let none: JSON = false
        let edited: JSON = ["create": true, "read": true, "update": true, "delete": true]
        return ParseResponse([
            "parseServerVersion": "7.3.0",
            "satchelVersion": .string(Self.version),
            "features": [
                "globalConfig": ["create": true, "read": true, "update": true, "delete": true],
                "hooks": edited,
                "cloudCode": ["jobs": true],
                "logs": ["level": true, "size": true, "order": true, "until": true, "from": true],
                "push": [
                    "immediatePush": true, "scheduledPush": true, "storedPushData": true, "pushAudiences": true,
                    "localization": none,
                ],
                "schemas": [
                    "addField": true, "removeField": true, "addClass": true, "removeClass": true,
                    "clearAllDataFromClass": true, "exportClass": true, "editClassLevelPermissions": true,
                    "editPointerPermissions": true,
                ],
                "settings": [:],
            ],
        ])
    }
}
