import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Advisories about cloud code: unusual names of functions and jobs, what webhooks may add to answers and objects, and
/// reads that bypass a hook.
@Suite struct HookAdvisoryTests {
    /// Values that clients may not send, each with its error code.
    private static let prohibited: [JSON] = [
        ["a": ["__proto__": ["admin": true]]], ["a": ["constructor": ["prototype": [:]]]],
        ["a": ["_bsontype": "Code", "code": "x"]], ["a": [["deep": [["__proto__": 1]]]]],
    ]

    @Test(arguments: prohibited)
    func advisory2022_41878_prohibitedKeysOfAWebhookAreNotStored(_ fields: JSON) async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        try await host.trigger("beforeSave", name, ["json": ["success": fields]])
        let client = ParseClient(host.suite)
        let answer = try await client.create(name, ["score": 1])
        #expect(answer.code == 105, "\(answer.text)")
        #expect(try await host.master.find(name).results.isEmpty)
        // The same webhook's answer with harmless fields is applied.
        try await host.answer("\(name)-beforeSave", ["json": ["success": ["a": ["proto": 1]]]])
        #expect(try await client.create(name, ["score": 1])["a"] == ["proto": 1])
    }

    @Test(arguments: prohibited)
    func advisory2022_41879_prohibitedKeysOfAWebhookReachNoClient(_ fields: JSON) async throws {
        let host = try await WebhookHost.shared
        let (name, className) = (WebhookHost.name("f"), WebhookHost.name("Game"))
        try await host.function(name, ["json": ["success": fields]])
        #expect(try await ParseClient(host.suite).run(name).code == 105)
        let created = try await ParseClient(host.suite).create(className, ["score": 1])
        var changed = fields
        changed["objectId"] = .string(created.objectId)
        try await host.trigger("afterFind", className, ["json": ["success": [changed]]])
        #expect(try await ParseClient(host.suite).find(className).code == 105)
    }

    @Test(
        arguments: [
            ["$where": 1], ["_hashed_password": "x"], ["a": ["b.c": 1]], ["a": ["$b": 1]],
            ["a": ["__type": "Pointer", "className": "_Hooks", "objectId": "x"]],
            ["a": ["__type": "Date", "iso": "never"]],
            ["score": "a text"], ["ACL": ["*": "all"]], ["a": ["__op": "Increment", "amount": "x"]],
        ] as [JSON])
    func advisory2022_41878_whatAWebhookSetsIsCheckedLikeWhatClientsSend(_ fields: JSON) async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let client = ParseClient(host.suite)
        let first = try await client.create(name, ["score": 1])
        try await host.trigger("beforeSave", name, ["json": ["success": fields]])
        for answer in [
            try await client.create(name, ["score": 2]),
            try await client.call(.PUT, "/classes/\(name)/\(first.objectId)", ["score": 2]),
        ] { #expect(answer.status == 400, "\(answer.text)") }
        #expect(try await host.master.find(name).results.map { $0["score"] } == [1])
    }

    @Test func advisory2022_41878_aWebhookCannotMakeAnObjectTooLargeOrTooDeep() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let large: JSON = ["success": ["a": .string(String(repeating: "x", count: 140_000))]]
        try await host.trigger("beforeSave", name, ["json": large])
        #expect(try await ParseClient(host.suite).create(name, ["score": 1]).code == 116)
        let deep = (0..<50).reduce(JSON.int(1)) { inner, _ in ["a": inner] }
        try await host.answer("\(name)-beforeSave", ["json": ["success": deep]])
        #expect(try await ParseClient(host.suite).create(name, ["score": 1]).code == 107)
        #expect(try await host.master.find(name).results.isEmpty)
    }

    @Test func advisory2023_41058_noWayOfReadingPassesBeforeFind() async throws {
        let host = try await WebhookHost.shared
        let (secret, holder) = (WebhookHost.name("Secret"), WebhookHost.name("Holder"))
        let client = ParseClient(host.suite)
        let hidden = try await client.create(secret, ["code": "x1", "rank": 1])
        let pointer = JSON.pointer(secret, hidden.objectId)
        let held = try await client.create(holder, ["secret": pointer, "list": [pointer], "code": "x1"])
        let path = "/classes/\(holder)/\(held.objectId)"
        let inQuery: JSON = ["secret": ["$inQuery": ["className": .string(secret), "where": ["rank": 1]]]]
        let select: JSON = [
            "code": ["$select": ["query": ["className": .string(secret), "where": ["rank": 1]], "key": "code"]]
        ]
        func reads() async throws -> [(String, ParseClient.Answer)] {
            [
                ("get", try await client.get("/classes/\(secret)/\(hidden.objectId)")),
                ("find", try await client.find(secret)),
                ("count", try await client.find(secret, [:], ["count": 1, "limit": 0])),
                ("include of a get", try await client.get(path, ["include": "secret"])),
                ("include of a find", try await client.find(holder, [:], ["include": "secret"])),
                ("include of a list", try await client.find(holder, [:], ["include": "list"])),
                ("includeAll", try await client.find(holder, [:], ["includeAll": true])),
                ("keys with a dot", try await client.find(holder, [:], ["keys": "secret.code"])),
                ("$inQuery", try await client.find(holder, inQuery)),
                ("$inQuery in $or", try await client.find(holder, ["$or": [inQuery, ["code": "none"]]])),
                ("$select", try await client.find(holder, select)),
                (
                    "batch",
                    try await client.call(
                        .POST, "/batch",
                        ["requests": [["method": "GET", "path": .string("/parse/classes/\(secret)")]]])
                ),
            ]
        }
        for (way, answer) in try await reads() { #expect(answer.status == 200, "\(way): \(answer.text)") }

        try await host.trigger("beforeFind", secret, ["json": ["error": ["code": 119, "message": "closed"]]])
        for (way, answer) in try await reads() {
            let code = answer.code ?? answer.json.at(0, "error", "code")?.intValue.map(Int.init)
            #expect(code == 119, "\(way): \(answer.text)")
            #expect(!answer.text.contains("rank"), "\(way): \(answer.text)")
        }
        // A condition on another class's field would bypass the hook.
        for options: [String: JSON] in [["order": "secret.rank"], ["where": ["secret.rank": 1]]] {
            let answer = try await client.call(.GET, "/classes/\(holder)", options: options)
            #expect(answer.code == 102, "\(answer.text)")
            #expect(answer["error"]?.stringValue?.contains("webhook") == true, "\(answer.text)")
        }
        // A hook that hides the object hides it everywhere.
        let none: JSON = ["json": ["success": ["where": ["rank": 2]]]]
        try await host.answer("\(secret)-beforeFind", none)
        #expect(try await client.find(secret).results.isEmpty)
        #expect(try await client.get("/classes/\(secret)/\(hidden.objectId)").code == 101)
        let included = try await client.get(path, ["include": "secret,list"])
        #expect(included.status == 200, "\(included.text)")
        #expect(included["secret"] == nil, "\(included.text)")
        #expect(included["list"] == [], "\(included.text)")
        #expect(try await client.find(holder, inQuery).results.isEmpty)
        #expect(try await client.find(holder, select).results.isEmpty)
        // afterFind decides for included objects too.
        try await host.answer("\(secret)-beforeFind", ["json": ["success": [:]]])
        let masked: JSON = [["objectId": .string(hidden.objectId), "code": "masked"]]
        try await host.trigger("afterFind", secret, ["json": ["success": masked]])
        #expect(try await client.get(path, ["include": "secret"]).json.at("secret", "code") == "masked")
        #expect(try await client.find(holder, select).results.isEmpty, "The value that is compared is the masked one.")
    }

    @Test func advisory2023_41058_internalClassesAreReachedByNoPointer() async throws {
        let host = try await WebhookHost.shared
        let client = ParseClient(host.suite)
        for name in ["_Hooks", "_JobStatus", "_JobSchedule", "_PushStatus"] {
            #expect(try await client.find(name).code == 119)
            let answer = try await client.create(WebhookHost.name("Holder"), ["p": .pointer(name, "abcdefghij")])
            #expect(answer.code == 111, "\(name): \(answer.text)")
        }
        #expect(try await host.master.find("_Hooks").code == 119, "Hooks are at /hooks only.")
    }

    /// 2024-29027, 2026-30939, 2026-32886, 2026-34532: only registered names are found.
    @Test(arguments: [
        "constructor", "__proto__", "prototype", "toString", "hasOwnProperty", "valueOf", "__proto__.toString",
        "constructor.prototype", "addToBag.constructor", "addToBag.__proto__.call", "addToBag.", ".addToBag",
        "a%2Fb", "..%2F..%2Fetc%2Fpasswd", "%00", "addToBag%00", "%20", "addToBag%20", "ADDTOBAG", "$where", "%7B%7D",
        "%F0%9F%91%9C", "%0D%0AX-Injected:1",
    ])
    func advisory2024_29027_and_2026_30939_and_2026_32886_and_2026_34532_oddNames(_ name: String) async throws {
        let suite = try await WebhookHost.shared.suite
        let decoded = name.removingPercentEncoding ?? name
        for client in [ParseClient(suite), ParseClient(suite, style: .tunnelled), ParseClient.master(suite)] {
            let answer = try await client.call(.POST, "/functions/\(name)", [:])
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.code == 141, "\(answer.text)")
            #expect(answer["error"] == .string("Invalid function: \"\(decoded)\""))
            #expect(answer.headers.first(name: "X-Injected") == nil)
        }
        let job = try await ParseClient.master(suite).call(.POST, "/jobs/\(name)", [:])
        #expect(job.code == 141, "\(job.text)")
        #expect(job["error"] == "Invalid job.", "\(job.text)")
        #expect(job.headers.first(name: "X-Parse-Job-Status-Id") == nil)
        let batch = try await ParseClient(suite).call(
            .POST, "/batch",
            ["requests": [["method": "POST", "path": .string("/parse/functions/\(name)"), "body": [:]]]])
        #expect(batch.json.at(0, "error", "code") == 141, "\(batch.text)")
    }

    @Test func advisory2024_29027_longAndMissingNames() async throws {
        let suite = try await WebhookHost.shared.suite
        let client = ParseClient.master(suite)
        let long = String(repeating: "a", count: 4000)
        let answer = try await client.run(long)
        #expect(answer.code == 141, "A name comes back shortened.")
        #expect(answer.body.count < 300, "A name comes back shortened.")
        #expect(try await client.call(.POST, "/jobs/\(long)").code == 141)
        #expect(try await client.call(.POST, "/functions/", [:]).status == 404)
        #expect(try await client.call(.POST, "/functions/addToBag/constructor", [:]).status == 404)
        #expect(try await client.get("/health").status == 200)
    }

    @Test func advisory2026_119125_aFieldThatTheCallerMayNotReadIsNotInTheAnswer() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let permissions: JSON = [
            "find": ["*": true], "get": ["*": true], "create": ["*": true], "update": ["*": true],
            "addField": ["*": true], "protectedFields": ["*": ["grade"]],
        ]
        let schema: JSON = [
            "className": .string(name), "fields": ["grade": ["type": "String"], "note": ["type": "String"]],
            "classLevelPermissions": permissions,
        ]
        #expect(try await host.master.call(.POST, "/schemas/\(name)", schema).status == 200)
        let object = try await host.master.create(name, ["grade": "top secret", "note": "n"])
        // The hook reverts the client's change.
        try await host.trigger("beforeSave", name, ["json": ["success": ["grade": "top secret", "note": "set"]]])
        let path = "/classes/\(name)/\(object.objectId)"
        for answer in [
            try await ParseClient(host.suite).call(.PUT, path, ["grade": "mine"]),
            try await ParseClient(host.suite).create(name, ["grade": "mine"]),
        ] {
            #expect(answer["note"] == "set", "\(answer.text)")
            #expect(answer["grade"] == nil, "\(answer.text)")
            #expect(!answer.text.contains("top secret"))
        }
        let asMaster = try await host.master.call(.PUT, path, ["grade": "x"])
        #expect(asMaster["grade"] == "top secret", "Who may read it is told.")
        // An object that the caller may write but not read.
        try await host.answer("\(name)-beforeSave", ["json": ["success": ["note": "hidden"]]])
        let blind = try await host.master.create(name, ["ACL": ["*": ["write": true]]])
        let blindPath = "/classes/\(name)/\(blind.objectId)"
        let updated = try await ParseClient(host.suite).call(.PUT, blindPath, ["a": 1])
        #expect(updated.status == 200, "\(updated.text)")
        #expect(updated["note"] == nil, "\(updated.text)")
    }

    @Test func advisory2026_119125_nobodyLearnsThroughAHookOfAnObjectThatIsNotHis() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let hidden: JSON = ["ACL": [:], "state": "shipped"]
        let object = try await host.master.create(name, hidden)
        for trigger in ["beforeSave", "beforeDelete"] {
            try await host.trigger(trigger, name, ["json": ["error": "It is shipped already."]])
        }
        let path = "/classes/\(name)/\(object.objectId)"
        for client in [ParseClient(host.suite), try await Customer.signUp(host.suite).client] {
            #expect(try await client.call(.PUT, path, ["state": 1]).code == 101)
            #expect(try await client.call(.PUT, path, ["state": "x"]).code == 101)
            #expect(try await client.call(.DELETE, path).code == 101)
        }
        #expect(host.calls("\(name)-beforeSave").isEmpty)
        #expect(host.calls("\(name)-beforeDelete").isEmpty)
        #expect(try await host.master.call(.PUT, path, ["state": "x"]).code == 141)
    }

    @Test func advisory2026_29182_theReadOnlyKeyDeclaresNoHookAndStartsNoJob() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("f")
        try await host.function(name)
        let reader = ParseClient(host.suite, masterKey: WebhookHost.readOnlyKey)
        #expect(try await reader.get("/hooks/functions").status == 200, "It reads as the master key does.")
        #expect(try await reader.get("/cloud_code/jobs/data").status == 200)
        let url: JSON = ["url": "https://hooks.example/"]
        let before = try await host.master.find("_JobStatus", [:], ["count": 1, "limit": 0])["count"]
        for answer in [
            try await reader.call(.POST, "/hooks/functions", ["functionName": "g", "url": "https://hooks.example/"]),
            try await reader.call(.PUT, "/hooks/functions/\(name)", url),
            try await reader.call(.PUT, "/hooks/functions/\(name)", ["__op": "Delete"]),
            try await reader.call(.DELETE, "/hooks/functions/\(name)"),
            try await reader.call(
                .POST, "/hooks/triggers",
                ["className": "Game", "triggerName": "beforeSave", "url": "https://hooks.example/"]),
            try await reader.call(.POST, "/jobs/sweepFiles"),
            try await reader.call(.POST, "/jobs", ["jobName": "sweepFiles"]),
            try await reader.call(.POST, "/cloud_code/jobs", ["job_schedule": ["jobName": "sweepFiles"]]),
            try await reader.run(name),
        ] { #expect(answer.code == 119, "\(answer.text)") }
        #expect(try await host.master.get("/hooks/functions/\(name)").status == 200)
        let after = try await host.master.find("_JobStatus", [:], ["count": 1, "limit": 0])["count"]
        #expect(before != nil)
        #expect(before == after)
    }

    /// #10237: control characters from clients never reach a header.
    @Test func advisory10237_controlCharactersReachNoHeader() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("f")
        let value = "x\r\nX-Injected: 1\r\n\r\n{}"
        try await host.function(name, ["json": ["success": .string(value)]])
        let evil = "a%0d%0aX-Injected:%201"
        let client = host.master
        for answer in [
            try await client.run(name), try await client.call(.POST, "/functions/\(evil)", [:]),
            try await client.call(.POST, "/jobs/\(evil)", [:]),
            try await client.call(.POST, "/classes/\(evil)", ["a": 1]),
            try await client.call(.POST, "/files/\(evil)", ["base64": "eA=="]),
            try await client.call(.POST, "/classes/\(WebhookHost.name("C"))", ["objectId": .string(value)]),
            try await client.call(.POST, "/push", ["channels": [.string(value)], "data": ["alert": .string(value)]]),
            try await client.get("/classes/\(evil)"),
        ] {
            #expect(answer.headers.first(name: "X-Injected") == nil)
            for header in answer.headers {
                #expect(!header.value.contains("\r"))
                #expect(!header.value.contains("\n"))
            }
        }
        #expect(try await client.run(name).result == .string(value), "The text itself is intact.")
    }
}
