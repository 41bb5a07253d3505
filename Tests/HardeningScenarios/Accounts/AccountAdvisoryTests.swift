import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Parse Server's advisories about accounts, over HTTP: reserved fields, chosen ids, information leaks by answers and
/// timing.
@Suite struct AccountAdvisoryTests {
    // MARK: Write rights

    /// 2024-47183
    @Test func advisory2024_47183_noIdIsThatOfARole() async throws {
        try await Suite.with(settings: ["SATCHEL_ALLOW_CUSTOM_OBJECT_ID": "true"]) { suite in
            let own = try await ParseClient.master(suite).create("Thing", ["objectId": "mine1"])
            #expect(own.status == 201, "Ids can be chosen here: \(own.text)")
            for id in ["role:admins", "role:", "*", "requiresAuthentication:", "a b"] {
                let wish: JSON = ["objectId": .string(id), "username": .string(Names.random(9)), "password": "secret1"]
                for client in [ParseClient(suite), ParseClient.master(suite)] {
                    let made = try await client.call(.POST, "/users", wish)
                    #expect([104, 105].contains(made.code), "\(id): \(made.text)")
                    #expect([104, 105].contains(try await client.create("Thing", ["objectId": .string(id)]).code))
                }
            }
            let chosen = try await ParseClient(suite).call(
                .POST, "/users", ["objectId": "admins", "username": "x", "password": "secret1"])
            #expect(chosen.code == 105, "Only operators choose the ids of users: \(chosen.text)")
        }
    }

    /// 2026-30966
    @Test func advisory2026_30966_joinTablesHaveNoAddress() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let admins = try #require(
            try await ParseClient.master(suite).call(.GET, "/roles", options: ["where": ["name": "admins"]]).results
                .first)
        let row: JSON = ["relatedId": .string(customer.userId), "owningId": .string(admins.objectId)]
        for name in ["_Join:users:_Role", "_Join%3Ausers%3A_Role", "_Join:roles:_Role"] {
            for client in [ParseClient(suite), customer.client, ParseClient.master(suite)] {
                let answers = [
                    try await client.call(.POST, "/classes/\(name)", row), try await client.get("/classes/\(name)"),
                    try await client.call(.PUT, "/classes/\(name)/x", row),
                    try await client.call(.DELETE, "/classes/\(name)/x"),
                ]
                for answer in answers { #expect([103, 119].contains(answer.code), "\(name): \(answer.text)") }
                let batch = try await client.call(
                    .POST, "/batch",
                    ["requests": [["method": "POST", "path": .string("/parse/classes/\(name)"), "body": row]]])
                #expect([103, 119].contains(batch.json.at(0, "error", "code")?.intValue), "\(batch.text)")
            }
        }
        #expect(try await customer.client.run("charges").code == 119)
    }

    /// 2026-112768
    @Test func advisory2026_112768_whoMayNotChangeAUserLearnsNothingByTrying() async throws {
        let suite = try await Suite.shared
        let (ann, ben) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        let wishes: [JSON] = [
            ["username": .string(ann.email)], ["email": .string(ann.email)],
            ["username": .string("free\(Names.random(6))")],
            ["password": .string(ann.password)], ["password": "x"], ["email": "no address"], ["isAdmin": true],
            ["authData": ["facebook": ["id": "1"]]], ["city": "Ulm"],
        ]
        for (client, what) in [(ben.client, "Insufficient auth."), (ParseClient(suite), "Cannot modify user")] {
            var texts: Set<String> = []
            for wish in wishes {
                let answer = try await client.call(.PUT, "/users/\(ann.userId)", wish)
                #expect(answer.status == 400, "\(wish.serializedText): \(answer.text)")
                #expect(answer.code == 206, "\(wish.serializedText): \(answer.text)")
                texts.insert(answer.text)
            }
            #expect(texts.count == 1, "\(texts)")
            #expect(texts.first?.contains(what) == true, "\(texts)")
        }
        let missing = try await ben.client.call(.PUT, "/users/nobody1234", ["city": "Ulm"])
        #expect(missing.code == 206, "Nor whether there is such a user: \(missing.text)")
    }

    /// 2026-120310
    @Test func advisory2026_120310_whoMayOnlyWriteIsToldNothing() async throws {
        let suite = try await Suite.shared
        let (ann, ben) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        let access: JSON = [
            ann.userId: ["read": true, "write": true], ben.userId: ["write": true],
        ]
        let note = try await ann.client.create(
            "Note\(Names.random(6))", ["score": 41, "tags": ["secret"], "ACL": access])
        try #require(note.status == 201, "\(note.text)")
        let path = try #require(note.headers.first(name: "Location")?.components(separatedBy: "/parse").last)
        let changed = try await ben.client.call(
            .PUT, path,
            [
                "score": ["__op": "Increment", "amount": 1], "tags": ["__op": "Add", "objects": ["x"]],
            ])
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed.json.objectValue.map { Set($0.keys) } == ["updatedAt"], "\(changed.text)")
        #expect(try await ann.client.get(path)["score"] == 42)
    }

    /// #10223
    @Test func advisory10223_nothingReachesIntoAuthData() async throws {
        let customer = try await Customer.signUp(try await Suite.shared)
        for field in ["authData.facebook", "authData.facebook.id", "authData.anonymous.id", "authData.mfa.secret"] {
            for value in ["1", .null, ["__op": "Delete"], ["__op": "Increment", "amount": 1]] as [JSON] {
                let answer = try await customer.client.call(
                    .PUT, "/users/\(customer.userId)", .object([field: value]))
                #expect(answer.code == 105, "\(field): \(answer.text)")
            }
        }
    }

    // MARK: Information leaks

    /// 2026-30835
    @Test func advisory2026_30835_aBadPatternIsRefusedInOurWords() async throws {
        let suite = try await Suite.shared
        let client = try await Customer.signUp(suite).client
        for pattern in ["(", "[", "(?<n", "a{2,1}", "\\", "(?P<x>a)(?P<x>b)"] {
            for name in ["_User", "_Role", "Product"] {
                let answer = try await client.find(name, ["name": ["$regex": .string(pattern)]])
                #expect(answer.status == 400, "\(pattern): \(answer.text)")
                #expect(answer.code == 102, "\(pattern): \(answer.text)")
                let text = answer.text.lowercased()
                #expect(!["sql", "pcre", "offset", "near", "syntax"].contains { text.contains($0) }, "\(answer.text)")
            }
        }
    }

    // MARK: Mail and pages

    /// #10242
    @Test func advisory10242_aLocaleIsNoPath() async throws {
        let client = ParseClient(try await Suite.shared)
        let plain = try await client.send(.GET, "/apps/satchel/verify_email?token=x")
        for locale in ["../../../etc/passwd", "..%2f..%2fetc", "de\r\nSet-Cookie: a=b", "<script>", "%00"] {
            for name in ["locale", "lang", "_locale"] {
                let query = ParseClient.queryText(["token": "x", name: .string(locale)])
                let answer = try await client.send(
                    .GET, "/apps/satchel/verify_email?\(query)", headers: [("Accept-Language", "../../etc")])
                #expect(answer.status == plain.status, "\(locale): \(answer.text)")
                #expect(answer.text == plain.text, "\(locale): \(answer.text)")
                #expect(answer.headers.first(name: "Set-Cookie") == nil)
            }
        }
    }

    /// 2026-110854
    @Test func advisory2026_110854_aMailServerThatIsNotThereEndsNoProcess() async throws {
        let settings = [
            "SATCHEL_MAIL": "smtp", "SATCHEL_SMTP_URL": "smtp://localhost:1", "SATCHEL_MAIL_RETRY_SECONDS": "1",
        ]
        try await Suite.with(settings: settings) { suite in
            let processes = ["mail-1", "users-1", "gateway-1"].map { suite.processId(of: $0) }
            #expect(!processes.contains(nil))
            let customer = try await Customer.signUp(suite)
            for path in ["/requestPasswordReset", "/verificationEmailRequest"] {
                let asked = try await ParseClient(suite).call(.POST, path, ["email": .string(customer.email)])
                #expect(asked.status == 200, "\(asked.text)")
                #expect(asked.json == [:], "\(asked.text)")
            }
            try await eventually("a mail was tried in vain") {
                try await suite.rows("mail", "SELECT count(*) FROM mails WHERE attempts > 1") != [[0]]
            }
            try await suite.untilHealthy()
            #expect(["mail-1", "users-1", "gateway-1"].map { suite.processId(of: $0) } == processes)
        }
    }

    // MARK: Keys

    /// The status of a request with the master key from a local address.
    private static func status(_ suite: Suite, from address: String, _ header: String) async throws -> String {
        let headers = ParseClient.master(suite).credentials.map { "\($0.0): \($0.1)" } + [header]
        return try await Command.run(
            [
                "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--interface", address,
                "\(suite.url)/schemas",
            ] + headers.flatMap { ["-H", $0] })
    }

    /// 2023-22474
    @Test func advisory2023_22474_aHeaderDoesNotMakeAnAddressTrusted() async throws {
        try await Suite.with(settings: ["SATCHEL_MASTER_KEY_IPS": "127.0.0.1,::1"]) { suite in
            let trusted = try await Self.status(suite, from: "127.0.0.1", "X-Test: 1")
            #expect(trusted == "200")
            var headers = ["X-Test: 1", "Forwarded: for=127.0.0.1"]
            for name in ["X-Forwarded-For", "X-Real-IP", "X-Client-IP", "CF-Connecting-IP", "True-Client-IP"] {
                headers += ["127.0.0.1", "::1", "127.0.0.1, 127.0.0.2"].map { "\(name): \($0)" }
            }
            for header in headers {
                let status = try await Self.status(suite, from: "127.0.0.2", header)
                #expect(status == "403", "\(header)")
            }
        }
    }
}
