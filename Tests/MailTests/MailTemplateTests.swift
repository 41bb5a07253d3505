import Foundation
import MailService
import ParseProtocol
import ProcessKit
import Testing

/// Every template from its model to a mail: content, escaping, links, and permitted changes by an operator.
@Suite struct MailTemplateTests {
    static let link: JSON = ["name": "Ann", "link": "https://shop.example/reset?token=a&b=c", "hours": 24]

    static func order(_ members: [String: JSON] = [:]) -> JSON {
        .object((MailConfirmationTests.receipt.objectValue ?? [:]).merging(members) { $1 })
    }

    static func compose(
        _ template: String, _ model: JSON, toName: String = "Ann Example", replacements: String? = nil
    ) throws -> MailMessage {
        let composer = MailComposer(
            sender: try #require(MailAddress("shop@shop.example", name: "Shop")), shopName: "Beauty & Me",
            templates: try MailTemplates(replacements: replacements))
        return try composer.compose(
            QueuedMail(
                id: 1, template: template, toAddress: "ann@shop.example", toName: toName, model: model.serialized,
                messageId: "m1", queuedAt: Timestamp(milliseconds: 1_700_000_000_000), attempts: 0))
    }

    @Test(arguments: ["email-verification", "password-reset", "operator-invitation"])
    func aLinkIsInBothParts(template: String) throws {
        let message = try Self.compose(template, Self.link)
        #expect(message.text.contains("\nhttps://shop.example/reset?token=a&b=c\n"))
        #expect(message.html.contains("href=\"https://shop.example/reset?token=a&amp;b=c\""))
        for part in [message.text, message.html] {
            #expect(part.contains("24 hours"))
            #expect(part.contains("Hello Ann Example,"))
            #expect(!part.contains("{{"))
        }
        #expect(HeaderText.singleLine(message.subject).contains(" Beauty & Me"))
    }

    @Test(arguments: [
        "javascript:alert(1)", "ftp://shop.example/x", "//shop.example/x", "", "https://", "https:///x",
        "https://shop.example/\" onclick=\"x", "https://shop.example/\r\nBcc: x", "https://user:pw@shop.example/",
        "https://shöp.example/",
    ])
    func aLinkThatIsNoWebAddressIsRefused(link: String) throws {
        var model = Self.link
        model["link"] = .string(link)
        for template in ["email-verification", "password-reset", "operator-invitation"] {
            #expect(throws: MailComposer.Problem.model) { try Self.compose(template, model) }
        }
        // An order mail is sent without an unsafe link.
        let message = try Self.compose("order-shipped", Self.order(["trackingUrl": .string(link)]))
        #expect(!message.html.contains("href"))
        #expect(!message.text.contains("See where"))
    }

    @Test(arguments: [JSON.null, 0, -1, 1.5, "24", 1_000_000]) func hoursAreAWholeNumber(hours: JSON) throws {
        var model = Self.link
        model["hours"] = hours
        #expect(throws: MailComposer.Problem.model) { try Self.compose("password-reset", model) }
    }

    @Test func aCorrectedTrackingNumberHasASubjectOfItsOwn() throws {
        let message = try Self.compose(
            "order-shipped", Self.order(["trackingNumber": "M-2", "isTrackingCorrected": true]))
        #expect(message.subject.contains("New tracking number"))
        for part in [message.text, message.html] {
            #expect(part.contains("M-2"))
            #expect(part.contains("were wrong"))
            #expect(!part.contains("was shipped"))
        }
    }

    @Test func ordersTellWhatHappened() throws {
        let shipped = try Self.compose(
            "order-shipped",
            Self.order([
                "carrier": "Mule & Sons", "trackingNumber": "M-1", "trackingUrl": "https://mule.example/?n=1&x=2",
            ]))
        let delivered = try Self.compose("order-delivered", Self.order())
        let cancelled = try Self.compose(
            "order-cancelled", Self.order(["reason": "<b>sold out</b>", "refundedMinorUnits": 1900]))
        let refunded = try Self.compose("order-refunded", Self.order(["refundedMinorUnits": 350]))
        for (message, words) in [
            (shipped, ["Mule", "M-1", "mule.example", "1 Road"]), (delivered, ["was delivered"]),
            (cancelled, ["sold out", "We refund", "$19.00"]), (refunded, ["$3.50", "refund"]),
        ] {
            #expect(message.subject.contains("1000001"))
            for part in [message.text, message.html] {
                for word in words + ["1000001", "Comb", "$19.00", "Hello Ann Example,"] {
                    #expect(part.contains(word), "\(message.subject): \(word)")
                }
                #expect(!part.contains("{{"))
            }
        }
        #expect(shipped.html.contains("Mule &amp; Sons"))
        #expect(shipped.html.contains("href=\"https://mule.example/?n=1&amp;x=2\""))
        #expect(cancelled.html.contains("&lt;b&gt;sold out&lt;/b&gt;"))
        #expect(cancelled.text.contains("<b>sold out</b>"))
        let plain = try Self.compose("order-cancelled", Self.order())
        #expect(!plain.text.contains("Reason"))
        #expect(!plain.text.contains("refund"))
    }

    /// Every client-chosen text in every template, as HTML.
    @Test(arguments: MailTemplates.kinds.keys.sorted()) func everyValueIsEscapedInHTML(template: String) throws {
        let attack = "<script>x('\"')&"
        var model = Self.order([
            "carrier": .string(attack), "trackingNumber": .string(attack), "reason": .string(attack),
            "note": .string(attack), "giftMessage": .string(attack), "currency": .string(attack),
            "refundedMinorUnits": 1, "orderDate": ["iso": .string(attack)],
            "shippingAddress": ["firstName": .string(attack), "city": .string(attack)],
            "items": [
                ["name": .string(attack), "quantity": 1, "unitPriceMinorUnits": 1, "lineTotalMinorUnits": 1]
            ],
        ])
        for (name, value) in Self.link.objectValue ?? [:] { model[name] = value }
        let html = try Self.compose(template, model, toName: attack).html
        #expect(!html.lowercased().contains("<script>x"))
        #expect(html.contains("&lt;script&gt;x(&#39;&quot;&#39;)&amp;"))
        #expect(html.contains("<html lang=\"en\">"))
        #expect(html.contains("Beauty &amp; Me"))
    }

    @Test(arguments: ["Win at https://evil.example", "www.evil.example", "mail me@evil.example"])
    func aNameThatLooksLikeALinkIsNotRepeated(name: String) throws {
        let message = try Self.compose("email-verification", Self.link, toName: name)
        #expect(!String(decoding: message.bytes, as: UTF8.self).contains("evil"))
        #expect(message.text.hasPrefix("Hello,\n"))
    }

    @Test(arguments: MailTemplates.kinds.keys.sorted()) func aMailWithoutANameGreets(template: String) throws {
        var model = template.hasPrefix("order") ? Self.order() : Self.link
        model["name"] = nil
        let message = try Self.compose(template, model, toName: "")
        #expect(message.text.hasPrefix("Hello,\n\n"))
        #expect(message.html.contains("<p>Hello,</p>"))
    }

    // MARK: - German

    @Test(arguments: MailTemplates.kinds.keys.sorted()) func everyTemplateIsThereInGerman(template: String) throws {
        let composer = MailComposer(
            sender: try #require(MailAddress("shop@shop.example", name: "Shop")), shopName: "Beauty & Me",
            templates: try MailTemplates(.de))
        let model =
            template.hasPrefix("order")
            ? Self.order(["refundedMinorUnits": 350, "reason": "ausverkauft", "discountMinorUnits": 5]) : Self.link
        let message = try composer.compose(
            QueuedMail(
                id: 1, template: template, toAddress: "ann@shop.example", toName: "Ann", model: model.serialized,
                messageId: "m1", queuedAt: Timestamp(milliseconds: 1_700_000_000_000), attempts: 0))
        let english = try Self.compose(template, model)
        #expect(message.subject != english.subject)
        #expect(message.html.contains("<html lang=\"de\">"))
        for part in [message.text, message.html] {
            #expect(part.contains("Guten Tag Ann!"))
            #expect(!part.contains("{{"))
            for word in ["your", "Your", " order", "Total", "Reason"] {
                let visible = part.replacing(#/<[^>]*>/#, with: "")
                #expect(!visible.contains(word), "\(word): \(visible)")
            }
            let words = template.hasPrefix("order") ? ["2. Januar 2026", "19,00\u{A0}$", "Rabatt"] : ["24 Stunden"]
            for word in words { #expect(part.contains(word), "\(word)") }
        }
    }

    // MARK: - What operators see

    @Test(arguments: ["email-verification", "password-reset"])
    func aLinkThatOpensAnAccountIsCutOffForOperators(template: String) throws {
        let composer = MailComposer(
            sender: try #require(MailAddress("shop@shop.example", name: "Shop")), shopName: "Shop",
            templates: try MailTemplates())
        let message = try composer.shown(
            QueuedMail(
                id: 1, template: template, toAddress: "ann@shop.example", toName: "", model: Self.link.serialized,
                messageId: "m1", queuedAt: Timestamp(milliseconds: 1_700_000_000_000), attempts: 0))
        for part in [message.text, message.html] {
            #expect(part.contains("https://shop.example/..."))
            #expect(!part.contains("token"))
        }
    }

    // MARK: - Operators' templates

    private static func withFolder(_ files: [String: String], _ body: (String) throws -> Void) throws {
        let folder = NSTemporaryDirectory() + "templates-" + Names.random(10)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, text) in files { try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8) }
        try body(folder)
    }

    @Test func aFileOfTheSameNameReplacesATemplate() throws {
        try Self.withFolder([
            "password-reset.subject.mustache": "Neues Passwort für {{shopName}}",
            "password-reset.text.mustache": "Hallo {{name}}: {{link}}", "README": "Not a template.",
        ]) { folder in
            let message = try Self.compose("password-reset", Self.link, replacements: folder)
            #expect(HeaderText.singleLine(message.subject) == "Neues Passwort für Beauty & Me")
            #expect(message.text == "Hallo Ann Example: https://shop.example/reset?token=a&b=c")
            #expect(message.html.contains("Choose a new password"))
        }
    }

    static let broken = [
        ("password-reset.text.mustache", "{{#name}}", "is not valid Mustache"),
        ("password-reset.text.mustache", "Hello {{name}}", "does not contain {{link}}"),
        ("order-shipped.html.mustache", "<p>Hello</p>", "does not contain {{orderNo}}"),
        ("order-shipped.subject.mustache", " \n", "has no text"),
        ("order-shiped.text.mustache", "Order {{orderNo}}", "replaces no mail template"),
        ("order-shipped.text.mustache", "{{orderNo}} {{> order-shipped.text}}", "includes order-shipped.text"),
        ("layout.html.mustache", "{{link}}{{orderNo}}{{> layout.html}}", "includes layout.html"),
    ]

    @Test(arguments: broken) func aBrokenReplacementStopsTheStart(name: String, text: String, problem: String) throws {
        try Self.withFolder([name: text]) { folder in
            let error = try #require(throws: StartupProblem.self) { try MailTemplates(replacements: folder) }
            #expect(error.description.contains(problem), "\(error)")
        }
        #expect(throws: StartupProblem.self) { try MailTemplates(replacements: "/nowhere/at/all") }
    }
}
