import Foundation
import MailService
import ParseProtocol
import Testing

/// The order confirmation, from the bag service's message to the file in the spool.
@Suite struct MailConfirmationTests {
    static let receipt: JSON = [
        "orderNo": 1_000_001, "orderDate": ["__type": "Date", "iso": "2026-01-02T03:04:05.678Z"],
        "totalMinorUnits": 1900,
        "currency": "usd", "note": "Ring <twice> & wait",
        "items": [
            ["name": "Soap & more", "quantity": 2, "unitPriceMinorUnits": 350, "lineTotalMinorUnits": 700],
            ["name": "Comb", "quantity": 1, "unitPriceMinorUnits": 1200, "lineTotalMinorUnits": 1200],
        ],
        "shippingAddress": [
            "firstName": "Ann", "lastName": "Example", "phone": "555", "address1": "1 Road", "city": "Oakland",
            "state": "CA",
            "zipcode": "94601",
        ],
    ]

    static func mail(
        template: String = "order-confirmation", to: String = "ann@shop.example", model: JSON = receipt
    ) -> QueuedMail {
        QueuedMail(
            id: 1, template: template, toAddress: to, toName: "Ann Example", model: model.serialized, messageId: "m1",
            queuedAt: Timestamp(milliseconds: 1_700_000_000_000), attempts: 0)
    }

    static func composer(_ zone: ShopZone = .utc) throws -> MailComposer {
        MailComposer(
            sender: try #require(MailAddress("shop@shop.example", name: "Shop")), shopName: "Beauty & Me",
            templates: try MailTemplates(), zone: zone)
    }

    /// The order was placed at 03:04 in UTC.
    @Test(arguments: [
        ("UTC", "2 January 2026"), ("Asia/Kathmandu", "2 January 2026"), ("America/New_York", "1 January 2026"),
    ])
    func itsDateIsOfTheShopsTimeZone(name: String, date: String) throws {
        let message = try Self.composer(try #require(ShopZone(name))).compose(Self.mail())
        #expect(message.text.contains("placed on \(date)"))
        #expect(message.html.contains("placed on \(date)"))
    }

    @Test func bothPartsHaveNumberItemsTotalAddressAndNote() throws {
        let message = try Self.composer().compose(Self.mail())
        #expect(HeaderText.singleLine(message.subject) == "Your order 1000001 at Beauty & Me")
        for part in [
            "1000001", "2 January 2026", "$3.50", "$7.00", "$12.00", "$19.00", "Comb", "1 Road", "Oakland, CA 94601",
            "Ann Example",
        ] {
            #expect(message.text.contains(part), "text: \(part)")
            #expect(message.html.contains(part), "HTML: \(part)")
        }
        #expect(message.text.contains("2 x Soap & more"))
        #expect(message.text.contains("Ring <twice> & wait"))
        #expect(message.html.contains("Soap &amp; more"))
        #expect(message.html.contains("Ring &lt;twice&gt; &amp; wait"))
        #expect(!message.text.contains("{{"))
        #expect(!message.html.contains("{{"))
        #expect(message.text.hasPrefix("Hello Ann Example,"))
        #expect(message.messageId == "m1@shop.example")
    }

    @Test func aDiscountIsARowBeforeTheTotal() throws {
        var receipt = Self.receipt
        receipt["subtotalMinorUnits"] = 1900
        receipt["discountMinorUnits"] = 380
        receipt["discountCode"] = "BF20"
        receipt["totalMinorUnits"] = 1520
        let message = try Self.composer().compose(Self.mail(model: receipt))
        #expect(message.text.contains("Subtotal: $19.00\nDiscount BF20: -$3.80\nTotal: $15.20"), "\(message.text)")
        for part in ["$19.00", "Discount BF20", "-$3.80", "$15.20"] { #expect(message.html.contains(part), "\(part)") }
    }

    /// Lists of files are no place for an address.
    @Test func theNameOfAFileTellsWhenAndWhat() {
        #expect(Self.mail().name == "2023-11-14T221320-order-confirmation-1")
    }

    @Test func whatIsNotThereIsNotMentioned() throws {
        var receipt = Self.receipt
        receipt["note"] = nil
        #expect(!(try Self.composer().compose(Self.mail()).text.contains("Discount")))
        let message = try Self.composer().compose(Self.mail(model: receipt))
        #expect(!message.text.contains("Your note"))
        #expect(!message.html.contains("Your note"))
        #expect(!message.text.contains("ift message"))
    }

    @Test func mailsThatCanNeverBeSentSayWhy() throws {
        let composer = try Self.composer()
        #expect(throws: MailComposer.Problem.unknownTemplate) { try composer.compose(Self.mail(template: "../secret")) }
        #expect(throws: MailComposer.Problem.address) {
            try composer.compose(Self.mail(to: "ann@x.example\r\nBcc: b@x.example"))
        }
        #expect(throws: MailComposer.Problem.model) { try composer.compose(Self.mail(model: ["orderNo": "x"])) }
    }

    @Test func theSpoolHasEachMailOnceAndWhole() async throws {
        let directory = NSTemporaryDirectory() + "spool-" + Names.random(10)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let spool = try SpoolTransport(directory: directory)
        let message = try Self.composer().compose(Self.mail())
        for _ in 0..<3 { try await spool.send(message, name: "m1") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["m1.eml"])
        let written = try #require(FileManager.default.contents(atPath: directory + "/m1.eml"))
        #expect(Array(written) == message.bytes(eightBit: true))
        for (path, mode) in [(directory, 0o700), (directory + "/m1.eml", 0o600)] {
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == mode)
        }
        #expect(throws: CocoaError.self) { try SpoolTransport(directory: "/dev/null/spool") }
    }

    @Test func aSpoolThatWasRemovedIsMadeAgain() async throws {
        let directory = NSTemporaryDirectory() + "spool-" + Names.random(10)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let spool = try SpoolTransport(directory: directory)
        try FileManager.default.removeItem(atPath: directory)
        try await spool.send(Self.composer().compose(Self.mail()), name: "m1")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["m1.eml"])
    }

    @Test func mailsThatComeTogetherAreEachWhole() async throws {
        let directory = NSTemporaryDirectory() + "spool-" + Names.random(10)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let spool = try SpoolTransport(directory: directory)
        let message = try Self.composer().compose(Self.mail())
        // A folder occupies the name of one of them.
        try FileManager.default.createDirectory(atPath: directory + "/m7.eml", withIntermediateDirectories: true)
        let refused = await withTaskGroup(of: Int?.self) { group in
            for number in 0..<40 {
                group.addTask {
                    do { try await spool.send(message, name: "m\(number)") } catch { return number }
                    return nil
                }
            }
            return await group.reduce(into: []) { $0 += [$1].compactMap(\.self) }
        }
        #expect(refused == [7])
        for number in 0..<40 where number != 7 {
            let written = FileManager.default.contents(atPath: directory + "/m\(number).eml").map(Array.init)
            #expect(written == message.bytes(eightBit: true))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 40)
    }
}
