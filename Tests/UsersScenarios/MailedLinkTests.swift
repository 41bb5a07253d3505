import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// E-mail verification and password resets by mailed links (acceptance flow 7), with the mails from the spool and the
/// pages as a browser without scripts sees them.
@Suite struct MailedLinkTests {
    // MARK: Verification

    @Test func signUpMailsALinkThatVerifiesTheAddressOnce() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        #expect(try await customer.client.get("/users/me")["emailVerified"] == false)
        let link = try await MailedLink.newest("verify_email", to: customer.email, in: suite)
        let page = try await link.open()
        #expect(page.status == 200, "\(page.text)")
        #expect(page.text.contains("is verified"), "\(page.text)")
        #expect(try await customer.client.get("/users/me")["emailVerified"] == true)
        let again = try await link.open()
        #expect(again.status == 200, "\(again.text)")
        #expect(again.text.contains("Already verified"), "\(again.text)")
    }

    @Test func aNewAddressMustBeVerifiedAnewAndEndsTheOldLinks() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let old = try await MailedLink.newest("verify_email", to: customer.email, in: suite)
        let address = "\(Names.random(10).lowercased())@customers.example"
        let changed = try await customer.client.call(
            .PUT, "/users/\(customer.userId)", ["email": .string(address)])
        try #require(changed.status == 200, "\(changed.text)")
        let stale = try await old.open()
        #expect(stale.status == 404, "\(stale.text)")
        #expect(stale.text.contains("cannot be used"), "\(stale.text)")
        #expect(try await customer.client.get("/users/me")["emailVerified"] == false)
        #expect(try await MailedLink.newest("verify_email", to: address, in: suite).open().status == 200)
        #expect(try await customer.client.get("/users/me")["emailVerified"] == true)
    }

    @Test func clientsCannotMarkAnAddressVerified() async throws {
        let customer = try await Customer.signUp(try await Suite.shared)
        let path = "/users/\(customer.userId)"
        #expect(try await customer.client.call(.PUT, path, ["emailVerified": true]).code == 119)
        #expect(try await customer.client.call(.PUT, path, ["emailVerified": ["__op": "Delete"]]).code == 119)
        #expect(try await customer.client.get("/users/me")["emailVerified"] == false)
    }

    @Test func theVerificationMailCanBeAskedForAgainByAppAndByPage() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let asked = try await ParseClient(suite).call(
            .POST, "/verificationEmailRequest", ["email": .string(customer.email)])
        #expect(asked.status == 200)
        #expect(asked.json == [:])
        _ = try await MailedLink.all("verify_email", to: customer.email, in: suite, atLeast: 2)
        let page = try await ParseClient(suite).post(
            form: ["email": customer.email.uppercased()], to: "/apps/satchel/resend_verification_email")
        #expect(page.status == 200)
        #expect(page.text.contains("Check your mail"))
        let links = try await MailedLink.all("verify_email", to: customer.email, in: suite, atLeast: 3)
        // The link of any of the mails works, and using one voids the others.
        #expect(try await links[0].open().status == 200)
        #expect(try await customer.client.get("/users/me")["emailVerified"] == true)
        #expect(try await links[1].open().status == 404)
    }

    // MARK: New passwords

    @Test func aForgottenPasswordIsReplacedByMailAndEverySessionEnds() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let device = try await customer.signInAgain()
        for client in [customer.client, device] { #expect(try await client.get("/users/me").status == 200) }
        let asked = try await ParseClient(suite).call(
            .POST, "/requestPasswordReset", ["email": .string(customer.email)])
        #expect(asked.status == 200)
        #expect(asked.json == [:])
        let link = try await MailedLink.newest("request_password_reset", to: customer.email, in: suite)
        // A mail scanner may open the page repeatedly.
        for _ in 0..<3 { #expect(try await link.open().text.contains("autocomplete=\"new-password\"")) }
        let chosen = try await link.choose("a new secret")
        #expect(chosen.status == 200, "\(chosen.text)")
        #expect(chosen.text.contains("Your password is changed"), "\(chosen.text)")
        for client in [customer.client, device] { #expect(try await client.get("/users/me").code == 209) }
        func logIn(_ password: String) async throws -> Int {
            try await ParseClient(suite).call(
                .POST, "/login", ["username": .string(customer.email), "password": .string(password)]
            ).status
        }
        #expect(try await logIn(customer.password) == 404)
        #expect(try await logIn("a new secret") == 200)
        #expect(try await link.choose("another secret").status == 404)
        #expect(try await link.open().status == 404)
        #expect(try await logIn("a new secret") == 200)
    }

    @Test func aPasswordThatBreaksTheRulesLeavesTheLinkUsable() async throws {
        let suite = try await Suite.shared
        let (_, link) = try await resetLink(suite)
        let short = try await link.choose("12345")
        #expect(short.status == 400)
        #expect(short.text.contains("role=\"alert\""))
        #expect(short.text.contains("at least 6"))
        let different = try await link.choose("a new secret", again: "another secret")
        #expect(different.status == 400, "\(different.text)")
        #expect(different.text.contains("not the same"), "\(different.text)")
        #expect(try await link.choose("a new secret").status == 200)
    }

    /// 2026-32943 (GHSA-r3xq-68wh-gwvh)
    @Test func oneResetLinkChangesThePasswordOnceHoweverOftenItIsSentAtOnce() async throws {
        let suite = try await Suite.shared
        let (customer, link) = try await resetLink(suite)
        let changed = try await withThrowingTaskGroup(of: Int?.self) { group in
            for number in 0..<8 {
                group.addTask { try await link.choose("secret number \(number)").status == 200 ? number : nil }
            }
            return try await group.reduce(into: [Int]()) { if let number = $1 { $0.append(number) } }
        }
        try #require(changed.count == 1, "\(changed)")
        let login = try await ParseClient(suite).call(
            .POST, "/login",
            ["username": .string(customer.email), "password": .string("secret number \(changed[0])")])
        #expect(login.status == 200, "\(login.text)")
    }

    @Test func aNewPasswordOrAddressEndsOlderResetLinks() async throws {
        let suite = try await Suite.shared
        for change in [["password": "changed by hand"], ["email": .string("\(Names.random(9))@customers.example")]]
            as [JSON]
        {
            let (customer, link) = try await resetLink(suite)
            let changed = try await customer.client.call(.PUT, "/users/\(customer.userId)", change)
            try #require(changed.status == 200, "\(changed.text)")
            #expect(try await link.choose("a new secret").status == 404)
        }
    }

    @Test func tokensAreKeptOnlyAsHashes() async throws {
        let suite = try await Suite.shared
        let (_, link) = try await resetLink(suite)
        #expect(link.token.count == 32)
        let rows = try await suite.rows(
            "users", "SELECT count(*) FROM mailedTokens WHERE hash LIKE '%\(link.token)%' OR length(hash) != 64")
        #expect(rows == [[0]])
        // The mail has left the outbox, and the log does not contain the link.
        try await eventually("the outbox is empty of mails") {
            try await suite.rows("users", "SELECT count(*) FROM outbox WHERE kind LIKE 'mail.%'") == [[0]]
        }
        #expect(suite.logTails(lines: 100_000) { $0.contains(link.token) }.isEmpty)
    }

    // MARK: Attacks

    /// 2026-31901 (GHSA-w54v-hf9p-8856), 2026-33323 (GHSA-h29g-q5c2-9h4f): the request itself never reads accounts, so
    /// its answer cannot depend on them.
    @Test func askingForMailDoesNotTellWhetherAnAddressIsKnown() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let verified = try await Customer.signUp(suite)
        #expect(try await MailedLink.newest("verify_email", to: verified.email, in: suite).open().status == 200)
        for path in ["/requestPasswordReset", "/verificationEmailRequest"] {
            for address in [customer.email, verified.email, "\(Names.random(12))@nowhere.example"] {
                let answer = try await ParseClient(suite).call(.POST, path, ["email": .string(address)])
                #expect(answer.status == 200, "\(path) \(address): \(answer.text)")
                #expect(answer.text == "{}", "\(path) \(address): \(answer.text)")
            }
            for (body, code) in [
                ([:], 204), (["email": .null], 204), (["email": ["$regex": "@"]], 125), (["email": "x"], 125),
            ]
                as [(JSON, Int)]
            {
                #expect(try await ParseClient(suite).call(.POST, path, body).code == code)
            }
        }
        let pages = [customer.email, "\(Names.random(12))@nowhere.example"]
        var texts: Set<String> = []
        for address in pages {
            let page = try await ParseClient(suite).post(
                form: ["email": address], to: "/apps/satchel/request_password_reset")
            #expect(page.status == 200)
            texts.insert(page.text)
        }
        #expect(texts.count == 1)
    }

    @Test func oneAccountGetsFewMailsAndOneClientAsksForFew() async throws {
        try await Suite.with(settings: ["SATCHEL_MAILS_PER_ADDRESS": "30"]) { suite in
            let customer = try await Customer.signUp(suite)
            var statuses: [Int] = []
            for _ in 0..<31 {
                statuses.append(
                    try await ParseClient(suite).call(
                        .POST, "/requestPasswordReset", ["email": .string(customer.email)]
                    ).status)
            }
            #expect(statuses == Array(repeating: 200, count: 30) + [429])
            // When the outbox is empty, every request has been processed.
            try await eventually("the outbox is empty") {
                try await suite.rows("users", "SELECT count(*) FROM outbox") == [[0]]
            }
            #expect(try await suite.rows("users", "SELECT count(*) FROM mailedTokens WHERE link = 2") == [[5]])
        }
    }

    /// 2026-30941 (GHSA-vgjh-hmwf-c588)
    @Test(arguments: [
        "token[$regex]=.", "token=%7B%22%24ne%22%3A%22%22%7D", "token=", "", "token[]=x", "token=%25",
        "token=' OR 1=1 --",
        "token=00000000000000000000000000000000",
    ])
    func whatIsNoTokenOpensNothing(_ query: String) async throws {
        let suite = try await Suite.shared
        let escaped = query.replacingOccurrences(of: " ", with: "%20").replacingOccurrences(of: "'", with: "%27")
        for page in ["/apps/satchel/verify_email", "/apps/satchel/request_password_reset", "/apps/choose_password"] {
            let answer = try await ParseClient(suite).send(.GET, "\(page)?\(escaped)")
            #expect(answer.status == 404, "\(page)?\(query): \(answer.text)")
            #expect(answer.text.contains("cannot be used"), "\(page)?\(query): \(answer.text)")
        }
        let posted = try await ParseClient(suite).send(
            .POST, "/apps/choose_password", headers: [("Content-Type", "application/json")],
            body: Array(#"{"token":{"$ne":""},"new_password":"secret1"}"#.utf8))
        #expect(posted.status == 400)
    }

    /// 2025-68115 (GHSA-jhgf-2h8h-ggxv)
    @Test func nothingAClientSendsAppearsOnAPage() async throws {
        let suite = try await Suite.shared
        let evil = "\"><script>alert(1)</script>"
        let query = ParseClient.queryText(["token": .string(evil), "username": .string(evil), "error": .string(evil)])
        let client = ParseClient(suite)
        var pages: [ParseClient.Answer] = []
        for page in [
            "/apps/satchel/verify_email", "/apps/satchel/request_password_reset", "/apps/choose_password", "/apps/x",
        ] {
            pages.append(try await client.send(.GET, "\(page)?\(query)"))
        }
        for path in [
            "/apps/choose_password", "/apps/satchel/request_password_reset", "/apps/satchel/resend_verification_email",
        ] {
            pages.append(
                try await client.post(form: ["token": evil, "email": evil, "new_password": evil], to: path))
            pages.append(try await client.post(form: ["email": evil], to: path))
        }
        for page in pages {
            #expect(!page.text.contains("<script"), "\(page.text)")
            #expect(!page.text.contains("alert(1)"), "\(page.text)")
            #expect(page.headers.first(name: "Content-Type") == "text/html; charset=utf-8")
            #expect(page.headers.first(name: "Content-Security-Policy")?.contains("default-src 'none'") == true)
            #expect(page.headers.first(name: "Referrer-Policy") == "no-referrer")
            #expect(page.headers.first(name: "Cache-Control") == "no-store")
            #expect(page.headers.first(name: "X-Frame-Options") == "DENY")
        }
    }

    /// 2026-30848 (GHSA-hm3f-q6rw-m6wh)
    @Test(arguments: [
        "/apps/..%2f..%2f..%2fetc%2fpasswd", "/apps/satchel/..%2f..%2fmaster.key", "/apps/satchel/frame", "/apps/",
        "/apps/other/verify_email",
        "/apps/satchel/verify_email/x", "/apps/satchel/choose-password.mustache",
    ])
    func onlyThePagesThatExistAreServed(_ path: String) async throws {
        let answer = try await ParseClient(try await Suite.shared).send(.GET, path)
        #expect(answer.status == 404, "\(answer.text)")
        #expect(answer.text.contains("There is no such page."), "\(answer.text)")
    }

    @Test func thePagesCanBeUsedWithoutSightScriptOrMouse() async throws {
        let suite = try await Suite.shared
        let (_, link) = try await resetLink(suite)
        let form = try await link.open().text
        let parts = [
            "<html lang=\"en\">", "name=\"viewport\"", "<main>", "<h1>", "<label for=\"new_password\">",
            "id=\"new_password\"",
            "<label for=\"repeated_password\">", "autocomplete=\"new-password\"", "type=\"submit\"", "method=\"post\"",
        ]
        for part in parts { #expect(form.contains(part), "\(part)") }
        #expect(!form.contains("<script"))
        #expect(!form.contains("onclick"))
        let refused = try await link.choose("1").text
        #expect(refused.contains("role=\"alert\""))
        #expect(refused.contains("aria-describedby=\"hint error\""))
    }

    // MARK: Settings

    @Test func signInCanRequireAVerifiedAddress() async throws {
        try await Suite.with(settings: ["SATCHEL_PREVENT_LOGIN_UNVERIFIED": "true"]) { suite in
            let email = "\(Names.random(10).lowercased())@customers.example"
            let pair: JSON = ["username": .string(email), "password": "secret1"]
            let client = ParseClient(suite)
            _ = try await Customer.admin(suite)
            let made = try await client.call(
                .POST, "/users", ["username": .string(email), "email": .string(email), "password": "secret1"])
            #expect(made.status == 201, "\(made.text)")
            #expect(made["sessionToken"] == nil, "\(made.text)")
            for path in ["/login", "/verifyPassword"] {
                let refused = try await client.call(.POST, path, pair)
                #expect(refused.status == 400, "\(refused.text)")
                #expect(refused.code == 205, "\(refused.text)")
            }
            let wrong = try await client.call(.POST, "/login", ["username": .string(email), "password": "wrong!"])
            #expect(wrong.code == 101, "Only who knows the password learns that the address is not verified.")
            #expect(try await MailedLink.newest("verify_email", to: email, in: suite).open().status == 200)
            let signedIn = try await client.call(.POST, "/login", pair)
            #expect(signedIn.status == 200, "\(signedIn.text)")
            #expect(signedIn["emailVerified"] == true, "\(signedIn.text)")
        }
    }

    @Test func withoutVerificationNoMailIsSentAndNothingIsUnverified() async throws {
        try await Suite.with(settings: ["SATCHEL_VERIFY_EMAIL": "false"]) { suite in
            let customer = try await Customer.signUp(suite)
            #expect(try await customer.client.get("/users/me")["emailVerified"] == nil)
            #expect(try await suite.rows("users", "SELECT count(*) FROM mailedTokens") == [[0]])
            _ = try await ParseClient(suite).call(.POST, "/requestPasswordReset", ["email": .string(customer.email)])
            let link = try await MailedLink.newest("request_password_reset", to: customer.email, in: suite)
            #expect(try await link.choose("a new secret").status == 200)
            #expect(suite.mails().count == 1)
        }
    }

    // MARK: Support

    private func resetLink(_ suite: Suite) async throws -> (Customer, MailedLink) {
        let customer = try await Customer.signUp(suite)
        let asked = try await ParseClient(suite).post(
            form: ["email": customer.email], to: "/apps/satchel/request_password_reset")
        guard asked.status == 200 else { throw Unexpected("request_password_reset", asked) }
        return (customer, try await MailedLink.newest("request_password_reset", to: customer.email, in: suite))
    }
}
