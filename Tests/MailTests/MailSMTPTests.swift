import Foundation
import MailService
import Outbound
import ParseProtocol
import TestSupport
import Testing

/// Mails through a real SMTP server (aiosmtpd), with every kind of failure: no mail is lost, a repeated mail is
/// identical, and the operator sees the cause. These are the rows of docs/guides/mail.md.
@Suite struct MailSMTPTests {
    @Test(arguments: [["--tls", "starttls"], ["--tls", "implicit"]])
    func aMailArrivesEncryptedAndWhole(arguments: [String]) async throws {
        try await MailServer.with(arguments + ["--login", "shop:secret word"]) { server in
            let transport = server.transport {
                if arguments.contains("implicit") { $0.url = "smtps://localhost:\(server.peer.port)" }
                $0.login = ("shop", "secret word")
            }
            let post = try await MailPost(transport)
            try await post.ask("ann@shop.example", key: "reset:1")
            try await post.untilIt(is: "sent", to: "ann@shop.example")
            #expect(!(try await post.content("ann@shop.example").contains("token")), "Its link is forgotten.")
            let mail = try #require(server.mails().first)
            #expect(mail["defects"] == [], "Python's email library finds fault with nothing.")
            #expect(mail["tls"] == true)
            #expect(mail["user"] == "shop")
            #expect(mail["from"] == ["Shop <shop@shop.example>"])
            #expect(mail["to"] == ["ann@shop.example"])
            #expect(mail["toName"] == "Ann")
            #expect(mail["messageId"] == "<reset_3a1@shop.example>")
            #expect(mail["envelopeFrom"] == "shop@shop.example")
            #expect(mail["type"] == "multipart/alternative")
            #expect(mail["subject"] == "Choose a new password for Beauty & Me")
            let age = Double(Timestamp.now.milliseconds) / 1000 - (mail["date"]?.doubleValue ?? 0)
            #expect((-5...60).contains(age))
            #expect(mail["text"]?.stringValue?.contains("https://shop.example/reset?token=a&b=c") == true)
            #expect(mail["html"]?.stringValue?.contains("token=a&amp;b=c") == true)
        }
    }

    @Test func linesThatBeginWithADotAndStrangeTextArriveAsTheyAre() async throws {
        try await MailServer.with { server in
            let text = ".\n..\n.hidden\nGrüße, 日本語 = \(String(repeating: "long ", count: 300))\nFrom here\n"
            let message = MailMessage(
                from: try #require(MailAddress("shop@shop.example", name: "Läden, GmbH")),
                recipient: try #require(MailAddress("ann@shop.example", name: "Ann \"A\" Ü")), subject: "Grüße 日本語",
                text: text, html: "<p>.</p>", date: Date(), messageId: "m1@shop.example")
            try await server.transport().send(message, name: "m1")
            let mail = try #require(server.mails().first)
            #expect(mail["defects"] == [])
            #expect(mail["subject"] == "Grüße 日本語")
            #expect(mail["toName"] == "Ann \"A\" Ü")
            #expect(mail["text"]?.stringValue?.replacingOccurrences(of: "\r\n", with: "\n") == text)
        }
    }

    // MARK: - About one mail

    /// The address, which selects the server's refusal; the mail's state afterwards; and whether the address is
    /// suppressed.
    static let refusals: [(address: String, state: String, isSuppressed: Bool)] = [
        ("rcpt-450@x.example", "queued", false), ("rcpt-451-4.7.1@x.example", "queued", false),
        ("rcpt-550@x.example", "bounced", true), ("rcpt-550-5.1.1@x.example", "bounced", true),
        ("rcpt-553@x.example", "bounced", true), ("rcpt-550-5.7.1@x.example", "queued", false),
        ("rcpt-530@x.example", "queued", false), ("rcpt-552-5.2.2@x.example", "queued", false),
        ("data-451@x.example", "queued", false), ("data-554@x.example", "queued", false),
        ("end-452@x.example", "queued", false), ("end-554-5.7.1@x.example", "queued", false),
        ("end-550-5.1.1@x.example", "bounced", true), ("rcpt-421@x.example", "queued", false),
    ]

    @Test(arguments: refusals)
    func aRefusalIsTriedAgainOrBounces(address: String, state: String, isSuppressed: Bool) async throws {
        try await MailServer.with { server in
            let post = try await MailPost(server.transport())
            try await post.ask(address)
            let row = try await post.untilIt(is: state, to: address, attempts: state == "queued" ? 2 : 1)
            #expect(row.problem.contains("As asked for"), "The operator reads the server's words: \(row.problem)")
            #expect(row.contentBytes > 0)
            #expect(try await post.suppressed() == (isSuppressed ? [address] : []))
            #expect(server.mails().isEmpty)
            try await post.ask("ann@shop.example")
            try await post.untilIt(is: "sent", to: "ann@shop.example")
        }
    }

    @Test func greylistingOnlyDelaysAMail() async throws {
        try await MailServer.with { server in
            let post = try await MailPost(server.transport())
            try await post.ask("greylist@x.example")
            #expect(try await post.untilIt(is: "sent", to: "greylist@x.example").attempts == 2)
            #expect(server.mails().count == 1)
            #expect(server.attempts(to: "greylist@x.example") == 2)
        }
    }

    @Test(arguments: ["drop", "garbage", "half"]) func aBrokenConversationIsTriedAgain(what: String) async throws {
        try await MailServer.with { server in
            // libcurl waits for the rest of a reply that it does not understand.
            let post = try await MailPost(server.transport { if what == "garbage" { $0.timeout = .seconds(1) } })
            let address = "\(what)@x.example"
            try await post.ask(address)
            try await eventually("it is tried again") { server.attempts(to: address) >= 2 }
            try await post.untilIt(is: "queued", to: address, attempts: 2)
            #expect(server.mails().isEmpty)
            #expect(try await post.suppressed().isEmpty)
        }
    }

    /// The only case, apart from a crash, in which a recipient may get a mail twice.
    @Test func aLostLastReplyRepeatsTheVerySameMail() async throws {
        try await MailServer.with { server in
            let post = try await MailPost(server.transport())
            try await post.ask("lost@x.example")
            #expect(try await post.untilIt(is: "sent", to: "lost@x.example").attempts == 2)
            let mails = server.mails()
            #expect(mails.count == 2)
            #expect(mails[0]["messageId"] == mails[1]["messageId"])
            #expect(mails[0]["sha256"] == mails[1]["sha256"])
        }
    }

    @Test func recipientsThatHangDoNotHoldUpTheOthers() async throws {
        try await MailServer.with { server in
            let post = try await MailPost(server.transport { $0.timeout = .seconds(4) })
            for index in 0..<6 { try await post.ask("slow+\(index)@x.example") }
            try await post.untilIt(is: "queued", to: "slow+0@x.example", attempts: 1, within: .seconds(240))
            for index in 0..<20 { try await post.ask("ann+\(index)@shop.example") }
            // Usually seconds. On a busy machine, libcurl kept its thread for more than 90 s after such timeouts.
            for index in 0..<20 {
                try await post.untilIt(is: "sent", to: "ann+\(index)@shop.example", within: .seconds(240))
            }
            for index in 0..<6 {
                let row = try await post.untilIt(is: "queued", to: "slow+\(index)@x.example", attempts: 1)
                #expect(row.problem.contains("did not answer in time"))
            }
        }
    }

    /// Six recipients of one domain would occupy all four connections for the maximum duration of an attempt.
    @Test func aDomainThatHangsLeavesConnectionsToOthers() async throws {
        try await MailServer.with { server in
            let post = try await MailPost(server.transport { $0.timeout = .seconds(240) })
            for index in 0..<6 { try await post.ask("slow+\(index)@hang.example") }
            try await eventually("a mail hangs") { server.attempts(to: "slow+0@hang.example") == 1 }
            for index in 0..<10 { try await post.ask("ann+\(index)@shop.example") }
            for index in 0..<10 {
                try await post.untilIt(is: "sent", to: "ann+\(index)@shop.example", within: .seconds(90))
            }
            #expect(server.peer.reports().count { $0["to"]?.stringValue?.hasSuffix("@hang.example") == true } == 2)
        }
    }

    // MARK: - About the server or us

    @Test func aServerThatIsDownIsWaitedFor() async throws {
        try await MailServer.with { first in
            let port = first.peer.port
            await first.peer.stop()
            let authority = first.authority
            let post = try await MailPost(first.transport())
            for index in 0..<10 { try await post.ask("ann+\(index)@shop.example") }
            let row = try await post.untilIt(is: "queued", to: "ann+0@shop.example", attempts: 1)
            #expect(row.problem.contains("cannot be reached"))
            try await Peer.with("smtp.py", ["--ca", authority, "--port", "\(port)"]) { peer in
                // The new server has a new certificate authority, which libcurl reads for each connection.
                for index in 0..<10 { try await post.untilIt(is: "sent", to: "ann+\(index)@shop.example") }
                #expect(MailServer(peer: peer, authority: authority).mails().count == 10)
            }
        }
    }

    /// Many mails and a wrong password: the server sees one login at a time, with growing pauses.
    @Test func aWrongPasswordIsNotTriedForEachMail() async throws {
        try await MailServer.with(["--login", "shop:right"]) { server in
            let post = try await MailPost(server.transport { $0.login = ("shop", "wrong") }, retry: .milliseconds(500))
            for index in 0..<50 { try await post.ask("ann+\(index)@shop.example") }
            func logins() -> Int { server.peer.reports().count { $0["event"] == "login" } }
            try await eventually("a login was refused and tried again") { logins() >= 6 }
            // Four concurrent logins before the first answer, then one at a time.
            #expect(logins() <= 4 * 2 + 3, "\(logins())")
            let rows = try await post.box.count("SELECT count(*) FROM mails WHERE state = 'queued' AND attempts <= 3")
            #expect(rows == 50)
            let problem = try await post.box.store.write {
                try $0.rows("SELECT problem FROM mails WHERE problem IS NOT NULL", []).map { try $0.text("problem") }
            }
            #expect(problem.allSatisfy { $0.contains("refused to log in (535)") })
            #expect(!problem.isEmpty)
            #expect(try await post.suppressed().isEmpty)
        }
    }

    @Test(arguments: [
        ("no STARTTLS", ["--tls", "none"], true), ("an authority that nobody knows", [], false),
        ("a busy greeting", ["--greeting", "421 Come back later"], true),
        ("a refusing greeting", ["--greeting", "554 No mail from you"], true),
    ])
    func aServerThatCannotBeUsedGetsNoMailInTheClear(what: String, arguments: [String], isTrusted: Bool) async throws {
        try await MailServer.with(arguments) { server in
            var settings = SMTPTransport.Settings(url: "smtp://localhost:\(server.peer.port)", timeout: .seconds(10))
            settings.login = nil
            let client = OutboundClient(authorities: isTrusted && !arguments.contains("none") ? server.authority : nil)
            let post = try await MailPost(SMTPTransport(settings, client: client))
            try await post.ask("ann@shop.example")
            let row = try await post.untilIt(is: "queued", to: "ann@shop.example", attempts: 2)
            #expect(!row.problem.isEmpty)
            #expect(server.mails().isEmpty)
            #expect(server.attempts(to: "ann@shop.example") == 0)
        }
    }

    @Test func aRefusedSenderSuppressesNoRecipient() async throws {
        try await MailServer.with { server in
            let post = try await MailPost(server.transport(), from: "mail-553@shop.example")
            try await post.ask("ann@shop.example")
            let row = try await post.untilIt(is: "queued", to: "ann@shop.example", attempts: 2)
            #expect(row.problem.contains("refused to accept the sender (553)"))
            #expect(try await post.suppressed().isEmpty)
            #expect(server.mails().isEmpty)
        }
    }

    @Test func withoutEncryptionOnlyWhereItIsAskedFor() async throws {
        try await MailServer.with(["--tls", "none"]) { server in
            for encryption in [OutboundMail.Encryption.none, .opportunistic] {
                let post = try await MailPost(server.transport { $0.encryption = encryption })
                let to = "ann+\(encryption)@shop.example"
                try await post.ask(to)
                try await post.untilIt(is: "sent", to: to)
                #expect(server.mails(to: to).first?["tls"] == false)
            }
        }
    }
}
