import Foundation
import HTTPTypes
import MessageBus
import ParseProtocol
import ProcessKit

/// The routes through which operators and SDKs query the suite itself.
struct SystemController: Sendable {
    let readiness: GatewayReadiness
    let broker: Broker
    let cache: ReadCache?
    let files: FileCache?
    let hooks: HookCache
    let codeFile: String
    let document: OpenAPIDocument
    private let manager = ProcessManager()

    /// The OpenAPI document of this gateway.
    func openAPI() throws -> ParseResponse {
        var response = ParseResponse(body: try document.text)
        // Marks the body as final, so that its examples of files get no URLs.
        response.headers[.contentType] = "application/json; charset=utf-8"
        return response
    }

    /// The health of the suite, or with `of=gateway` of this gateway alone, for a balancer in front of several.
    func health(_ request: ParseRequest) -> ParseResponse {
        // The catalog may not have reported the installed code yet.
        let hasCode = hooks.last?.hasCode ?? true || FileManager.default.fileExists(atPath: codeFile)
        let health = SuiteHealth(broker.services, hasCode: hasCode, hasManager: !manager.isGone)
        let status = readiness.status(health)
        // A stopping gateway reports only that.
        guard status != .stopping, request.query != "of=gateway" else { return ParseResponse(status, of: readiness) }
        return ParseResponse(health, seenBy: readiness.name)
    }

    /// The features that SDKs and dashboards look for (PARSE_PROTOCOL section 12); false for the ones that Satchel does
    /// not have. `replicas` is Satchel's: the number of requests to each replica since it joined.
    func serverInfo() async -> ParseResponse {
        let replicas = await broker.requestsByReplica.mapValues { JSON.int(Int64($0)) }
        let none: JSON = false
        let edited: JSON = ["create": true, "read": true, "update": true, "delete": true]
        return ParseResponse([
            "parseServerVersion": "7.3.0",
            "satchelVersion": .string(satchelRelease),
            "gateway": .string(readiness.name),
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
