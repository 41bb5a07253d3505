import Foundation
import ParseProtocol

/// Almost valid requests for every route.
struct HTTPInputs {
    /// The operations of the OpenAPI document, as `GET` and `/classes/{className}`, in a fixed order.
    let operations: [(method: String, path: String)]

    init(openAPI document: JSON) {
        operations = (document["paths"]?.objectValue ?? [:]).sorted { $0.key < $1.key }.flatMap { path, item in
            (item.objectValue ?? [:]).keys.sorted().map { (method: $0.uppercased(), path: path) }
        }
    }

    static let classes = [
        "Thing", "Product", "_User", "_Role", "_Session", "_Installation", "Bag", "Order", "Review", "_Hooks",
        "_SCHEMA", "Nothing", "_Join:a:b",
    ]
    static let paths =
        classes.map { "/classes/\($0)" }
        + [
            "/users", "/users/me", "/login", "/logout", "/sessions", "/sessions/me", "/roles", "/installations",
            "/batch", "/verifyPassword",
            "/loginAs", "/upgradeToRevocableSession", "/requestPasswordReset", "/verificationEmailRequest",
            "/files/a.png", "/files/x",
            "/files/satchel/nothing.png", "/functions/addToBag", "/functions/nothing", "/functions/checkout", "/jobs/x",
            "/events/AppOpened",
            "/events/x", "/config", "/export/Thing", "/import/Thing", "/moves",
            "/moves/rows/Thing", "/moves/classes/Thing", "/moves/removals/Thing",
            "/moves/members/_Join:a:Thing", "/moves/secrets/_User",
            "/schemas", "/schemas/Thing", "/purge/Thing",
            "/push", "/push_audiences",
            "/serverInfo", "/health", "/aggregate/Thing", "/hooks/functions", "/hooks/triggers", "/cloud_code/jobs",
            "/scriptlog", "/security",
            "/validate_purchase", "/apps/satchel/verify_email", "/graphql", "/openapi.json", "/", "//", "/..", "/%00",
            "/%ff", "/classes",
            "/classes/Thing/nothing", "/classes/%24or", "/nothing",
        ]

    static let dictionary =
        paths
        + [
            "GET ", "POST ", "PUT ", "DELETE ", "HEAD ", "PATCH ", "OPTIONS ", "?where=", "&order=", "&limit=-1",
            "&limit=1e9", "&skip=x", "&keys=",
            "&include=", "&count=1", "&distinct=", "&pipeline=", "%22", "%00", "%", "X-Parse-Application-Id: satchel\n",
            "X-Parse-Master-Key: {master}\n",
            "X-Parse-Session-Token: {session}\n", "X-Parse-Installation-Id: x\n", "X-Parse-Request-Id: r1\n",
            "X-Parse-Cloud-Context: [1]\n",
            "X-Parse-Client-Version: js5.3.0\n", "Content-Type: text/plain\n", "Content-Encoding: gzip\n",
            "Range: bytes=0-1\n", "If-None-Match: *\n",
            "Authorization: Basic eA==\n", "_method", "_ApplicationId", "_SessionToken", "_MasterKey", "_ContentType",
            "_context", "_noBody",
            "__op", "Increment", "amount", "objects", "__type", "username", "password", "email", "authData", "ACL",
            "requests", "transaction",
            "where", "$ne", "$regex", "$inQuery", "$select", "$relatedTo", "className", "objectId", "fields",
            "classLevelPermissions", "indexes",
            "deviceType", "deviceToken", "channels", "data", "push_time", "params", "dimensions", "at", "query",
            "base64", "_User", "{}", "[]", "null",
        ]

    /// A method and a path, mostly of an existing route.
    private func target(_ random: inout Seeded) -> (method: String, path: String) {
        let methods = ["GET", "GET", "POST", "POST", "POST", "PUT", "DELETE", "HEAD"]
        switch random.below(10) {
        case 0, 1: return (random.pick(["GET", "POST"]), "/classes/Thing")
        case 2: return (random.pick(methods), random.pick(Self.paths))
        default:
            guard !operations.isEmpty else { return ("GET", "/") }
            let (method, template) = random.pick(operations)
            let path = template.split(separator: "/").map { part in
                guard part.hasPrefix("{") else { return String(part) }
                return part == "{className}"
                    ? random.pick(random.chance(50) ? ["Thing"] : Self.classes)
                    : random.pick(["nothing", "x", "a.png", "addToBag", "beforeSave", "satchel", "%2e"])
            }
            return (method, "/" + path.joined(separator: "/"))
        }
    }

    func request(_ random: inout Seeded) -> [UInt8] {
        let (method, route) = target(&random)
        var path = route
        if random.chance(5) { path += "/" + random.pick(["nothing", "x", "..", "a.b", "%2e"]) }
        let query = RandomQuery(fields: ValueKind.allCases.map { ($0.rawValue, $0) }, values: [:], faults: 20)
        var queries = query
        var headers: [String] = []
        var body = Self.object(&random)
        if method == "GET" || method == "HEAD" {
            var options = ["where=" + Self.escaped(queries.condition(&random).serializedText)]
            if random.chance(30) {
                options.append("order=" + random.pick(["-string", "number", "createdAt", "$score", "x y"]))
            }
            if random.chance(30) { options.append("limit=" + random.pick(["0", "1", "-1", "1000000", "x"])) }
            if random.chance(30) {
                options.append(
                    random.pick([
                        "count=1", "keys=string", "include=pointer", "includeAll=true", "skip=2", "explain=true",
                        "excludeKeys=ACL",
                    ]))
            }
            path += "?" + options.joined(separator: "&")
        } else if random.chance(25) {
            body["_method"] = random.pick(["GET", "PUT", "DELETE", "get", "X", 1])
            body["_ApplicationId"] = "satchel"
            body["where"] = queries.condition(&random)
        } else if path == "/batch" {
            body = [
                "requests": .array(
                    (0..<random.below(4)).map { _ in
                        [
                            "method": random.pick(["POST", "PUT", "GET", "DELETE", 1]),
                            "path": .string("/parse" + target(&random).path), "body": Self.object(&random),
                        ]
                    })
            ]
        }
        if random.chance(97) { headers.append("X-Parse-Application-Id: satchel") }
        if random.chance(50) {
            headers.append("X-Parse-Master-Key: {master}")
        } else if random.chance(60) {
            headers.append("X-Parse-Session-Token: {session}")
        }
        if random.chance(20) { headers.append("X-Parse-Request-Id: \(random.below(1000))") }
        headers.append(
            """
            Content-Type: \
            \(random.pick(["application/json", "text/plain", "image/png", "application/x-www-form-urlencoded"]))
            """
        )
        var text = ["\(method) \(path)"] + headers
        if method == "POST" || method == "PUT" { text += ["", body.serializedText] }
        return Array(text.joined(separator: "\n").utf8)
    }

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private static func object(_ random: inout Seeded) -> JSON {
        var members: [String: JSON] = [:]
        for _ in 0..<random.below(5) {
            let kind = random.pick(ValueKind.allCases)
            members[kind.rawValue] = random.chance(80) ? kind.value(&random) : ["__op": "Increment", "amount": 1]
        }
        for key in [
            "username", "password", "email", "installationId", "deviceType", "name", "className", "data", "params",
            "query", "fields",
        ] where random.chance(8) {
            members[key] = random.chance(50) ? random.pick(ValueKind.strings) : ValueKind.any(&random, depth: 2)
        }
        return .object(members)
    }
}
