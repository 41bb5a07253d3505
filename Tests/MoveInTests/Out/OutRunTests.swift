import ParseProtocol
import Testing

@testable import MoveIn

/// What of a suite in memory moves out.
@Suite struct OutRunTests {
    /// Keeps the written rows.
    private final class Kept: OutWriter {
        var listed: [MovedClass] = []
        var opened: [MovedClass] = []
        var rows: [MovedRow] = []
        var isFinished = false

        func begin(_ schemas: [MovedClass]) throws { listed = schemas }
        func open(_ schema: MovedClass) throws { opened.append(schema) }
        func add(_ row: MovedRow) throws {
            guard row.objectId != "bad" else { throw UnstorableValue("It is bad.") }
            rows.append(row)
        }
        func close() throws {}
        func finish() throws { isFinished = true }

        func ids(_ className: String) -> [String] { rows.filter { $0.className == className }.map(\.objectId) }
    }

    private static func schema(_ name: String, _ fields: [String: JSON] = [:]) -> JSON {
        ["className": .string(name), "fields": .object(fields), "classLevelPermissions": ["find": ["*": true]]]
    }

    private static func suite() -> ServedDouble {
        var suite = ServedDouble()
        let users: JSON = ["type": "Relation", "targetClass": "_User"]
        suite.wireSchemas = [
            schema("_User", ["gender": ["type": "Number", "alsoText": true], "_secret": ["type": "String"]]),
            schema("_Role", ["users": users]), schema("_Session"), schema("_Audience"), schema("_Idempotency"),
            schema("Item", ["name": ["type": "String", "required": true, "own": 1]]),
        ]
        suite.objects["Item"] = (0..<450).map { number -> [String: JSON] in
            ["objectId": .string("i\(number)"), "name": "x"]
        }
        suite.objects["Item"]?.append(["objectId": "bad"])
        suite.objects["_User"] = [
            ["objectId": "u1", "username": "ann"], ["objectId": "u2", "authData": ["anonymous": [:]]],
            ["objectId": "u3", "username": "bob"],
            ["objectId": "u4", "authData": ["facebook": ["id": "7"], "mfa": ["status": "enabled"]]],
        ]
        suite.objects["_Role"] = [["objectId": "r1", "name": "staff"]]
        suite.objects["_Session"] = [["objectId": "s1"]]
        suite.members = ["_Join:users:_Role": ["r1:u1", "r1:u2"]]
        suite.hidden = [
            "_User": ["u1": ["_hashed_password": "$2y$10$x"], "u2": ["authData": ["anonymous": ["id": "secret"]]]]
        ]
        suite.config = ["params": ["a": 1], "masterKeyOnly": ["a": true]]
        suite.hooks = [
            "/hooks/functions": [["functionName": "f", "url": "https://h.example/f"], ["functionName": "own"]],
            "/hooks/triggers": [["className": "Item", "triggerName": "beforeSave", "url": "https://h.example/t"]],
        ]
        return suite
    }

    @Test func everythingThatParseServerKnowsIsWritten() async throws {
        let kept = Kept()
        let report = try await OutRun(suite: Self.suite(), writer: kept).run()
        #expect(kept.isFinished)
        #expect(kept.listed.map(\.name) == ["Item", "_Role", "_Session", "_User"])
        #expect(
            kept.opened.map(\.name) == [
                "Item", "_Audience", "_Role", "_Session", "_User", "_Join:users:_Role", "_GlobalConfig", "_Hooks",
            ])
        #expect(kept.listed.first?.fields["name"] == ["type": "String", "required": true])
        #expect(kept.listed.last?.fields["gender"] == ["type": "String"])
        #expect(kept.listed.last?.fields["_secret"] == nil)
        #expect(kept.ids("Item").count == 450)
        #expect(report.refused == ["Item bad: It is bad."])
        #expect(kept.ids("_Join:users:_Role") == ["r1:u1", "r1:u2"])
        #expect(kept.ids("_Session").isEmpty)
        #expect(kept.ids("_Hooks").count == 2)
        #expect(kept.rows.first { $0.className == "_GlobalConfig" }?.fields["masterKeyOnly"] == ["a": true])
        #expect(report.rows["Item"] == 450)
    }

    @Test func usersLeaveWithWhatNoReadShows() async throws {
        let kept = Kept()
        let report = try await OutRun(suite: Self.suite(), writer: kept).run()
        let users = Dictionary(kept.rows.filter { $0.className == "_User" }.map { ($0.objectId, $0.fields) }) { $1 }
        #expect(users["u1"]?["_hashed_password"] == "$2y$10$x")
        #expect(users["u2"]?["authData"] == ["anonymous": ["id": "secret"]])
        #expect(users["u4"]?["authData"] == ["facebook": ["id": "7"]])
        #expect(report.withoutPassword == 1)
        #expect(report.text.contains("1 users must reset"))
    }

    @Test func secretsAreReadBesidePages() async throws {
        var suite = ServedDouble()
        for number in 1000..<3500 { suite.hidden["_User", default: [:]]["u\(number)"] = ["n": .int(Int64(number))] }
        var cursor = SecretCursor(suite: suite, className: "_User")
        try await cursor.read(through: ["u1000", "u1999"])
        #expect(cursor.take("u1999") == ["n": 1999])
        #expect(cursor.take("u3499") == nil)
        try await cursor.read(through: ["u3499"])
        #expect(cursor.take("u3499") == ["n": 3499])
        try await cursor.read(through: ["u9999"])
        #expect(cursor.take("u9999") == nil)
    }
}
