import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Checks that the gateway's requests and answers match the OpenAPI document.
@Suite struct OpenAPIAnswerTests {
    /// Calls operations and records the requests and answers.
    private actor Recorder {
        private(set) var samples: [JSON] = []

        func call(
            _ operation: String, _ client: ParseClient, _ method: HTTPMethod, _ path: String, _ body: JSON? = nil,
            _ options: [String: JSON] = [:]
        ) async throws -> ParseClient.Answer {
            let answer = try await client.call(method, path, body, options: options)
            var sample: JSON = [
                "operation": .string(operation), "status": .int(Int64(answer.status)), "answer": answer.json,
            ]
            // A refused request need not match the document.
            if answer.status < 300 { sample["request"] = body }
            samples.append(sample)
            return answer
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func realRequestsAndAnswersFitTheDocument() async throws {
        let suite = try await Suite.shared
        let recorder = Recorder()
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        try await objects(recorder, client, master)
        try await users(recorder, client, master)
        try await management(recorder, client, master)
        let samples = await recorder.samples
        let document = try await client.send(.GET, "/openapi.json").json
        let found = try await OpenAPITests.problems(in: document, samples: samples)
        #expect(found["problems"] == [], "\(found.serializedText)")
        #expect(found["samples"]?.intValue ?? 0 >= 45)
    }

    private func objects(_ recorder: Recorder, _ client: ParseClient, _ master: ParseClient) async throws {
        let className = "Sample\(Names.random(6))"
        let path = "/classes/\(className)"
        let values: JSON = [
            "text": "a", "number": 1.5, "flag": true, "nothing": .null, "list": [1, "b"], "object": ["deep": [1]],
            "date": ["__type": "Date", "iso": "2022-01-01T12:23:45.678Z"],
            "bytes": ["__type": "Bytes", "base64": "aGk="],
            "place": ["__type": "GeoPoint", "latitude": 40, "longitude": -30],
            "area": ["__type": "Polygon", "coordinates": [[0, 0], [0, 1], [1, 1]]],
            "added": ["__op": "Add", "objects": ["x"]], "count": ["__op": "Increment", "amount": 2],
        ]
        let one = try await recorder.call("createObject", client, .POST, path, values)
        let two = try await recorder.call(
            "createObject", client, .POST, path,
            [
                "other": .pointer(className, one.objectId), "ACL": ["*": ["read": true, "write": true]],
                "friends": ["__op": "AddRelation", "objects": [.pointer(className, one.objectId)]],
            ])
        _ = try await recorder.call("getObject", client, .GET, "\(path)/\(one.objectId)")
        _ = try await recorder.call("getObject", client, .GET, "\(path)/\(two.objectId)", nil, ["include": "other"])
        _ = try await recorder.call("getObject", client, .GET, "\(path)/nothing")
        _ = try await recorder.call(
            "findObjects", client, .GET, path, nil, ["where": ["number": ["$gt": 1]], "count": 1, "include": "*"])
        _ = try await recorder.call("findObjects", client, .GET, path, nil, ["limit": -1])
        _ = try await recorder.call(
            "updateObject", client, .PUT, "\(path)/\(one.objectId)",
            [
                "list": ["__op": "AddUnique", "objects": [1]], "text": ["__op": "Delete"],
                "friends": ["__op": "RemoveRelation", "objects": [.pointer(className, two.objectId)]],
            ])
        _ = try await recorder.call("updateObject", client, .PUT, "\(path)/\(one.objectId)", ["number": "text"])
        let inner: JSON = ["method": "DELETE", "path": .string("/parse\(path)/\(two.objectId)")]
        let batch: JSON = ["requests": [inner, inner]]
        _ = try await recorder.call("batch", client, .POST, "/batch", batch)
        _ = try await recorder.call("deleteObject", client, .DELETE, "\(path)/\(one.objectId)")
        _ = try await recorder.call("exportClass", master, .GET, "/export/\(className)")
        _ = try await recorder.call("importClass", master, .POST, "/import/\(className)", [["text": "a"]])
        _ = try await recorder.call("getMove", master, .GET, "/moves")
        _ = try await recorder.call("stageClass", master, .PUT, "/moves/classes/\(className)", ["fields": [:]])
        _ = try await recorder.call("getMove", master, .GET, "/moves")
        _ = try await recorder.call("undoMove", master, .DELETE, "/moves")
        _ = try await recorder.call("purgeClass", master, .DELETE, "/purge/\(className)")
        _ = try await recorder.call("purgeClass", client, .DELETE, "/purge/\(className)")
    }

    private func users(_ recorder: Recorder, _ client: ParseClient, _ master: ParseClient) async throws {
        let name = "\(Names.random(10))@sample.example"
        let user: JSON = ["username": .string(name), "password": "secret1", "email": .string(name)]
        let created = try await recorder.call("createUser", client, .POST, "/users", user)
        _ = try await recorder.call("createUser", client, .POST, "/users", user)
        let anonymous: JSON = ["authData": ["anonymous": ["id": .string(UUID().uuidString.lowercased())]]]
        _ = try await recorder.call("createUser", client, .POST, "/users", anonymous)
        _ = try await recorder.call("createUser", client, .POST, "/users", anonymous)
        let login: JSON = ["username": .string(name), "password": "secret1"]
        var own = client
        own.sessionToken = try await recorder.call("logIn", client, .POST, "/login", login).json.text("sessionToken")
        _ = try await recorder.call("logInByQuery", client, .GET, "/login", nil, login.objectValue ?? [:])
        _ = try await recorder.call("logIn", client, .POST, "/login", ["username": .string(name), "password": "no"])
        _ = try await recorder.call("verifyPassword", client, .POST, "/verifyPassword", login)
        _ = try await recorder.call("logInAs", master, .POST, "/loginAs", ["userId": .string(created.objectId)])
        _ = try await recorder.call("getCurrentUser", own, .GET, "/users/me")
        _ = try await recorder.call("getUser", own, .GET, "/users/\(created.objectId)")
        _ = try await recorder.call("findUsers", own, .GET, "/users")
        _ = try await recorder.call("updateUser", own, .PUT, "/users/\(created.objectId)", ["phone": "415"])
        _ = try await recorder.call("getCurrentSession", own, .GET, "/sessions/me")
        _ = try await recorder.call("findSessions", own, .GET, "/sessions")
        _ = try await recorder.call(
            "requestPasswordReset", client, .POST, "/requestPasswordReset", ["email": "a@b.example"])
        _ = try await recorder.call("requestPasswordReset", client, .POST, "/requestPasswordReset", [:])
        let role = try await recorder.call(
            "createRole", master, .POST, "/roles",
            [
                "name": .string("Sample \(Names.random(6))"), "ACL": [:],
                "users": ["__op": "AddRelation", "objects": [.pointer("_User", created.objectId)]],
            ])
        _ = try await recorder.call("getRole", master, .GET, "/roles/\(role.objectId)")
        let installation: JSON = ["deviceType": "ios", "installationId": .string(UUID().uuidString.lowercased())]
        _ = try await recorder.call("createInstallation", client, .POST, "/installations", installation)
        _ = try await recorder.call("createInstallation", client, .POST, "/installations", installation)
        _ = try await recorder.call("function.bag", own, .POST, "/functions/bag", [:])
        _ = try await recorder.call("logOut", own, .POST, "/logout", [:])
        _ = try await recorder.call("getCurrentUser", own, .GET, "/users/me")
        _ = try await recorder.call("deleteUser", master, .DELETE, "/users/\(created.objectId)")
    }

    private func management(_ recorder: Recorder, _ client: ParseClient, _ master: ParseClient) async throws {
        let name = "Sample\(Names.random(6))"
        let schema: JSON = [
            "className": .string(name),
            "fields": [
                "score": ["type": "Number", "defaultValue": 0], "owner": ["type": "Pointer", "targetClass": "_User"],
            ],
            "classLevelPermissions": [
                "find": ["*": true], "get": ["requiresAuthentication": true], "create": [:],
                "protectedFields": ["*": ["owner"]],
            ], "indexes": ["byScore": ["score": 1]],
        ]
        _ = try await recorder.call("createSchema", master, .POST, "/schemas/\(name)", schema)
        _ = try await recorder.call("getSchema", master, .GET, "/schemas/\(name)")
        _ = try await recorder.call("listSchemas", master, .GET, "/schemas")
        _ = try await recorder.call(
            "convertField", master, .POST, "/schemas/\(name)/convert", ["field": "score", "type": "String"])
        _ = try await recorder.call(
            "updateSchema", master, .PUT, "/schemas/\(name)",
            ["fields": ["score": ["__op": "Delete"]], "indexes": ["byScore": ["__op": "Delete"]]])
        _ = try await recorder.call("deleteSchema", master, .DELETE, "/schemas/\(name)")
        _ = try await recorder.call("getSchema", master, .GET, "/schemas/\(name)")
        _ = try await recorder.call("updateConfig", master, .PUT, "/config", ["params": .object(["sample\(name)": 1])])
        _ = try await recorder.call("getConfig", client, .GET, "/config")
        _ = try await recorder.call("trackEvent", client, .POST, "/events/Sample", ["dimensions": ["a": "b"]])
        let push: JSON = ["channels": [.string("nobody\(name)")], "data": ["alert": "hi"]]
        _ = try await recorder.call("sendPush", master, .POST, "/push", push)
        let audience: JSON = ["name": "nobody", "query": "{\"deviceType\":\"none\"}"]
        let saved = try await recorder.call("createPushAudience", master, .POST, "/push_audiences", audience)
        _ = try await recorder.call("getPushAudience", master, .GET, "/push_audiences/\(saved.objectId)")
        _ = try await recorder.call("findPushAudiences", master, .GET, "/push_audiences")
        _ = try await recorder.call("deletePushAudience", master, .DELETE, "/push_audiences/\(saved.objectId)")
        _ = try await recorder.call("getHealth", client, .GET, "/health")
        _ = try await recorder.call("getServerInfo", master, .GET, "/serverInfo")
        _ = try await recorder.call("getServerInfo", client, .GET, "/serverInfo")
    }
}
