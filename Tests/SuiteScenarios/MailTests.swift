import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The mails to a shop's customers through a real SMTP server, from a checkout over HTTP to the bytes that the server
/// received. Covers missing addresses, a killed mail service, and operators' views.
@Suite struct MailTests {
    private static func mails(_ peer: Peer) -> [JSON] { peer.reports().filter { $0["event"] == "mail" } }

    /// Signs up with an address and buys `times` times. Returns the order numbers.
    @discardableResult
    private static func buy(_ suite: Suite, _ shelf: Shelf, as email: String, times: Int = 1) async throws -> [Int64] {
        var client = ParseClient(suite)
        let account: JSON = ["username": .string(email), "email": .string(email), "password": "secret-word"]
        let signUp = try await Customer.whenNotBusy { [client] in try await client.call(.POST, "/users", account) }
        guard let token = signUp["sessionToken"]?.stringValue else { throw Unexpected("POST users", signUp) }
        client.sessionToken = token
        var numbers: [Int64] = []
        for _ in 0..<times {
            _ = try await client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
            let order: JSON = [
                "tokenId": "tok_visa", "shippingAddress": Customer.address, "note": "Für <dich> & mich\n.\n",
                "idempotencyKey": .string(Names.random(10)),
            ]
            var paid = try await client.run("checkout", order)
            // The outcome is unknown, or nothing was done: the same key gives the same order.
            for _ in 0..<10 where paid.status >= 500 || paid.code == 124 {
                paid = try await client.run("checkout", order)
            }
            guard paid.status == 200, let number = paid.result["orderNo"]?.intValue else {
                throw Unexpected("checkout", paid)
            }
            numbers.append(number)
        }
        return numbers
    }

    @Test func aPaidOrderIsConfirmedBySMTPAndSecretsStayOutOfLogs() async throws {
        try await MailSuite.with(["SATCHEL_VERIFY_EMAIL": "true"]) { suite, peer in
            let shelf = try await Shelf.fill(suite, names: ["Sôap & more"])
            let email = "\(Names.random(8).lowercased())@customers.example"
            let number = try await Self.buy(suite, shelf, as: email)[0]
            func mine() -> [JSON] { Self.mails(peer).filter { $0["envelopeTo"] == [.string(email)] } }
            try await eventually("both mails arrived") { mine().count == 2 }
            let mail = try #require(mine().first { $0.text("subject").hasPrefix("Your order") })
            let verification = try #require(mine().first { $0.text("subject").hasPrefix("Confirm") })
            let link = try #require(verification.text("text").split(separator: "\r\n").first { $0.hasPrefix("http") })
            let token = try #require(link.split(separator: "token=").last)
            #expect(mail["defects"] == [], "Python's email library finds fault with nothing.")
            #expect(verification["defects"] == [])
            #expect(mail["to"] == [.string(email)])
            #expect(mail["from"] == ["Beauty & Me <shop@shop.example>"], "\(mail["from"] ?? .null)")
            #expect(mail["envelopeFrom"] == "shop@shop.example")
            #expect(mail["tls"] == true)
            #expect(mail["user"] == "shop")
            #expect(mail["subject"] == .string("Your order \(number) at Beauty & Me"))
            #expect(mail.text("messageId").hasSuffix("@shop.example>"))
            #expect(mail["toName"] == "Ada Long")
            let age = Double(Timestamp.now.milliseconds) / 1000 - (mail["date"]?.doubleValue ?? 0)
            #expect((-5...120).contains(age))
            for words in ["\(number)", "2 x Sôap & more", "$7.00", "Für <dich> & mich", "Springfield, IL 62701"] {
                #expect(mail.text("text").contains(words), "\(words)")
            }
            #expect(mail.text("html").contains("Sôap &amp; more"))
            #expect(mail.text("html").contains("Für &lt;dich&gt;"))

            try await eventually("they are recorded") {
                try await suite.rows("mail", "SELECT state FROM mails WHERE toAddress = '\(email)'") == [
                    ["sent"], ["sent"],
                ]
            }
            let desk = try await Customer.admin(suite)
            let listed = try await desk.run("mails", ["limit": 1000]).result.arrayValue ?? []
            for mail in listed where mail["to"] == .string(email) {
                let content = try await desk.run("mailContent", ["id": mail["id"] ?? .null])
                #expect(content.status == 200 && !content.text.contains(token), "\(content.text)")
            }
            #expect(listed.count { $0["to"] == .string(email) } == 2, "Admins see whole addresses.")
            #expect(mine().count == 2)
            let logs = suite.logTails(lines: 100_000)
            #expect(logs.contains("mail-1"))
            #expect(!logs.contains(MailSuite.password))
            #expect(!logs.contains(email))
            #expect(!logs.contains(token))
            #expect(token.count > 20)
        }
    }

    @Test func operatorsSeeWhatBouncedAndTryAgain() async throws {
        try await MailSuite.with { suite, peer in
            let shelf = try await Shelf.fill(suite, names: ["Soap"])
            let admin = try await Customer.admin(suite)
            let unlucky = "rcpt-550-5.1.1+\(Names.random(5).lowercased())@customers.example"
            let busy = "rcpt-451+\(Names.random(5).lowercased())@customers.example"
            let process = suite.processId(of: "mail-1")
            try await Self.buy(suite, shelf, as: "garbage+1@customers.example")
            try await Self.buy(suite, shelf, as: unlucky)
            try await Self.buy(suite, shelf, as: busy)
            func listed(_ parameters: JSON = [:]) async throws -> [JSON] {
                try await admin.run("mails", parameters).result.arrayValue ?? []
            }
            try await eventually("one bounced, one is tried again") {
                let waiting = try await listed(["state": "queued"])
                return try await listed(["state": "bounced"]).count == 1
                    && waiting.contains { $0.text("problem").contains("451") && ($0["attempts"]?.intValue ?? 0) > 1 }
            }
            let bounced = try #require(try await listed(["state": "bounced"]).first)
            #expect(bounced["template"] == "order-confirmation")
            #expect(bounced["to"] == .string(unlucky))
            #expect(bounced.text("problem").contains("550 5.1.1 As asked for"))
            let waiting = try #require(
                try await listed(["state": "queued"]).first { $0.text("problem").contains("451") })
            #expect(waiting.at("nextAttemptAt", "__type") == "Date")
            #expect(waiting["to"] == .string(busy))
            for mail in try await listed() {
                #expect(mail["model"] == nil)
                #expect(!mail.serializedText.contains("Soap"))
            }

            let addresses = try await admin.run("suppressedAddresses").result.arrayValue ?? []
            #expect(addresses.map { $0["address"] } == [.string(unlucky)])
            #expect(addresses[0].text("reason").contains("550"))
            // The next order of this customer gets no confirmation mail.
            try await Self.nextOrder(suite, shelf, as: unlucky)
            try await eventually("the second mail is suppressed") {
                try await listed(["state": "suppressed"]).count == 1
            }

            #expect(try await admin.run("retryMail", ["id": bounced["id"] ?? .null]).status == 200)
            try await eventually("it stays suppressed") { try await listed(["state": "suppressed"]).count == 2 }
            #expect(try await admin.run("unsuppressAddress", ["address": .string(unlucky.uppercased())]).status == 200)
            #expect(try await admin.run("unsuppressAddress", ["address": .string(unlucky)]).code == 101)
            #expect(try await admin.run("retryMail", ["id": bounced["id"] ?? .null]).status == 200)
            try await eventually("the server says no again") { try await listed(["state": "bounced"]).count == 1 }
            #expect(Self.mails(peer).isEmpty)
            #expect(process != nil, "No server's answer ends the process.")
            #expect(suite.processId(of: "mail-1") == process, "No server's answer ends the process.")
        }
    }

    private static func nextOrder(_ suite: Suite, _ shelf: Shelf, as email: String) async throws {
        var client = ParseClient(suite)
        let login = try await client.call(.POST, "/login", ["username": .string(email), "password": "secret-word"])
        client.sessionToken = login["sessionToken"]?.stringValue
        _ = try await client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let paid = try await client.run("checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        guard paid.status == 200 else { throw Unexpected("checkout", paid) }
    }

    @Test func onlyAdminsSeeMails() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let admin = try await Customer.admin(suite)
        let functions: [(String, JSON)] = [
            ("mails", [:]), ("suppressedAddresses", [:]), ("unsuppressAddress", ["address": "a@b.example"]),
            ("retryMail", ["id": 1]), ("mailContent", ["id": 1]),
        ]
        for (name, parameters) in functions {
            #expect(try await customer.client.run(name, parameters).code == 119, "\(name)")
            #expect(try await ParseClient(suite).run(name, parameters).code == 119, "\(name)")
        }
        let bad: [(String, JSON, Int)] = [
            ("mails", ["state": "lost"], 142), ("mails", ["state": ["$ne": "x"]], 142), ("mails", ["limit": 0], 142),
            ("suppressedAddresses", ["limit": "x"], 142), ("unsuppressAddress", [:], 142),
            ("unsuppressAddress", ["address": ["x"]], 142), ("unsuppressAddress", ["address": "a@b.example"], 101),
            ("retryMail", [:], 142), ("retryMail", ["id": "1"], 142), ("retryMail", ["id": -1], 101),
            ("mailContent", ["id": "1"], 142), ("mailContent", ["id": -1], 101),
        ]
        for (name, parameters, code) in bad {
            #expect(try await admin.run(name, parameters).code == code, "\(name) \(parameters.serializedText)")
        }
        #expect(try await admin.run("mails").status == 200)
    }

    /// The page that the dashboard frames: a form posts the session; no script runs in it, and it loads nothing.
    @Test func anOperatorSeesAMailAsItWasSent() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let sent = try await ParseClient.master(suite).run(
            "sendShopMail", ["to": "page@customers.example", "subject": "Hi", "html": "<script>x</script><b>Bold</b>"])
        let id = try #require(sent.result.at("mails", 0, "id")?.intValue)
        func page(_ form: [String: String]) async throws -> ParseClient.Answer {
            try await ParseClient(suite).post(form: form, to: "/mails/\(id)")
        }
        let token = try #require(admin.sessionToken)
        let shown = try await page(["_ApplicationId": "satchel", "_SessionToken": token])
        #expect(shown.status == 200 && shown.text == "<script>x</script><b>Bold</b>", "\(shown.text)")
        let policy = shown.headers.first(name: "Content-Security-Policy") ?? ""
        #expect(policy.hasPrefix("sandbox; default-src 'none'"), "\(policy)")
        #expect(policy.contains("frame-ancestors 'self'"), "\(policy)")
        #expect(shown.headers.first(name: "Content-Type")?.hasPrefix("text/html") == true)
        #expect(shown.headers.first(name: "Cache-Control") == "no-store")
        #expect(try await page(["_ApplicationId": "satchel"]).status == 403)
        #expect(try await page(["_SessionToken": token]).status == 403)
        #expect(try await admin.run("mailContent", ["id": .int(id)]).result["subject"] == "Hi")
    }

    /// Two hundred orders, while the mail service is killed three times. A mail that the server accepted but the
    /// service had not recorded is sent again with its Message-ID: at most four per kill, the number of concurrent
    /// sends.
    @Test func killedWhileItSendsTheMailServiceLosesNothing() async throws {
        try await MailSuite.with(pause: "0.05") { suite, peer in
            let shelf = try await Shelf.fill(suite, names: ["Soap"], stock: 1000)
            let numbers = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for index in 0..<20 {
                    group.addTask { try await Self.buy(suite, shelf, as: "ann\(index)@customers.example", times: 10) }
                }
                for kill in 1...3 {
                    try await eventually("mails are being sent", within: .seconds(60)) {
                        Self.mails(peer).count >= kill * 30
                    }
                    try await suite.kill("mail-1")
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(Set(numbers).count == 200)
            func arrived() -> Set<String> { Set(Self.mails(peer).map { $0.text("messageId") }) }
            try await eventually("every order is confirmed", within: .seconds(120)) { arrived().count == 200 }
            try await eventually("every mail is recorded", within: .seconds(30)) {
                try await suite.rows("mail", "SELECT count(*) FROM mails WHERE state = 'sent'") == [[200]]
            }
            let mails = Self.mails(peer)
            #expect(arrived().count == 200, "\(mails.count) mails")
            #expect(mails.count <= 200 + 3 * 4, "\(mails.count) mails")
            let subjects = Set(mails.map { $0.text("subject") })
            #expect(subjects == Set(numbers.map { "Your order \($0) at Beauty & Me" }))
            for same in Dictionary(grouping: mails, by: { $0.text("messageId") }).values {
                #expect(Set(same.map { $0.text("sha256") }).count == 1, "A repetition is the very same mail.")
            }
        }
    }

    @Test(arguments: [
        (["SATCHEL_MAIL": "pigeon"], "it must be `spool`, `smtp` or `mailgun`"),
        (["SATCHEL_MAIL": "smtp"], "SATCHEL_SMTP_URL must be a URL"),
        (["SATCHEL_MAIL_TEMPLATES": "/nowhere"], "SATCHEL_MAIL_TEMPLATES=/nowhere is not a readable folder"),
    ])
    func aWrongSettingStopsTheStart(settings: [String: String], problem: String) async throws {
        let data = "/tmp/satchel-\(Names.random(8))"
        defer { try? FileManager.default.removeItem(atPath: data) }
        let said = try await Command.run(
            ["/bin/sh", "-c", "\"$0\" 2>&1; echo ended with $?", "\(checkoutDirectory)/.build/release/mail"],
            environment: ["SATCHEL_DATA": data].merging(settings) { $1 })
        #expect(said.contains(problem), "\(said)")
        #expect(said.contains("ended with 78"), "\(said)")
    }
}
