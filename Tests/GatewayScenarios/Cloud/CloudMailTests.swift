import ParseProtocol
import TestSupport
import Testing

/// Mails that cloud code sends through `Parse.Cloud.sendEmail` and hosted Parse's Mailgun module, from the code to the
/// bytes that a real mail server receives. They take the same path as the shop's own mails.
@Suite struct CloudMailTests {
    private static let code = """
        var Mailgun = require('mailgun');
        Mailgun.initialize('shop.example', 'key-of-the-code');

        Parse.Cloud.define('hello', function(request, response) { response.success('Hello'); });
        Parse.Cloud.define('write', (request) => Parse.Cloud.sendEmail(request.params));
        Parse.Cloud.define('contact', function(request, response) {
          Mailgun.sendEmail({
            to: 'desk@customers.example',
            from: request.params.from,
            subject: request.params.subject,
            text: request.params.text
          }, {
            success: function(httpResponse) { response.success([httpResponse.status, httpResponse.data]); },
            error: function(httpResponse) { response.error(httpResponse.status + ' ' + httpResponse.data.message); }
          });
        });
        """

    private static func loaded(_ suite: Suite) async throws {
        try await eventually("the code is loaded") {
            try await ParseClient(suite).call(.POST, "/functions/hello", [:]).status == 200
        }
    }

    private static func mails(_ peer: Peer, to address: String) -> [JSON] {
        peer.reports().filter { $0["event"] == "mail" && $0["envelopeTo"] == [.string(address)] }
    }

    /// Waits for the only mail to an address.
    private static func mail(_ peer: Peer, to address: String) async throws -> JSON {
        try await eventually("the mail to \(address) arrived") { !mails(peer, to: address).isEmpty }
        return try #require(mails(peer, to: address).first)
    }

    private static let attack = "\r\nBcc: evil@customers.example"

    @Test(.timeLimit(.minutes(10))) func codeSendsMailsThroughTheShop() async throws {
        let folder = try CloudSuite.folder(Self.code)
        try await MailSuite.with(["SATCHEL_CLOUD_CODE": folder]) { suite, peer in
            try await Self.loaded(suite)
            let client = ParseClient(suite)

            let sent = try await client.run(
                "write",
                [
                    "to": "Ann Example <ann@customers.example>, ben@customers.example",
                    "from": "Desk <desk@elsewhere.example>", "subject": .string("Grüße\(Self.attack)"),
                    "text": "Hello & <you>\n.\n", "html": "<p>Hello</p>",
                ])
            try #require(sent.status == 200, "\(sent.text)")
            let ids = (sent.result["mails"]?.arrayValue ?? []).map { $0.text("messageId") }
            #expect(ids.count == 2, "\(sent.text)")
            let toAnn = try await Self.mail(peer, to: "ann@customers.example")
            let toBen = try await Self.mail(peer, to: "ben@customers.example")
            #expect([toAnn, toBen].map { $0["messageId"] } == ids.map { .string("<\($0)>") })
            #expect(toAnn["from"] == ["Beauty & Me <shop@shop.example>"], "\(toAnn["from"] ?? .null)")
            #expect(toAnn["envelopeFrom"] == "shop@shop.example")
            #expect(toAnn["to"] == ["ann@customers.example"], "The one does not see the other.")
            #expect(toAnn["toName"] == "Ann Example")
            #expect(toAnn["replyTo"] == ["desk@elsewhere.example"])
            #expect(toAnn["type"] == "multipart/alternative")
            #expect(toAnn.text("subject").contains("Bcc: evil"), "It is a part of the subject.")
            #expect(toAnn.text("text").contains("Hello & <you>\r\n.\r\n"), "\(toAnn.text("text"))")
            #expect(toAnn.text("html").contains("<p>Hello</p>"))

            let asked = try await client.run(
                "contact",
                [
                    "from": .string("Eve\(Self.attack) <eve@elsewhere.example>"), "subject": "A question",
                    "text": "Are you open?",
                ])
            let toDesk = try await Self.mail(peer, to: "desk@customers.example")
            #expect(asked.result.at(0) == 200, "\(asked.text)")
            #expect(asked.result.at(1, "message") == "Queued. Thank you.", "\(asked.text)")
            #expect(asked.result.at(1, "id") == toDesk["messageId"])
            #expect(toDesk["from"] == ["Beauty & Me <shop@shop.example>"])
            #expect(toDesk["replyTo"] == ["eve@elsewhere.example"])
            #expect(toDesk["type"] == "text/plain")
            for mail in [toAnn, toBen, toDesk] {
                #expect(mail["defects"] == [], "\(mail)")
                #expect(mail["headers"]?.arrayValue?.contains("bcc") == false, "\(mail)")
            }

            try await Self.nothingElseIsSent(client, suite)
            try await Self.theTrailHasThem(suite)
            let logs = suite.logTails(lines: 100_000)
            for secret in ["ann@customers.example", "Are you open?", "key-of-the-code"] {
                #expect(!logs.contains(secret), "\(secret)")
            }
        }
    }

    /// Mails that cannot be sent as requested are refused, and the content of the three sent mails is deleted.
    private static func nothingElseIsSent(_ client: ParseClient, _ suite: Suite) async throws {
        let mail: JSON = ["to": "ann@customers.example", "subject": "Hi", "text": "Hello"]
        let wrong: [(String, JSON)] = [
            ("cc", .string("ben@customers.example\(attack)")), ("bcc", "nobody"), ("template", "spring"),
            ("attachment", [["name": "a.txt"]]), ("o:tag", "spring"), ("to", "nobody"),
            ("to", .string("ann@customers.example\(attack)")), ("text", ""),
        ]
        for (name, value) in wrong {
            var parameters = mail
            parameters[name] = value
            let refused = try await client.run("write", parameters)
            #expect(refused.code == 142, "\(name): \(refused.text)")
        }
        let question: JSON = ["from": "nobody", "subject": "Hi", "text": "Hello"]
        let refused = try await client.run("contact", question)
        #expect(refused.code == 141)
        #expect(refused.json.text("error").hasPrefix("400 from must be one mail address"), "\(refused.text)")
        try await eventually("all are sent") {
            try await suite.rows("mail", "SELECT state FROM mails WHERE template = 'message'") == [
                ["sent"], ["sent"], ["sent"],
            ]
        }
    }

    /// The audit log contains the number of mails sent with the master key, but no texts or addresses.
    private static func theTrailHasThem(_ suite: Suite) async throws {
        var entries: [JSON] = []
        try await eventually("the audit log has both calls") {
            let found = try await ParseClient.master(suite).run("auditEntries", ["limit": 50])
            entries = (found.result["entries"]?.arrayValue ?? []).filter { $0["action"] == "sendShopMail" }
            return entries.count == 2
        }
        #expect(Set(entries.map { $0["after"]?["mails"]?.intValue }) == [1, 2])
        #expect(Set(entries.map { $0["via"] }) == ["masterKey"])
        #expect(!entries.contains { $0.serializedText.contains("@") }, "\(entries)")
    }

    @Test(.timeLimit(.minutes(10))) func withAnAccountOfItsOwnTheCodeSpeaksToMailgun() async throws {
        try await Peer.with("webhook.py") { mailgun in
            let suite = try await CloudSuite.start(
                Self.code, settings: ["SATCHEL_CLOUD_PROVIDERS": "own", "SATCHEL_MAILGUN_URL": mailgun.url])
            _ = try await mailgun.control("v3/shop.example/messages", ["json": ["id": "<m@mailgun.example>"]])
            let answer = try await ParseClient(suite).run(
                "contact", ["from": "eve@elsewhere.example", "subject": "A question", "text": "Are you open?"])
            #expect(answer.result == [200, ["id": "<m@mailgun.example>"]], "\(answer.text)")
            #expect(try await suite.rows("mail", "SELECT count(*) FROM mails WHERE template = 'message'") == [[0]])
            await suite.stop()
        }
    }

    /// Cloud code may send by itself. Other callers need the master key to write in the shop's name.
    @Test func theFunctionIsForTheMasterKeyAndRunsOncePerRequest() async throws {
        let suite = try await GatewaySuites.guarded
        let customer = try await Customer.signUp(suite).client
        let admin = try await Customer.admin(suite)
        let to = JSON.string("\(Names.random(10).lowercased())@customers.example")
        let mail: JSON = ["to": to, "subject": "Hi", "text": "Hello"]
        let reader = ParseClient(suite, masterKey: GatewaySuites.readOnlyKey)
        for client in [ParseClient(suite), customer, admin, reader] {
            #expect(try await client.run("sendShopMail", mail).code == 119)
        }
        let master = ParseClient.master(suite)
        let headers = master.credentials + [("X-Parse-Request-Id", Names.random(20))]
        var answers: [ParseClient.Answer] = []
        for _ in 0..<2 {
            answers.append(
                try await master.send(.POST, "/functions/sendShopMail", headers: headers, body: mail.serialized))
        }
        #expect(answers[0].result["mails"]?.arrayValue?.count == 1, "\(answers[0].text)")
        #expect(answers[1].code == 159, "\(answers[1].text)")
        let address = to.stringValue ?? ""
        let rows = try await suite.rows("mail", "SELECT count(*) FROM mails WHERE toAddress = '\(address)'")
        #expect(rows == [[1]])
    }
}
