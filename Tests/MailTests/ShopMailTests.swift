import Foundation
import MailService
import ParseProtocol
import ServiceSupport
import TestSupport
import Testing

/// Mails from cloud code: permitted requests, the composed mail, and refusals.
@Suite struct ShopMailTests {
    private static func shop() throws -> MailAddress { try #require(MailAddress("shop@shop.example", name: "Shop")) }

    private static func request(_ members: JSON) throws -> ShopMailRequest {
        var parameters: JSON = ["to": "ann@x.example", "subject": "Hi", "text": "Hello"]
        for (name, value) in members.objectValue ?? [:] { parameters[name] = value }
        return try ShopMailRequest(parameters, sender: try shop())
    }

    /// The mail to the first recipient, or to another one.
    private static func compose(_ members: JSON, copy index: Int = 0) throws -> MailMessage {
        let copy = try request(members).copies[index]
        let to = copy.recipient
        let composer = MailComposer(sender: try shop(), shopName: "Beauty & Me", templates: try MailTemplates())
        return try composer.compose(
            QueuedMail(
                id: 1, template: FreeTextMail.template, toAddress: to.address, toName: to.name,
                model: copy.mail.model.serialized, messageId: "m1",
                queuedAt: Timestamp(milliseconds: 1_700_000_000_000), attempts: 0))
    }

    // MARK: - Requests

    private static func long(_ count: Int) -> JSON { .string(String(repeating: "x", count: count)) }

    static let bounds: [JSON] = [
        ["to": .null], ["to": ""], ["to": []], ["to": 5], ["to": ["ann@x.example", 5]], ["to": "ann"],
        ["to": ["ann@x.example", "nobody"]], ["to": ["address": "ann@x.example"]],
        ["to": .array((0...50).map { .string("a\($0)@x.example") })],
        ["to": .string((0...50).map { "a\($0)@x.example" }.joined(separator: ","))],
        ["to": .string(String(repeating: " ", count: 33_000) + "ann@x.example")],
        ["subject": 5], ["subject": long(901)], ["subject": "a\u{0}b"],
        ["text": .null], ["text": ""], ["text": 5], ["text": ["a"]], ["html": 5], ["html": "a\u{0}b"],
        ["text": long(262_145)], ["text": long(131_073), "html": long(131_072)],
        ["from": "nobody"], ["from": 5], ["from": "a@x.example, b@x.example"], ["replyTo": "nobody"],
        ["replyTo": ["a@x.example"]], ["cc": "nobody"], ["bcc": 5], ["cc": "b@x.example\r\nBcc: c@x.example"],
        ["cc": .array((1...50).map { .string("a\($0)@x.example") })],
        ["attachments": "a"], ["attachments": [["name": "a.txt"]]],
        ["attachments": [["name": "../a", "base64": "YQ=="]]],
        ["attachments": [["name": "a\r\nX: y", "base64": "YQ=="]]], ["attachments": [["name": "a", "base64": "%"]]],
        ["attachments": [["name": "a", "base64": "YQ==", "contentType": "message/rfc822"]]],
        ["attachments": [["name": "a", "base64": "YQ==", "contentType": "text/plain\r\nX: y"]]],
        ["attachments": [["name": "a", "base64": .string(String(repeating: "YWFh", count: 349_526))]]],
    ]
    static let unsupported = [
        "attachment", "inline", "o:tag", "h:X-Mine", "v:name", "template", "template_id", "reply_to", "TO",
    ]

    @Test(arguments: bounds) func whatIsNoMailIsRefused(members: JSON) async {
        #expect(await parseCode { _ = try Self.request(members) } == 142)
    }

    @Test(arguments: unsupported) func whatAMailCannotHaveIsRefusedByItsName(name: String) throws {
        let error = try #require(throws: ParseError.self) { try Self.request(JSON.object([name: "x@x.example"])) }
        #expect(error.code == .validationError)
        #expect(error.message.hasPrefix("sendShopMail has no parameter \(name)."), "\(error.message)")
        _ = try Self.request(JSON.object([name: .null]))
    }

    @Test func errorsNameThePlaceOfAnAddressAndNotTheAddress() throws {
        let list: JSON = ["to": ["ann@x.example, bob@x.example", "secret name"]]
        let error = try #require(throws: ParseError.self) { try Self.request(list) }
        #expect(error.message.hasPrefix("Address 3 of to is not valid."), "\(error.message)")
        #expect(!error.message.contains("secret"))
    }

    @Test func copiesNameWhomTheyMayName() throws {
        let members: JSON = [
            "to": ["ann@x.example", "bob@x.example"], "cc": "Cid <cid@x.example>, ann@x.example",
            "bcc": "dan@x.example",
        ]
        let expected = [
            ["To: <ann@x.example>", "Cc: Cid <cid@x.example>"], ["To: <bob@x.example>", "Cc: Cid <cid@x.example>"],
            ["To: <ann@x.example>,", " <bob@x.example>", "Cc: Cid <cid@x.example>"],
            ["To: <ann@x.example>,", " <bob@x.example>", "Cc: Cid <cid@x.example>", "Bcc: <dan@x.example>"],
        ]
        let names = try Self.request(members).recipients.map { $0.address.prefix(3) }
        #expect(names == ["ann", "bob", "cid", "dan"])
        for (index, lines) in expected.enumerated() {
            let source = String(decoding: try Self.compose(members, copy: index).bytes, as: UTF8.self)
            let head = try #require(source.components(separatedBy: "\r\n\r\n").first)
            #expect(head.components(separatedBy: "\r\n").filter { $0.contains("x.example>") } == lines)
        }
    }

    @Test func attachmentsAreParts() throws {
        let mail = try Self.compose([
            "html": "<p>Hello</p>",
            "attachments": [
                ["name": "bill.pdf", "contentType": "application/pdf", "base64": "JVBERg=="],
                ["name": "Größe 1.txt", "base64": .string(Data(repeating: 97, count: 100).base64EncodedString())],
            ],
        ])
        let source = String(decoding: mail.bytes, as: UTF8.self)
        #expect(source.contains("Content-Type: multipart/mixed;"))
        #expect(source.contains("Content-Type: multipart/alternative;"))
        #expect(source.contains("Content-Type: application/pdf\r\n"))
        #expect(source.contains("filename=\"bill.pdf\"\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERg==\r\n"))
        #expect(source.contains("filename*=UTF-8''Gr%C3%B6%C3%9Fe%201.txt"))
        #expect(source.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 78 })
    }

    @Test func eachAddressGetsOneMail() throws {
        let wish = try Self.request(["to": ["Ann <ann@x.example>, bob@x.example", "ANN@x.example", "cid@x.example"]])
        #expect(wish.recipients.map(\.address) == ["ann@x.example", "bob@x.example", "cid@x.example"])
        #expect(wish.recipients.map(\.name) == ["Ann", "", ""])
        let fifty: JSON = ["to": .array((1...50).map { .string("a\($0)@x.example") })]
        #expect(try Self.request(fifty).recipients.count == 50)
    }

    static let answers: [(members: JSON, replyTo: String?)] = [
        ([:], nil), (["from": ""], nil), (["from": "Other <Shop@Shop.example>"], nil),
        (["from": "Desk <desk@x.example>"], "Desk <desk@x.example>"),
        (["from": "desk@x.example", "replyTo": "ben@x.example"], "<ben@x.example>"),
        (["from": "desk@x.example", "replyTo": "shop@shop.example"], nil),
    ]

    /// Whatever the code requests, the sender is the shop.
    @Test(arguments: answers) func answersGoWhereTheCodeSays(members: JSON, replyTo: String?) throws {
        let message = try Self.compose(members)
        #expect(message.from.header == "Shop <shop@shop.example>")
        #expect(message.replyTo?.header == replyTo)
        let source = String(decoding: message.bytes, as: UTF8.self)
        #expect(source.contains("\r\nReply-To: ") == (replyTo != nil))
    }

    // MARK: - The composed mail

    @Test func textAndHTMLAreSentAsTheyAre() throws {
        let both = try Self.compose(["text": "{{name}} & <b>", "html": "<p>{{name}} &amp; &lt;</p>"])
        #expect(both.text == "{{name}} & <b>")
        #expect(both.html == "<p>{{name}} &amp; &lt;</p>")
        #expect(String(decoding: both.bytes, as: UTF8.self).contains("multipart/alternative"))
    }

    static let alone: [(members: JSON, type: String, end: String)] = [
        (["text": "Grüße\n.\n"], "text/plain", "\r\n\r\nGr=C3=BC=C3=9Fe\r\n.\r\n\r\n"),
        (["text": .null, "html": "<p>Hi</p>"], "text/html", "\r\n\r\n<p>Hi</p>\r\n"),
    ]

    @Test(arguments: alone) func aPartAloneIsTheWholeMail(members: JSON, type: String, end: String) throws {
        let source = String(decoding: try Self.compose(members).bytes, as: UTF8.self)
        #expect(source.contains("\r\nContent-Type: \(type); charset=utf-8\r\n"))
        #expect(!source.contains("multipart"))
        #expect(source.hasSuffix(end), "\(source)")
    }

    static let injections = ["\r\nBcc: x@evil.example", "\nBcc: x@evil.example", "\u{2028}Bcc: x@evil.example"]

    @Test(arguments: injections) func nothingThatIsWrittenStartsAHeader(attack: String) throws {
        let message = try Self.compose([
            "to": .string("Ann\(attack) <ann@x.example>"), "subject": .string("Hi\(attack)"),
            "from": .string("Eve\(attack) <eve@x.example>"), "text": .string("Hello\(attack)"),
        ])
        let head = String(decoding: message.bytes, as: UTF8.self).components(separatedBy: "\r\n\r\n")[0]
        #expect(!head.components(separatedBy: "\r\n").contains { $0.lowercased().hasPrefix("bcc") })
        // A name that looks like an advertisement is omitted, as in every mail.
        #expect(message.recipient.header == "<ann@x.example>")
        #expect(message.replyTo?.address == "eve@x.example")
    }

    @Test(arguments: ["", " \r\n"]) func aMailWithoutASubjectHasNoSuchHeader(subject: String) throws {
        let source = String(decoding: try Self.compose(["subject": .string(subject)]).bytes, as: UTF8.self)
        #expect(!source.contains("Subject:"))
    }

    // MARK: - The queue

    private static func add(_ to: String, _ queue: ShopMailQueue, in box: SandboxStore) async throws -> [JSON] {
        let wish = try request(["to": .string(to)])
        return try await box.store.write { try queue.add(wish, in: $0) }
    }

    private static func queue(_ perRecipient: Int, staff: [String] = []) throws -> ShopMailQueue {
        var limits = MailQuotas.Limits()
        limits.perRecipient = perRecipient
        return ShopMailQueue(sender: try shop(), staff: Set(staff.map(Mailbox.init)), quotas: MailQuotas(limits))
    }

    @Test func everyMailHasItsNumberAndItsMessageId() async throws {
        let box = try await SandboxStore(mailPlan)
        let queued = try await Self.add("a@x.example, b@x.example", try Self.queue(12), in: box)
        let stored = try await box.store.read { try MailList([:]).read(in: $0) }
        #expect(queued.map { $0["id"] } == [1, 2])
        #expect(stored.map { $0["template"] } == ["message", "message"])
        let ids = queued.reversed().map { $0.text("messageId") }
        #expect(stored.map { "\($0.text("messageId"))@shop.example" } == ids)
    }

    /// Three of a mailbox's daily mails are reserved for links.
    @Test func aMailboxOverItsQuotaIsRefused() async throws {
        let box = try await SandboxStore(mailPlan)
        let queue = try Self.queue(5)
        for address in ["ann@x.example", "ann+1@x.example"] { _ = try await Self.add(address, queue, in: box) }
        for list in ["ann@x.example", "bob@x.example, Ann@x.example"] {
            #expect(await parseCode { _ = try await Self.add(list, queue, in: box) } == 155)
        }
        // No mail of the refused list is queued or reserved, and the other recipient's quota is unchanged.
        #expect(try await box.count("SELECT count(*) FROM mails") == 2)
        for _ in 0..<2 { _ = try await Self.add("bob@x.example", queue, in: box) }
        #expect(try await box.count("SELECT count(*) FROM mails WHERE state = 'queued'") == 4)
    }

    @Test func theShopsOwnPeopleGetAsManyAsThereAre() async throws {
        let box = try await SandboxStore(mailPlan)
        let queue = try Self.queue(4, staff: ["desk@x.example"])
        for _ in 0..<20 { _ = try await Self.add("Desk+orders@x.example", queue, in: box) }
        #expect(try await box.count("SELECT count(*) FROM mails WHERE state = 'queued'") == 20)
    }
}
