import HTTPTypes
import MessageBus
import ParseProtocol
import ProcessKit

/// The routes by which operators and SDKs ask about the suite itself.
struct SystemController: Sendable {
    let standing: GatewayStanding
    let broker: Broker
    let cache: ReadCache?
    let files: FileCache?
    let hooks: HookCache
    let document: OpenAPIDocument

    /// The OpenAPI document of this gateway.
    func openAPI() -> ParseResponse {
        var response = ParseResponse(body: document.text)
        // Says that the body is final: its examples of files get no links.
        response.headers[.contentType] = "application/json; charset=utf-8"
        return response
    }

    /// Of the suite; with `of=gateway` of this gateway alone, which is what a balancer before several asks.
    func health(_ request: ParseRequest) -> ParseResponse {
        let health = SuiteHealth(broker.services, hasCode: hooks.last?.hasCode ?? true)
        let status = standing.status(health)
        // One that stops has nothing else to say.
        guard status != .stopping, request.query != "of=gateway" else { return ParseResponse(status, of: standing) }
        return ParseResponse(health, seenBy: standing.name)
    }

    /// The features SDKs and dashboards look for (PARSE_PROTOCOL section 12); false where Satchel has none yet.
    /// `replicas` is ours: the requests that each replica was sent since it joined.
    func serverInfo() async -> ParseResponse {
        let replicas = await broker.requestsByReplica.mapValues { JSON.int(Int64($0)) }
        let none: JSON = false
        let edited: JSON = ["create": true, "read": true, "update": true, "delete": true]
        return ParseResponse([
            "parseServerVersion": "7.3.0",
            "satchelVersion": .string(satchelRelease),
            "gateway": .string(standing.name),
            "replicas": .object(replicas),
            "readCache": cache?.counts ?? .null, "fileCache": files?.counts ?? .null,
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
