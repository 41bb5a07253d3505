import Foundation
import MailService
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import Testing

/// T5c: how many mails an unknown client can cause. Uses no network, and times chosen by the test.
@Suite struct MailQuotaTests {
    private static let hour: Int64 = 3_600_000

    /// How many of `count` mails an allowance admits.
    private static func taken(
        _ allowance: inout MailQuotaBucket, of count: Int, at now: Int64, reserving reserved: Int = 0
    ) -> Int {
        var taken = 0
        for _ in 0..<count where allowance.take(at: now, reserving: reserved) { taken += 1 }
        return taken
    }

    @Test func anAllowanceIsGivenAtOnceAndComesBackEvenly() {
        var allowance = MailQuotaBucket(perDay: 12)
        let start: Int64 = 1_700_000_000_000
        let moments: [(after: Int64, room: Int)] = [
            (0, 12), (2 * Self.hour - 1, 0), (2 * Self.hour, 1), (2 * Self.hour, 0), (48 * Self.hour, 12),
        ]
        for (after, room) in moments {
            let taken = Self.taken(&allowance, of: 20, at: start + after)
            #expect(taken == room, "after \(after) ms")
        }
    }

    @Test func aPartIsKeptForOthers() {
        var allowance = MailQuotaBucket(perDay: 12)
        let (ofOrders, ofLinks) = (
            Self.taken(&allowance, of: 20, at: 1, reserving: 3), Self.taken(&allowance, of: 20, at: 1)
        )
        #expect(ofOrders == 9)
        #expect(ofLinks == 3)
        // An allowance that is smaller than its reserve still admits mails.
        var small = MailQuotaBucket(perDay: 2)
        let (first, rest) = (Self.taken(&small, of: 5, at: 1, reserving: 3), Self.taken(&small, of: 5, at: 1))
        #expect(first == 1)
        #expect(rest == 1)
    }

    @Test func aClockThatIsSetBackClosesItForADayAtMost() {
        var allowance = MailQuotaBucket(perDay: 4, fullAt: 10_000 * Self.hour)
        let (soon, aDayLater) = (
            Self.taken(&allowance, of: 1, at: Self.hour), Self.taken(&allowance, of: 9, at: 10_000 * Self.hour)
        )
        #expect(soon == 0)
        #expect(aDayLater == 4)
    }

    @Test(arguments: [
        ("Ann@Shop.example", "ann@shop.example"), ("ann+1@shop.example", "ann@shop.example"),
        ("a.n.n+x@GMail.com", "ann@gmail.com"), ("a.n@shop.example", "a.n@shop.example"),
        ("ann@googlemail.com", "ann@gmail.com"), ("+x@shop.example", "+x@shop.example"),
        ("", ""), ("@", "@"), ("nobody", "nobody"),
    ])
    func spellingsOfOneMailboxAreOne(_ address: String, _ mailbox: String) {
        #expect(Mailbox(address).address == mailbox)
        #expect(Mailbox(address).digest == Mailbox(mailbox).digest)
        #expect(Mailbox(address).digest.count == 32)
    }

    private static func message(
        _ to: String, _ template: String = "order-confirmation", verified: Bool = false, byShop: Bool = false,
        user: String = "", network: String = ""
    ) -> SendMailRequest {
        SendMailRequest.with {
            $0.template = template
            $0.toAddress = to
            $0.model = Data("{}".utf8)
            $0.addressVerified = verified
            $0.byShop = byShop
            $0.userID = user
            $0.network = network
        }
    }

    private static func states(_ box: SandboxStore) async throws -> [String: Int64] {
        let rows = try await box.store.write { try $0.rows("SELECT state, count(*) FROM mails GROUP BY state", []) }
        return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.text(0), try $0.int(1)) })
    }

    private static func add(_ message: SendMailRequest, _ quotas: MailQuotas, in box: SandboxStore) async throws {
        try await box.store.write {
            try MailQueue.add(message, key: Names.random(12), quotas: quotas, in: $0)
        }
    }

    @Test func ordersAndLinksToOneMailboxAreCountedTogetherAndLinksKeepTheirPart() async throws {
        let box = try await SandboxStore(mailPlan)
        let quotas = MailQuotas(.init())
        for index in 0..<40 { try await Self.add(Self.message("ann+\(index)@x.example"), quotas, in: box) }
        #expect(try await Self.states(box) == ["queued": 9, "held": 5])
        let problem = try await box.store.write {
            try $0.rows("SELECT problem FROM mails WHERE state = 'held' ORDER BY id DESC LIMIT 1", []).first?.text(0)
        }
        #expect(problem == "Held, and 26 more to this address were dropped.")
        for _ in 0..<10 { try await Self.add(Self.message("ann@x.example", "password-reset"), quotas, in: box) }
        #expect(try await Self.states(box) == ["queued": 12, "held": 5])
        try await Self.add(Self.message("bob@x.example"), quotas, in: box)
        #expect(try await Self.states(box) == ["queued": 13, "held": 5])
    }

    @Test func aVerifiedAddressAndTheShopItselfAreNotHindered() async throws {
        let box = try await SandboxStore(mailPlan)
        let quotas = MailQuotas(.init())
        for _ in 0..<40 {
            try await Self.add(Self.message("ann@x.example", verified: true), quotas, in: box)
            try await Self.add(Self.message("ann@x.example", "order-shipped", byShop: true), quotas, in: box)
        }
        #expect(try await Self.states(box) == ["queued": 80])
        // Anyone can request links, for a verified address too.
        for _ in 0..<40 {
            try await Self.add(Self.message("ann@x.example", "password-reset", verified: true), quotas, in: box)
        }
        #expect(try await Self.states(box) == ["queued": 92, "held": 5])
    }

    @Test func manyRecipientsOfOneUserOrNetworkAreBounded() async throws {
        let box = try await SandboxStore(mailPlan)
        var limits = MailQuotas.Limits()
        limits.perUser = 10
        limits.perNetwork = 20
        let quotas = MailQuotas(limits)
        for index in 0..<15 {
            try await Self.add(Self.message("a\(index)@x.example", user: "u1", network: "n1"), quotas, in: box)
        }
        #expect(try await Self.states(box) == ["queued": 10, "held": 5])
        for index in 0..<15 {
            try await Self.add(Self.message("b\(index)@x.example", user: "v\(index)", network: "n1"), quotas, in: box)
        }
        #expect(try await Self.states(box)["queued"] == 15)
        try await Self.add(Self.message("c@x.example", user: "u2", network: "n2"), quotas, in: box)
        #expect(try await Self.states(box)["queued"] == 16)
    }

    @Test func zeroMeansNoQuotaAndFullAllowancesAreForgotten() async throws {
        let box = try await SandboxStore(mailPlan)
        var none = MailQuotas.Limits()
        (none.perRecipient, none.perUser, none.perNetwork) = (0, 0, 0)
        for _ in 0..<50 {
            try await Self.add(Self.message("ann@x.example", user: "u", network: "n"), MailQuotas(none), in: box)
        }
        #expect(try await Self.states(box) == ["queued": 50])
        try await Self.add(Self.message("ann@x.example"), MailQuotas(.init()), in: box)
        try await box.store.write { try MailQuotas.deleteFull(in: $0) }
        #expect(try await box.count("SELECT count(*) FROM mailAllowances") == 1)
        try await box.store.write {
            try $0.execute("UPDATE mailAllowances SET fullAt = 1")
            try MailQuotas.deleteFull(in: $0)
        }
        #expect(try await box.count("SELECT count(*) FROM mailAllowances") == 0)
    }

    /// T5d
    @Test(arguments: [
        ("Buy at https://evil.example/x?a=1 now", "Buy at https: / /evil. example/x?a=1 now"),
        ("www.evil.example", "www. evil. example"), ("mail ann@evil.example", "mail ann @ evil. example"),
        ("evil\u{3002}example", "evil\u{3002} example"), ("Ring twice. Thanks.", "Ring twice. Thanks."),
        ("2.5 kg at 10:30, flat 3", "2.5 kg at 10:30, flat 3"), ("a\u{202E}b\u{0007}c", "a b c"),
        ("javascript:alert", "javascript: alert"), ("3.evil", "3. evil"),
    ])
    func nothingACustomerWroteBecomesALink(_ text: String, _ shown: String) {
        #expect(CustomerText.line(text) == shown)
    }

    /// T5d
    @Test func notesAreShortAndEachLineIsMarked() throws {
        #expect(CustomerText.note("\n\na\n\n\n\nb\n").joined(separator: "|") == "a||b")
        #expect(CustomerText.note("").isEmpty)
        #expect(CustomerText.note("\n \n").isEmpty)
        let long = CustomerText.note(String(repeating: "x", count: 2000))
        try #require(long.count == 1)
        #expect(long[0].count == 501)
        #expect(CustomerText.note(String(repeating: "x\n", count: 1000)).joined().count <= 500)
        var model = MailConfirmationTests.receipt
        model["note"] = "You won!\nhttps://evil.example"
        let message = try MailConfirmationTests.composer().compose(MailConfirmationTests.mail(model: model))
        #expect(message.text.contains("> You won!\n> https: / /evil. example"))
        #expect(message.html.contains("<blockquote"))
        #expect(!message.html.contains("evil.example"))
    }
}
