import Foundation
import MailService
import Outbound
import ParseProtocol
import TestSupport
import Testing

/// Mails through Mailgun's API, simulated by a server that checks the login, the form and the MIME message, with every
/// kind of failure. These are the rows of docs/guides/mail.md.
@Suite struct MailgunTests {
    private static func with(
        _ change: (inout MailgunTransport.Settings) -> Void = { _ in }, _ body: (Peer, MailPost) async throws -> Void
    ) async throws {
        try await Peer.with("mailgun.py", ["--domain", "mg.shop.example", "--key", "key-1"]) { peer in
            var settings = MailgunTransport.Settings(
                url: peer.url, domain: "mg.shop.example", key: "key-1", timeout: .seconds(30))
            change(&settings)
            try await body(peer, try await MailPost(MailgunTransport(settings, client: OutboundClient())))
        }
    }

    private static func mails(_ peer: Peer) -> [JSON] { peer.reports().filter { $0["event"] == "mail" } }

    @Test func aMailArrivesAsWeComposedIt() async throws {
        try await Self.with { peer, post in
            try await post.ask("ann@shop.example", key: "reset:1")
            try await post.untilIt(is: "sent", to: "ann@shop.example")
            #expect(!(try await post.content("ann@shop.example").contains("token")))
            let mail = try #require(Self.mails(peer).first)
            #expect(mail["defects"] == [])
            #expect(mail["envelopeTo"] == ["ann@shop.example"])
            #expect(mail["messageId"] == "<reset_3a1@shop.example>")
            #expect(mail["text"]?.stringValue?.contains("https://shop.example/reset?token=a&b=c") == true)
        }
    }

    @Test(arguments: [
        ("status-400", "Mailgun answered 400"), ("status-413", "Mailgun answered 413"),
        ("status-429", "Mailgun answered 429"), ("status-500", "Mailgun answered 500"),
        ("status-503", "Mailgun answered 503"), ("garbage", "could not be read"), ("half", "could not be read"),
        ("nonsense", "without a message id"), ("slow", "did not answer in time"),
    ])
    func aFailureIsTriedAgain(what: String, problem: String) async throws {
        try await Self.with {
            if what == "slow" { $0.timeout = .seconds(1) }
        } _: { peer, post in
            let address = "\(what)@x.example"
            try await post.ask(address)
            let row = try await post.untilIt(is: "queued", to: address, attempts: 2)
            #expect(row.problem.contains(problem), "\(row.problem)")
            #expect(row.contentBytes > 0)
            #expect(try await post.suppressed().isEmpty)
            #expect(Self.mails(peer).isEmpty)
            try await post.ask("ann@shop.example")
            try await post.untilIt(is: "sent", to: "ann@shop.example")
        }
    }

    @Test func aWrongKeyOrDomainStopsEverythingUntilItIsRight() async throws {
        try await Self.with {
            $0.key = "key-2"
        } _: { peer, post in
            for index in 0..<30 { try await post.ask("ann+\(index)@shop.example") }
            try await eventually("it was tried again") { peer.reports().count >= 6 }
            #expect(peer.reports().count <= 11)
            #expect(peer.reports().allSatisfy { $0["status"] == 401 })
            #expect(try await post.box.count("SELECT count(*) FROM mails WHERE state = 'queued'") == 30)
        }
        try await Self.with {
            $0.domain = "other.example"
        } _: { peer, post in
            try await post.ask("ann@shop.example")
            let row = try await post.untilIt(is: "queued", to: "ann@shop.example", attempts: 2)
            #expect(row.problem.contains("Mailgun answered 404"))
        }
        try await Self.with {
            $0.url = "http://127.0.0.1:1"
        } _: { _, post in
            try await post.ask("ann@shop.example")
            let row = try await post.untilIt(is: "queued", to: "ann@shop.example", attempts: 2)
            #expect(row.problem.contains("cannot be reached"))
        }
    }

    @Test func aLostAnswerRepeatsTheVerySameMail() async throws {
        try await Self.with { peer, post in
            try await post.ask("lost@x.example")
            try await post.untilIt(is: "sent", to: "lost@x.example")
            let mails = Self.mails(peer)
            try #require(mails.count == 2)
            #expect(mails[0]["sha256"] == mails[1]["sha256"])
        }
    }
}
